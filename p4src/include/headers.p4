#ifndef CANOPY_INCLUDE_HEADERS_P4
#define CANOPY_INCLUDE_HEADERS_P4

#include "constants.p4"

header ethernet_t {
    mac_address_t destination;
    mac_address_t source;
    bit<16>       ethertype;
}

// RFC 826, for IPv4 over Ethernet.
header arp_t {
    bit<16>        hardware_type;
    bit<16>        protocol_type;
    bit<8>         hardware_length;
    bit<8>         protocol_length;
    bit<16>        operation;
    mac_address_t  sender_mac;
    ipv4_address_t sender_ip;
    mac_address_t  target_mac;
    ipv4_address_t target_ip;
}

// RFC 791
header ipv4_t {
    bit<4>         version;
    bit<4>         ihl;
    bit<8>         tos;
    bit<16>        total_length;
    bit<16>        identification;
    bit<3>         flags;
    bit<13>        fragment_offset;
    bit<8>         ttl;
    bit<8>         protocol;
    bit<16>        checksum;
    ipv4_address_t source;
    ipv4_address_t destination;
}

header ipv4_options_t {
    varbit<320> options;
}

// The one option of a report of our own (RFC 2113); what arrives is in ipv4_options.
header router_alert_t {
    bit<32> option;
}

// The eight bytes that all IGMP messages have: RFC 2236 2, RFC 3376 4.2.
header igmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<32> body;       // versions 1 and 2: the group; version 3 report: 16 reserved bits, number of records
}

header igmp_record_t {
    bit<8>         type;
    bit<8>         auxiliary_length;    // 32-bit words after the sources
    bit<16>        number_of_sources;
    ipv4_address_t group;
}

header igmp_source_t {
    ipv4_address_t address;
}

// RFC 768
header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}

// What every Canopy datagram starts with (hosts/wire/header.py).
header canopy_t {
    bit<8>  version;
    bit<8>  protocol;
    bit<8>  type;
    bit<8>  flags;
    bit<32> session;
}

// MTCP's ACK and NACK (hosts/protocols/mtcp/packets.py).
header mtcp_feedback_t {
    bit<32>  cumulative;        // the first packet that is missing
    bit<32>  held_us;
    bit<64>  echo_time_us;      // send time of the last data packet, sender's clock
    bit<64>  repair_echo_us;    // send time of the last repair, parent's clock
    bit<32>  min_cwnd;
    bit<32>  max_twnd;
    bit<32>  window;
    bit<32>  queue_us;          // by how much the child that waits longest waits longer than `number` does
    bit<32>  bound_us;          // from the delay of `number` to the largest time-out
    bit<16>  number;            // the child that this comes from
    bit<16>  repeats;           // NACKs left out since the last summary; of a NACK, what need not be asked for again
    children_t children;        // whom it stands for
    children_t holders;         // those of them that lack `cumulative`
    sack_t   sack;
}

// RLA's ACK (hosts/protocols/rla/packets.py).
header rla_ack_t {
    bit<32>  cumulative;        // the first packet that is missing
    bit<32>  window;
    bit<64>  echo_time_us;
    bit<16>  number;            // the receiver that this comes from
    bit<16>  reserved;
    children_t children;        // whom it stands for
    sack_t   sack;
}

// Behind feedback in a session whose packets are sealed (hosts/wire/sealed.py): who sealed it, and its end-to-end tag.
header seal_t {
    bit<8>   epoch;
    bit<64>  sender;
    bit<32>  counter;
    bit<32>  sealed_at;
    bit<64>  tag;
}

// And behind that, from one hop to the next.
header hop_t {
    hop_counter_t counter;      // 0: nobody vouches for it
    bit<64> tag;
}

// TFMCC's DATA up to what a switch reads, and its REPORT (hosts/protocols/tfmcc/packets.py). Rates and times are floats
// whose codes order as they do.
header tfmcc_data_t {
    bit<32> seq;
    bit<16> round;
    bit<16> rate;
    bit<16> suppression;        // the least rates that the sender has heard in this round: of reports with an RTT
    bit<16> suppression_no_rtt; // and without
    bit<8>  max_rtt;
    bit<8>  patience;           // how long a rate counts that the sender has not confirmed
    bit<16> length;
    bit<32> clr;
    bit<32> echo_receiver;
    bit<64> echo_time_us;
    bit<32> echo_held_us;
    bit<16> least_share;        // 1 - theta, in 1/65536
    bit<16> path_rtt;           // from the last switch that knows it to the sender and back, in 64 us; 0: none does
}

header tfmcc_report_t {
    bit<32> receiver;
    bit<16> round;
    bit<16> rate;
    bit<8>  rtt;
    bit<8>  far_rtt;            // the largest of those that it stands for
    bit<16> loss_rate;
    bit<16> receive_rate;
    bit<16> stands_for;         // reports that ended on the way since one passed
    bit<64> echo_time_us;
    bit<32> held_us;
    bit<64> time_us;
}

// VLMCC's DATA up to what a switch reads, and its CHALLENGE (hosts/protocols/vlmcc/packets.py).
header vlmcc_data_t {
    bit<32> seq;
    bit<32> leader;             // 0: there is none
}

header vlmcc_challenge_t {
    bit<32> receiver;
    bit<32> rate;               // the lower, the worse
    bit<32> cwnd;
    bit<32> rtt_us;
    bit<32> base_rtt_us;
    bit<32> seq;
    bit<64> time_comp_us;
}

// Arbor's TOLD_DATA up to what a switch reads and writes, its REPORT, its BLOCKS with one need, and its JOIN, which becomes
// a WELCOME in the same place (hosts/protocols/arbor/packets.py).
header arbor_told_data_t {
    bit<32> seq;
    bit<32> limiting;
    bit<32> rate;
    bit<32> rtt_us;
    bit<32> waited_us;          // in the queues of the switches so far
    bit<32> longest_us;         // in one of them
    bit<32> gap_us;             // how long the link after that one took for the packet before; 0: it was idle
    bit<16> gap_bytes;          // that packet's length
    bit<8>  at;                 // which switch that was, from 1
    bit<8>  hops;               // switches so far
}

header arbor_report_t {
    bit<32> receiver;
    bit<32> cwnd;
    bit<32> rtt_us;
    bit<32> rate;               // the lower, the worse
    bit<32> seq;
    bit<64> time_comp_us;
}

header arbor_blocks_t {
    bit<32> receiver;
    bit<32> seq;
    bit<32> delivered;
    bit<8>  reserved8;
    bit<8>  count;
    bit<16> reserved;
    bit<32> block;
    bit<16> packets;            // the more, the worse
    bit<16> need_reserved;
}

header arbor_join_t {
    bit<32> receiver;
    bit<32> stands_for;         // a WELCOME's reason, 0
    bit<64> time_us;            // the receiver's clock; in a WELCOME it comes back as time_comp_us
    bit<64> time_comp_us;       // in a WELCOME the sender's clock, time_us
}

@controller_header("packet_out")
header packet_out_t {
    port_t        port;
    bit<7>        mode;     // packet_out_mode_t
    port_bitmap_t ports;
}

@controller_header("packet_in")
header packet_in_t {
    port_t ingress_port;
    bit<7> reason;          // packet_in_reason_t
}

struct headers_t {
    packet_in_t    packet_in;
    packet_out_t   packet_out;
    ethernet_t     ethernet;
    arp_t          arp;
    ipv4_t         ipv4;
    ipv4_options_t ipv4_options;
    router_alert_t router_alert;
    igmp_t         igmp;
    igmp_record_t  record;
    igmp_source_t  source;
    udp_t          udp;
    canopy_t       canopy;
    mtcp_feedback_t feedback;
    rla_ack_t       rla_ack;
    tfmcc_data_t    tfmcc_data;
    tfmcc_report_t  tfmcc_report;
    vlmcc_data_t    vlmcc_data;
    vlmcc_challenge_t vlmcc_challenge;
    arbor_told_data_t arbor_told_data;
    arbor_report_t  arbor_report;
    arbor_blocks_t  arbor_blocks;
    arbor_join_t    arbor_join;
    seal_t          seal;
    hop_t           hop;
}

#endif
