#ifndef CANOPY_INCLUDE_METADATA_P4
#define CANOPY_INCLUDE_METADATA_P4

#include "headers.p4"

// A resubmitted packet and a clone start with all metadata zero, standard_metadata's ingress port and timestamp
// too; what a later pass needs is in a field list.
#define FIELDS_RESUBMIT 1   // the next pass of a report
#define FIELDS_REPORT   2   // a clone that becomes a report of our own
#define FIELDS_SUMMARY  3   // a clone that becomes a summary of acknowledgments

// Where in an IGMPv3 report this pass is. All zero in the first pass.
struct cursor_t {
    bit<16>       passes;       // made so far
    bit<16>       record;       // records done
    bit<16>       offset;       // bytes from the first record to this one
    bit<1>        group_done;   // the record's own (any-source) part is done, its sources are next
    bit<16>       source;       // sources of this record done
    port_bitmap_t pending;      // upstream ports that this step's report still has to go to
}

// A report of our own to the neighbour upstream: one record.
struct report_t {
    bit<8>         type;        // record_type_t
    ipv4_address_t group;
    ipv4_address_t source;      // 0: any source, a record without sources
}

// What route_sg or route_g know about a group.
struct group_route_t {
    bit<1>        valid;
    slot_t        slot;
    port_bitmap_t upstream;     // ports that joins and leaves are passed on to
    port_bitmap_t accept;       // ports that data may come from
}

// Digest: a change of a slot's members, and each member once per tick while it is refreshed. A packet sends one digest.
struct members_changed {
    bit<8>         change;      // change_t; neither PI nor finsy knows enumerations in digests
    bit<16>        slot;
    ipv4_address_t source;      // 0: any source
    ipv4_address_t group;
    port_bitmap_t  ports;       // that joined, left, expired, were refreshed or are left by somebody
    port_bitmap_t  members;     // all, after the change
    time_us_t      timestamp;
}

// The row of a session, by its low bits. MTCP and RLA note their data in one register (assist/sessions.p4).
#define SESSION_ROW(session) ((session) & (FEEDBACK_SESSIONS - 1))
#define MTCP_ROW(session)    SESSION_ROW(session)
#define RLA_ROW(session)     (SESSION_ROW(session) | FEEDBACK_SESSIONS)

// Words of registers. {cumulative, bitmap}: what a port has; bit i of the bitmap is packet cumulative + 1 + i.
typedef bit<(SACK_BITS + 32)> sack_word_t;
#define SACK_START_OF(word)  word[SACK_BITS + 31:SACK_BITS]
#define SACK_BITMAP_OF(word) word[SACK_BITS - 1:0]
// Bit i: packet cumulative + i is missing.
typedef bit<(SACK_BITS + 1)> missing_t;
#define LAST_MISSING (1w1 ++ 512w0)
#define BEYOND_FIRST_OF(missing) missing[SACK_BITS:1]
// Of MTCP and RLA; assist/mtcp/state.p4 and assist/rla/rla.p4 say what is in them.
typedef bit<112> slot_word_t;
typedef bit<96>  heard_word_t;
// Of MTCP.
typedef bit<64>  mtcp_sent_t;
typedef bit<128> mtcp_windows_t;
typedef bit<128> mtcp_delays_t;
typedef bit<(352 + 2 * FEEDBACK_CHILDREN)> mtcp_port_t;
typedef bit<(112 + 3 * SACK_BITS)> mtcp_wants_t;

// What the parser found of a packet that switches help. `session` and `value` only where it was not taken apart.
struct assisted_packet_t {
    assisted_t kind;
    bit<32>    row;             // of data; of a JOIN_ACK the time of what it answers (low bits)
    bit<32>    session;
    bit<32>    value;           // the sequence number of data and repairs, a probe's round trip time, a JOIN_ACK's receiver
    bit<32>    time_us;         // of a repair, when it was sent: the low bits
    mac_address_t neighbour;    // of feedback, who brought it
    bit<1>     headed;          // of a sealed session
}

// What a summary says of all for whom it stands.
struct summary_t {
    bit<32>    cumulative;
    bit<32>    window;
    children_t children;
    sack_t     sack;
}

// The merging of one feedback packet with what its slot has of the other ports; the aggregate becomes meta.summary.
struct merge_t {
    bit<32>       slot;
    bit<1>        owned;        // the slot is this parent's
    slot_word_t   state;
    bit<16>       generation;
    bit<32>       active;
    merged_ports_t ingress_bit;
    merged_ports_t ports;       // whose cells count
    bit<32>       cell;         // of the ingress port
    mtcp_port_t   port;         // before this packet
    feedback_t    outcome;

    // Of the arriving packet.
    bit<1>        admitted;
    bit<1>        known;        // its port speaks for the same children as before
    bit<1>        stale;
    bit<1>        again;        // says nothing new of what has arrived
    bit<1>        repaired;     // answers a repair
    bit<1>        repeat;       // a NACK that asks for nothing new
    bit<16>       known_below;  // so many packets that a NACK names need not be asked for again
    bit<1>        measured;     // has a relative time delay: rtd
    bit<32>       rtd;
    bit<32>       queue;        // rtd above the least of the child that it comes from
    bit<32>       own_queue;    // largest of all that it stands for
    bit<32>       own_bound;
    sack_t        own_sack;
    mtcp_delays_t own_delays;   // to be stored with the rest
    heard_word_t  own_heard;

    // The aggregate; with `others` the other ports that are in it.
    merged_ports_t others;
    children_t    holders;
    bit<32>       cwnd;
    bit<32>       twnd;
    merged_ports_t waiting;     // other ports, before it is known which are silent
    bit<1>        timed;        // one of the others has a delay
    bit<32>       least_queue;  // of the others
    bit<32>       largest_queue;
    bit<32>       largest_bound;
    missing_t     missing;      // somebody lacks it
    mtcp_sent_t   sent;
    bit<1>        advanced;
    bit<1>        emit;
}

// A tag of feedback, from hop to hop: HalfSipHash's key, state and message (hops/).
struct mac_t {
    bit<64>  key;
    bit<64>  tag;
    bit<32>  v0;
    bit<32>  v1;
    bit<32>  v2;
    bit<32>  v3;
    bit<32>  word;
    bit<256> part;      // that is being taken
    bit<32>  parts;     // how many are whole
    bit<256> part0;
    bit<256> part1;
    bit<256> part2;
    bit<256> part3;
    bit<256> part4;
    bit<96>  last;      // the words behind them
}

// Another port's cells, while it is added to the aggregate.
struct other_port_t {
    merged_ports_t port_bit;
    mtcp_port_t   port;
    heard_word_t  heard;
    mtcp_windows_t windows;
    children_t    holders;
    mtcp_delays_t delays;
    bit<32>       ahead;        // of the aggregate's cumulative
    sack_word_t   sack;
    missing_t     missing;      // it lacks it
    mtcp_wants_t  wants;        // what it asked for
}

struct metadata_t {
    @field_list(FIELDS_RESUBMIT)
    port_t        ingress_port;     // where the packet came in, or is said to have come in by a packet-out
    @field_list(FIELDS_RESUBMIT)
    bit<1>        from_cpu;
    @field_list(FIELDS_RESUBMIT)
    time_us_t     now;
    @field_list(FIELDS_RESUBMIT)
    cursor_t      cursor;
    @field_list(FIELDS_REPORT)
    report_t      report;
    @field_list(FIELDS_REPORT, FIELDS_SUMMARY)
    mac_address_t switch_mac;
    @field_list(FIELDS_SUMMARY)
    summary_t     summary;
    @field_list(FIELDS_SUMMARY)
    mac_address_t summary_to;   // the next hop of a clone that becomes a summary; 0: it becomes none

    // From switch_config.
    bit<1>        configured;
    bit<1>        bitmap_groups;
    bit<32>       tick;             // now, in quarters of an epoch

    drop_reason_t drop_reason;

    // A group's packet: data or one step of a report.
    port_bitmap_t  ingress_bit;
    request_t      request;
    bit<1>         any_source;      // a report's (*, G)
    bit<1>         last;            // the controller asked for others at a shared port: a leave holds
    ipv4_address_t source;
    ipv4_address_t group;
    group_route_t  source_route;    // of (S, G)
    group_route_t  group_route;     // of (*, G)
    port_bitmap_t   members;        // now, after this packet
    members_changed change;

    // Replication, read in egress.
    port_bitmap_t copies;           // ports to send a copy to
    bit<1>        filter;           // drop copies for other ports
    bit<1>        counted;          // count copies in `slot`
    slot_t        slot;

    bit<7>        packet_in_reason;

    // Feedback.
    assisted_packet_t assisted;
    bit<1>        assist;       // the controller wants us to help
    merged_ports_t switch_ports; // ports with a switch behind them
    merge_t       merge;
    mac_t         mac;
    @field_list(FIELDS_SUMMARY)
    bit<1>        vouches;      // the hop before has: it leaves with a tag of ours
    bit<1>        merged;       // rewritten, as a summary or in its `repeats`
    sack_t        repaired;     // the packet that a repair brings, as the bit of its number modulo SACK_BITS
    port_t        repair_port;  // where the child is to which it is addressed; 0: others get no copies
}

#endif
