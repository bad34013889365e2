#ifndef CANOPY_MTCP_SUMMARY_P4
#define CANOPY_MTCP_SUMMARY_P4

#include "mtcp_state.p4"

// One other port of the slot: its minima and maxima join the aggregate, which began with the arriving packet's values.
// Sequence numbers are compared modulo 2^32.
control add_port(in bit<32> cell, in port_bitmap_t port_bit, inout metadata_t meta) {
    apply {
        mtcp_heard_t heard;
        mtcp_heard.read(heard, cell);
        if (meta.merge.active - HEARD_OF(heard) <= MTCP_SILENCE_US) {
            mtcp_windows_t windows;
            bit<128> children;
            bit<128> holders;
            mtcp_windows.read(windows, cell);
            mtcp_children.read(children, cell);
            mtcp_holders.read(holders, cell);
            mtcp_delays.read(meta.merge.delays, cell);
            meta.merge.others = meta.merge.others | port_bit;
            meta.merge.children = meta.merge.children | children;
            meta.merge.behind = CUMULATIVE_OF(windows) - meta.merge.cumulative;
            if (meta.merge.behind == 0) {
                meta.merge.holders = meta.merge.holders | holders;
            } else if ((int<32>)meta.merge.behind < 0) {
                meta.merge.holders = holders;
                meta.merge.cumulative = CUMULATIVE_OF(windows);
            }
            if (CWND_OF(windows) < meta.merge.cwnd) {
                meta.merge.cwnd = CWND_OF(windows);
            }
            if (TWND_OF(windows) > meta.merge.twnd) {
                meta.merge.twnd = TWND_OF(windows);
            }
            if (WINDOW_OF(windows) < meta.merge.window) {
                meta.merge.window = WINDOW_OF(windows);
            }
            if (ECHO_OF(heard) != 0) {
                if (QUEUE_OF(meta.merge.delays) > meta.merge.largest_queue) {
                    meta.merge.largest_queue = QUEUE_OF(meta.merge.delays);
                }
                if (QUEUE_OF(meta.merge.delays) < meta.merge.least_queue) {
                    meta.merge.least_queue = QUEUE_OF(meta.merge.delays);
                }
                if (meta.merge.timed == 0
                        || (int<32>)(BOUND_OF(meta.merge.delays) - meta.merge.largest_bound) > 0) {
                    meta.merge.largest_bound = BOUND_OF(meta.merge.delays);
                }
                meta.merge.timed = 1;
            }
        }
    } // apply
} // add_port

// What a port lacks of the packets from the aggregate's cumulative on. Shifted in are zeros: what is before a port's own
// cumulative it does not lack. A shift can be 8 bits wide at most.
control add_missing(in bit<512> sack, in bit<32> cumulative, inout metadata_t meta) {
    apply {
        bit<513> missing = ~(sack ++ 1w0);
        bit<32> ahead = cumulative - meta.merge.cumulative;
        if (ahead[8:8] == 1) {
            missing = missing << 256;
        }
        if (ahead < 512) {
            meta.merge.missing = meta.merge.missing | (missing << ahead[7:0]);
        } else if (ahead == 512) {
            meta.merge.missing = meta.merge.missing | (1w1 ++ 512w0);
        }
    } // apply
} // add_missing

#define FOR_ALL_PORTS(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

#define ADD_PORT(P) \
    if (meta.merge.waiting[P:P] == 1) { add_port.apply(first | P, 16w1 << P, meta); }
#define ADD_SACK(P) \
    if (meta.merge.others[P:P] == 1) { \
        mtcp_windows.read(windows, first | P); \
        mtcp_sacks.read(sack, first | P); \
        add_missing.apply(sack, CUMULATIVE_OF(windows), meta); \
    }

// The arriving packet with the other ports that are not silent: minima, maxima, and who is behind.
control aggregate_windows(in headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> first = meta.merge.slot << 4;
        meta.merge.waiting = meta.merge.ports & ~meta.ingress_bit;
        meta.merge.others = 0;
        meta.merge.children = 0;    // of the others
        meta.merge.cumulative = hdr.feedback.cumulative;
        meta.merge.holders = hdr.feedback.holders;
        meta.merge.cwnd = hdr.feedback.min_cwnd;
        meta.merge.twnd = hdr.feedback.max_twnd;
        meta.merge.window = hdr.feedback.window;
        meta.merge.timed = 0;
        meta.merge.least_queue = 0xffffffff;
        meta.merge.largest_queue = 0;
        meta.merge.largest_bound = 0;
        FOR_ALL_PORTS(ADD_PORT)
        if (meta.merge.timed == 0) {
            meta.merge.least_queue = 0;
        }
    } // apply
} // aggregate_windows

// Packets that all of them have: what none of them lacks.
control aggregate_sacks(in headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> first = meta.merge.slot << 4;
        mtcp_windows_t windows;
        bit<512> sack;
        meta.merge.missing = 0;
        add_missing.apply(meta.merge.own_sack, hdr.feedback.cumulative, meta);
        FOR_ALL_PORTS(ADD_SACK)
        meta.merge.sack = ~(meta.merge.missing[512:1]);
    } // apply
} // aggregate_sacks

// Whether a summary goes up now: when the aggregate advances, when the minimum of cwnd or the set of children changes,
// when the transit window falls or the advertised window opens (the sender may wait for that), or when a period has ended
// and something is to be told or was asked again. `advanced`: the feedback completes packets.
control decide_summary(inout metadata_t meta) {
    apply {
        bit<128> windows;
        bit<128> children;
        bit<512> sack;
        mtcp_sent_windows.read(windows, meta.merge.slot);
        mtcp_sent_children.read(children, meta.merge.slot);
        mtcp_sent_sacks.read(sack, meta.merge.slot);
        mtcp_sent.read(meta.merge.sent, meta.merge.slot);
        bit<32> ahead = meta.merge.cumulative - CUMULATIVE_OF(windows);

        meta.merge.advanced = 0;
        meta.merge.emit = 0;
        if (SENT_AT_OF(meta.merge.sent) == 0 || (int<32>)ahead > 0
                || (ahead == 0 && (meta.merge.sack & ~sack) != 0)) {
            meta.merge.advanced = 1;
            meta.merge.emit = 1;
        } else if (children != meta.merge.children || CWND_OF(windows) != meta.merge.cwnd
                   || meta.merge.twnd < TWND_OF(windows)
                   || (meta.merge.window > WINDOW_OF(windows) && (meta.merge.window >> 1) >= WINDOW_OF(windows))) {
            meta.merge.emit = 1;
        } else if (meta.now - SENT_AT_OF(meta.merge.sent) >= MTCP_PERIOD_US
                   && (meta.merge.again == 1 || meta.merge.twnd != TWND_OF(windows)
                       || meta.merge.window != WINDOW_OF(windows))) {
            meta.merge.emit = 1;
        }
    } // apply
} // decide_summary

// The arriving packet becomes the summary: from the same child, with its own timing if it completes packets. A summary that
// completes none carries no time: there is no packet whose last acknowledgment it is.
control write_summary(inout headers_t hdr, inout metadata_t meta) {
    apply {
        hdr.canopy.type = MTCP_ACK;
        hdr.canopy.flags = hdr.canopy.flags | MTCP_FLAG_MERGED;
        hdr.feedback.cumulative = meta.merge.cumulative;
        hdr.feedback.min_cwnd = meta.merge.cwnd;
        hdr.feedback.max_twnd = meta.merge.twnd;
        hdr.feedback.window = meta.merge.window;
        hdr.feedback.children = meta.merge.children;
        hdr.feedback.holders = meta.merge.holders;
        hdr.feedback.sack = meta.merge.sack;
        hdr.feedback.repeats = REPEATS_OF(meta.merge.sent);
        hdr.feedback.queue_us = 0;
        hdr.feedback.bound_us = 0;
        if (meta.merge.measured == 1 && meta.merge.advanced == 1) {
            if (meta.merge.own_queue > meta.merge.largest_queue) {
                meta.merge.largest_queue = meta.merge.own_queue;
            }
            if (meta.merge.largest_queue > meta.merge.queue) {
                hdr.feedback.queue_us = meta.merge.largest_queue - meta.merge.queue;
            }
            if (meta.merge.timed == 0 || (int<32>)(meta.merge.own_bound - meta.merge.largest_bound) > 0) {
                meta.merge.largest_bound = meta.merge.own_bound;
            }
            if ((int<32>)(meta.merge.largest_bound - meta.merge.rtd) > 0) {
                hdr.feedback.bound_us = meta.merge.largest_bound - meta.merge.rtd;
            }
        } else {
            hdr.feedback.echo_time_us = 0;
            hdr.feedback.held_us = 0;
        }
        mtcp_sent_windows.write(meta.merge.slot,
                                meta.merge.cumulative ++ meta.merge.cwnd ++ meta.merge.twnd ++ meta.merge.window);
        mtcp_sent_children.write(meta.merge.slot, meta.merge.children);
        mtcp_sent_sacks.write(meta.merge.slot, meta.merge.sack);
        mtcp_sent.write(meta.merge.slot, 16w0 ++ meta.now);
        meta.merged = 1;
    } // apply
} // write_summary

#endif
