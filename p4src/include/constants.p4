#ifndef CANOPY_INCLUDE_CONSTANTS_P4
#define CANOPY_INCLUDE_CONSTANTS_P4

// Sizes, numbers and names, each said once. build.py writes the numbers and the enumerations of this file to
// canopy.constants.json, from which the controller and the tests read them.

// ------------------------------------------------------------------ Sizes
// A port is bit (port - 1) of a bitmap: ports are numbered 1..256.
#define MAX_PORTS 256
#define MAX_PORTS_LOG 8
// The first so many of them have cells for feedback; what comes from others passes as it is.
#define MERGED_PORTS 16
#define MERGED_PORTS_LOG 4
// Slots: one per (source, group) or (any source, group); its number indexes every register and counter of a group.
#define MAX_SLOTS 4096
// Endpoints of one port whose counters are noted one by one (hops/hops.p4): the row is a sum of addresses and session.
#define HOP_ROWS 16
#define HOP_ROWS_LOG 4
// Places for recently reported unknown groups, per port; see multicast/igmp_unknown.p4.
#define UNKNOWN_PER_PORT 1024

// Sessions of each protocol whose feedback is noted: the row is the session's low bits, so that sessions numbered in order
// share none.
#define FEEDBACK_SESSIONS 1024
// MTCP: one per session and parent agent whose feedback passes; of 256 two in use fall together with 1 in 256, and one of
// them then passes unmerged. A slot's cells take 7 KB on 16 ports, its children's minima 2 KB.
#define MTCP_SLOTS 256
// RLA: one per session, by its low bits. A slot's cells take 1.5 KB on 16 ports.
#define RLA_SLOTS 256
// Children of one parent (receivers of one sender) whose feedback merges: the width of the bitmaps in it.
#define FEEDBACK_CHILDREN 128
// Reach of the selective acknowledgment, and so the most packets in flight: bit i is packet cumulative + 1 + i.
#define SACK_BITS 512

typedef bit<9>  port_t;
typedef bit<MAX_PORTS> port_bitmap_t;
typedef bit<MERGED_PORTS> merged_ports_t;
typedef bit<12> slot_t;
typedef bit<48> mac_address_t;
typedef bit<32> ipv4_address_t;
typedef bit<48> time_us_t;
typedef bit<56> hop_counter_t;
typedef bit<FEEDBACK_CHILDREN> children_t;
typedef bit<SACK_BITS> sack_t;

// Bits of bitmaps, by the place of a port and by the number of a child. (A constant cannot be cast to a typedef.)
#define ALL_PORTS (~256w0)
#define PORT_BIT(place)   (256w1 << place)
#define NO_MERGED 16w0
#define MERGED_BIT(place) (16w1 << place)
#define CHILD_BIT(number) (128w1 << number)

// Port p's cell of a slot: of the counter of slots and ports, and of registers of feedback. `place` is p - 1.
#define COUNTER_CELL(slot, place) (((slot) << MAX_PORTS_LOG) | (place))
#define CELL(slot, place) (((slot) << MERGED_PORTS_LOG) | (place))

// ------------------------------------------------------------------ Numbers shared with the controller
const port_t  CPU_PORT    = 510;    // packet-in and packet-out; the switch is started with this CPU port
const bit<16> FLOOD_GROUP = 4096;   // multicast group of all ports; smaller ids are bitmaps of up to 12 ports

// Passes of one report through ingress, each for one record, one source or one more port upstream. An Ethernet frame holds
// at most 184 records without sources or 122 with one source each, and a record may have to go to all other ports; what
// is beyond is counted as ignored.
const bit<16> MAX_REPORT_PASSES = 448;

// A report of an unknown group is repeated to the controller after 2^19 us (0.5 s) at the earliest: Linux and
// RFC 3376 (8.11) repeat an unsolicited report within 1 s, so one that was lost gets its second chance.
const bit<8> UNKNOWN_WINDOW_SHIFT = 19;

// ------------------------------------------------------------------ Canopy's packets
const bit<8> CANOPY_VERSION = 1;
// Of a sealed packet whose head is open, for switches to read: one bit more, so that it is taken apart as any.
const bit<8> HEADED_VERSION = 5;
const bit<8> EITHER_VERSION = 0xfb;     // a mask: the bits in which they agree
const bit<16> SEAL_BYTES = 25;
const bit<16> HOP_BYTES = 15;

// The flags of the common header, by the number of their bit.
#define FLAG(BIT) (8w1 << BIT)
#define FLAG_OF(hdr, BIT) hdr.canopy.flags[BIT:BIT]

// MTCP's ACK and NACK, and REPAIR; and the size of the former two with UDP's header.
#define MTCP_BIT_MERGED   0     // ACK: a switch made it
#define MTCP_BIT_MERGE    1     // it may be merged; REPAIR: it may be copied to others who asked for it
#define MTCP_BIT_REPAIRED 2     // ACK with MERGED: the child that it comes from answers a repair
#define MTCP_BIT_RELEARN  5     // the base delay is learnt again
const bit<16> MTCP_FEEDBACK_UDP_BYTES = 160;

// RLA's
#define RLA_BIT_ASSIST 2        // DATA: acknowledgments may be merged
#define RLA_BIT_MERGED 0        // ACK: a switch made it
#define RLA_BIT_MERGE  1        // ACK: it may be merged
#define RLA_BIT_PASS   3        // ACK: it passes as it is, whatever a switch takes from it
const bit<16> RLA_ACK_UDP_BYTES = 116;

// TFMCC's
#define TFMCC_BIT_ECHO             2    // DATA: a report's time comes back
#define TFMCC_BIT_SUPPRESSION_LOSS 3    // DATA: the suppression rates are those of losses
#define TFMCC_BIT_HAVE_RTT         0    // REPORT
#define TFMCC_BIT_HAVE_LOSS        1    // REPORT
#define TFMCC_BIT_LEAVE            2    // REPORT
#define TFMCC_BIT_ANSWER           6    // REPORT: a switch sends it back to its receiver
const bit<16> TFMCC_DATA_UDP_BYTES = 72;        // at least
const bit<16> TFMCC_REPORT_UDP_BYTES = 52;
const bit<16> TFMCC_NO_RATE = 0x0fff;           // the largest 12-bit float

// VLMCC's
#define VLMCC_BIT_SETTLING 2            // DATA: the leader is new
const bit<16> VLMCC_DATA_UDP_BYTES = 52;        // at least
const bit<16> VLMCC_CHALLENGE_UDP_BYTES = 48;

// Arbor's
const bit<16> ARBOR_TOLD_DATA_UDP_BYTES = 68;    // at least
const bit<16> ARBOR_REPORT_UDP_BYTES = 44;
const bit<16> ARBOR_BLOCKS_UDP_BYTES = 40;      // with one need
const bit<16> ARBOR_JOIN_UDP_BYTES = 40;        // WELCOME has as many

// Those that TFMCC, VLMCC and Arbor share.
#define BIT_ASSIST       4      // DATA: switches may suppress feedback
#define BIT_SUPPRESSED   5      // DATA: a switch on the way does
#define BIT_MAY_SUPPRESS 5      // REPORT, CHALLENGE, BLOCKS: a switch may suppress it; JOIN: it may answer

// ------------------------------------------------------------------ Times and limits of feedback
// A summary is held back no longer than an acknowledgment may be (`ack_delay_s`; MTCP 3.1: "a few tens of milliseconds").
const bit<48> FEEDBACK_PERIOD_US = 20000;
// A slot or session that nobody used for so long is free. MTCP's window updates come 0.5, 1.5 and 2.5 s apart (3.9).
const bit<48> FEEDBACK_IDLE_US    = 4194304;
const bit<32> FEEDBACK_IDLE_MS    = 4096;       // the same in 1.024 ms
// Nobody lags by more packets than this: a bitmap reaches SACK_BITS, an agent's buffer some thousands.
const bit<32> FEEDBACK_MAX_BEHIND = 65536;

// Without progress for so long, MTCP's parent is told anew who holds it up: before a time-out, which takes 0.2 s at least.
const bit<48> MTCP_HOLDERS_US = 100000;
// A child that is silent for so long while others answer is left out; a pause of all counts as this much. The second
// retransmission of what it does not acknowledge (0.2 s after the first, at least) finds it left out.
const bit<32> MTCP_SILENCE_US = 500000;
const bit<48> MTCP_GAP_US     = 300000;
// A round trip between parent and child until a probe has told of it: half the least time-out, so that what was lost is
// asked for before that.
const bit<48> MTCP_FIRST_RTT_US = 100000;
// A port whose children change twice within this time, ten delayed acknowledgments, has several behind it that nobody
// merges. (Changes that are further apart cost one unmerged packet each.)
const bit<48> MTCP_CHANGE_US  = 200000;
// A base delay is of this time and the one before: half the hosts' window (hosts/parts/base_delay.py).
const bit<48> MTCP_BASE_US = 5000000;
// The least distance of a time-out above the mean delay: Linux' TCP_RTO_MIN, `rto_margin_s` of the hosts.
const bit<32> MTCP_LEAST_MARGIN_US = 200000;

// A receiver of RLA's that is silent for so long is left out. It answers every packet; a pause of all costs a few packets.
const bit<32> RLA_SILENCE_US = 500000;

// TFMCC's data come at least every `longest_gap_s` of the hosts, 8 s; who is silent for three times that has gone.
const bit<32> TFMCC_IDLE_MS = 24576;            // in 1.024 ms
// A round trip time counts for so long. The CLR's reports renew it once a round trip on its way, requests elsewhere.
const bit<48> TFMCC_PATH_AGE_US = 8388608;
const bit<8>  TFMCC_PATH_SHIFT  = 6;            // data tell it in 64 us
// Reports of a round that pass whose ports are not in doubt, the CLR's apart: half as many as there are ports, for whom the
// sender does not know it asks, and hears again.
const bit<8>  TFMCC_REPORTS = 8;
// Of round trip times that wait for their confirmation each is an eighth to a quarter longer than the one before.
const bit<16> TFMCC_FARTHER = 4;
// A port by which a report came that was not confirmed is in doubt for 2^5 times what a confirmation may take.
const bit<8>  TFMCC_DOUBT_SHIFT = 5;

const bit<32> VLMCC_LONGEST_RTT_US = 4000000;   // `largest_rtt_s` of the hosts
const bit<32> ARBOR_LONGEST_RTT_US = 4000000;   // likewise
// The sender's clock is asked for so often, and believed for so long: clocks drift by 100 us in a second at most.
const bit<32> ARBOR_CLOCK_FRESH_MS = 1024;      // in 1.024 ms
const bit<32> ARBOR_CLOCK_AGE_MS   = 4096;
const bit<48> ARBOR_ANSWER_US = 65536;          // an answer is awaited for two round trips and so long

// Results of a v1model meter (RFC 2698), as BMv2 numbers them.
const bit<2> METER_GREEN = 0;
const bit<2> METER_RED   = 2;

// ------------------------------------------------------------------ EtherTypes, protocols, addresses
const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP  = 0x0806;
const bit<16> ETHERTYPE_LLDP = 0x88cc;
const bit<8>  IP_PROTOCOL_IGMP = 2;
const bit<8>  IP_PROTOCOL_UDP  = 17;
const bit<16> ARP_HARDWARE_ETHERNET = 1;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY   = 2;

// Bytes of headers without options.
const bit<16> ETHERNET_BYTES   = 14;
const bit<16> IPV4_BYTES       = 20;
const bit<32> IGMP_BYTES       = 8;     // of what all messages have
const bit<32> PACKET_OUT_BYTES = 34;

const ipv4_address_t MULTICAST_NET      = 0xe0000000;      // 224.0.0.0/4
const ipv4_address_t MULTICAST_MASK     = 0xf0000000;
const ipv4_address_t IGMPV3_ROUTERS     = 0xe0000016;      // 224.0.0.22, RFC 3376 4.2.14
const mac_address_t  IGMPV3_ROUTERS_MAC = 0x01005e000016;
const bit<32>        ROUTER_ALERT       = 0x94040000;      // RFC 2113
const bit<25>        MULTICAST_MAC_PREFIX = 0x0200bc;   // 01:00:5e and a zero bit, RFC 1112 6.4

// Parts of addresses and headers.
#define IS_MULTICAST(address)  (address[31:28] == 14)           // 224.0.0.0/4
#define IS_LINK_LOCAL(address) (address[31:8] == 0xe00000)      // 224.0.0.0/24
#define CLASS_OF(address)      address[31:29]
#define NET_OF(address)        address[31:24]
#define MORE_FRAGMENTS_OF(ipv4) ipv4.flags[0:0]
const bit<3> CLASS_D_E     = 7;     // 224.0.0.0/3: multicast and reserved addresses
const bit<8> NET_THIS      = 0;     // 0.0.0.0/8, and so on
const bit<8> NET_LOOPBACK  = 127;
const bit<8> NET_MULTICAST = 224;
const bit<8> NET_RESERVED  = 240;

// ------------------------------------------------------------------ Enumerations
// The protocols of hosts/ that switches help, and the types of their packets that switches know.
enum bit<8> protocol_t {
    mtcp  = 1,
    tfmcc = 2,
    rla   = 4,
    vlmcc = 5,
    arbor = 6
}

enum bit<8> mtcp_type_t {
    data   = 1,
    repair = 2,
    ack    = 3,
    nack   = 4,
    probe  = 5,
    abort  = 12
}

enum bit<8> rla_type_t {
    data  = 1,
    ack   = 2,
    abort = 8
}

enum bit<8> tfmcc_type_t {
    data     = 1,
    report   = 2,
    join_ack = 5
}

enum bit<8> vlmcc_type_t {
    data      = 1,
    challenge = 3
}

enum bit<8> arbor_type_t {
    report    = 2,
    join      = 3,
    welcome   = 4,
    blocks    = 9,
    told_data = 10
}

enum bit<8> igmp_type_t {
    query     = 0x11,
    report_v1 = 0x12,
    report_v2 = 0x16,
    leave_v2  = 0x17,
    report_v3 = 0x22
}

// RFC 3376 4.2.12
enum bit<8> record_type_t {
    is_in = 1,
    is_ex = 2,
    to_in = 3,
    to_ex = 4,
    allow = 5,
    block = 6
}

// What a packet asks of a group.
enum bit<2> request_t {
    none  = 0,
    join  = 1,
    leave = 2,
    data  = 3
}

// Why members_changed is sent.
enum bit<8> change_t {
    none    = 0,
    join    = 1,
    leave   = 2,
    expire  = 3,
    refresh = 4,
    leaving = 5     // somebody at a shared port left; who else is there, is to be asked
}

// Why a packet was dropped: the index into the counter `drops`.
enum bit<8> drop_reason_t {
    none            = 0,
    parse_error     = 1,    // shorter than its headers say
    not_configured  = 2,    // the controller has not set switch_config yet
    ethertype       = 3,    // neither IPv4, ARP nor LLDP
    arp_ignored     = 4,    // no request, a probe, an announcement, or for no unicast address
    ipv4_version    = 5,
    ipv4_header     = 6,    // header length below 20 bytes
    ipv4_length     = 7,    // total length below the header's or beyond the frame
    ipv4_checksum   = 8,
    ttl_expired     = 9,
    martian         = 10,   // a source or destination that no packet may carry
    foreign_mac     = 11,   // not sent to the switch, or not to the group's own MAC address
    no_route        = 12,
    route_drop      = 13,   // ipv4_lpm says drop
    link_local      = 14,   // 224.0.0.0/24 is never forwarded
    unknown_group   = 15,   // data of a group without a slot
    wrong_port      = 16,   // data from another port than its source's side
    no_members      = 17,
    bad_port        = 18,   // a group's packet from a port beyond MAX_PORTS
    igmp_checksum   = 19,   // of an IGMP message, or of the IPv4 header in front of it
    igmp_malformed  = 20,   // fragments, records beyond the message
    igmp_type       = 21,
    igmp_ignored    = 22,   // report cut off after MAX_REPORT_PASSES
    igmp_rate       = 23,   // beyond the port's rate in report_meter
    packet_out      = 24,   // a packet-out with an unknown mode
    udp_checksum    = 25,   // of feedback that a switch may judge, or of the IPv4 header in front of it
    forged_feedback = 26,   // merged feedback from a port where there is no switch
    spoofed_source  = 27,   // a host's packet from an address that is not its own: source_guard
    hop_tag         = 28,   // feedback with a tag that is not its neighbour's: hop_in
    hop_replay      = 29    // and with one that has come before
}

// Packets that switches may help. Feedback only where it asks for that.
enum bit<8> assisted_t {
    none          = 0,
    mtcp_data     = 1,
    rla_data      = 2,
    tfmcc_data    = 3,
    mtcp_probe    = 4,
    mtcp_abort    = 5,
    mtcp_feedback = 6,
    rla_abort     = 7,
    rla_ack       = 8,
    tfmcc_report  = 9,
    vlmcc_data    = 10,
    vlmcc_challenge = 11,
    tfmcc_join_ack  = 12,
    mtcp_repair   = 13,
    arbor_told_data = 14,
    arbor_report  = 15,
    arbor_blocks  = 16,
    arbor_join    = 17      // or the WELCOME that answers it
}

// What became of feedback that a switch may judge: the index into the counter `feedback`.
enum bit<8> feedback_t {
    none         = 0,
    summary      = 1,   // left as a summary
    absorbed     = 2,   // its values are in the slot, and in the next summary
    repeated     = 3,   // likewise, a NACK that asks for nothing new
    nack         = 4,   // passed: NACKs do
    repair       = 5,   // passed: it answers a repair
    first        = 6,   // passed: the first of a port, or of other children than before
    alone        = 7,   // passed: nobody else's is there to merge it with
    shared_port  = 8,   // passed: several behind one port that nobody merged
    stale        = 9,   // passed: overtaken by a later one
    out_of_range = 10,  // passed: acknowledges what has not passed here, or no data of the session has
    no_slot      = 11,  // passed: its slot is another's
    malformed    = 12,  // passed: the children it names are not its own
    part         = 13,  // passed: of one child of a switch below that merges
    // RLA
    hole         = 14,  // passed: tells of a new hole
    sample       = 15,  // passed, and was merged: a receiver's sign of life and round trip time
    // TFMCC, and what VLMCC's and Arbor's receivers ask for (lower, suppressed)
    limiting     = 16,  // passed: of the current limiting receiver
    leave        = 17,  // passed
    lower        = 18,  // passed: below the least of this round, by theta; worse than the challenges that passed
    far          = 19,  // passed: a longer round trip time than any known
    request      = 20,  // passed: asks for a round trip time that nobody here knows (Arbor: the sender's clock)
    suppressed   = 21,
    answered     = 22   // sent back to its receiver with what is known here
}

enum bit<7> packet_out_mode_t {
    egress  = 0,    // send it out of `port`, unchanged
    receive = 1,    // process it as if it had arrived at `port`
    ports   = 2,    // send it out of all ports in `ports`, unchanged
    last    = 3     // as `receive`; a leave in it holds at a shared port, unless somebody reported since it was told
}

enum bit<7> packet_in_reason_t {
    route      = 1,  // ipv4_lpm says punt
    lldp       = 2,
    igmp_query = 3   // somebody else queries
}

#endif
