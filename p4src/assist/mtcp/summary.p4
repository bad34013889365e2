#ifndef CANOPY_ASSIST_MTCP_SUMMARY_P4
#define CANOPY_ASSIST_MTCP_SUMMARY_P4

#include "../merging.p4"
#include "state.p4"

// One other port of the slot: its minima and maxima join the aggregate, which began with the arriving packet's values.
// Sequence numbers are compared modulo 2^32.
control add_port(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.heard = PORT_HEARD_OF(other.port);
        if (meta.merge.active - HEARD_OF(other.heard) <= MTCP_SILENCE_US) {
            other.windows = WINDOWS_OF(other.port);
            other.holders = HOLDERS_OF(other.port);
            other.delays = DELAYS_OF(other.port);
            meta.merge.others = meta.merge.others | other.port_bit;
            meta.summary.children = meta.summary.children | CHILDREN_OF(other.port);
            other.ahead = CUMULATIVE_OF(other.windows) - meta.summary.cumulative;
            if (other.ahead == 0) {
                meta.merge.holders = meta.merge.holders | other.holders;
            } else if ((int<32>)other.ahead < 0) {
                meta.merge.holders = other.holders;
                meta.summary.cumulative = CUMULATIVE_OF(other.windows);
            }
            if (CWND_OF(other.windows) < meta.merge.cwnd) {
                meta.merge.cwnd = CWND_OF(other.windows);
            }
            if (TWND_OF(other.windows) > meta.merge.twnd) {
                meta.merge.twnd = TWND_OF(other.windows);
            }
            if (WINDOW_OF(other.windows) < meta.summary.window) {
                meta.summary.window = WINDOW_OF(other.windows);
            }
            if (ECHO_OF(other.heard) != 0) {
                if (QUEUE_OF(other.delays) > meta.merge.largest_queue) {
                    meta.merge.largest_queue = QUEUE_OF(other.delays);
                }
                if (QUEUE_OF(other.delays) < meta.merge.least_queue) {
                    meta.merge.least_queue = QUEUE_OF(other.delays);
                }
                if (meta.merge.timed == 0
                        || (int<32>)(BOUND_OF(other.delays) - meta.merge.largest_bound) > 0) {
                    meta.merge.largest_bound = BOUND_OF(other.delays);
                }
                meta.merge.timed = 1;
            }
        }
    } // apply
} // add_port

#define ADD_PORT(P) \
    if (meta.merge.waiting[P:P] == 1) { \
        mtcp_ports.read(other.port, CELL(meta.merge.slot, P)); \
        other.port_bit = MERGED_BIT(P); \
        add_port.apply(other, meta); \
    }
#define ADD_SACK(P) \
    if (meta.merge.others[P:P] == 1) { \
        mtcp_sacks.read(other.sack, CELL(meta.merge.slot, P)); \
        other.ahead = SACK_START_OF(other.sack) - meta.summary.cumulative; \
        add_missing.apply(other, meta); \
    }

// The arriving packet with the other ports that are not silent: minima, maxima, and who is behind.
control aggregate_windows(in headers_t hdr, inout other_port_t other, inout metadata_t meta) {
    apply {
        meta.merge.waiting = meta.merge.ports & ~meta.merge.ingress_bit;
        meta.merge.others = 0;
        meta.summary.children = 0;    // of the others
        meta.summary.cumulative = hdr.feedback.cumulative;
        meta.merge.holders = hdr.feedback.holders;
        meta.merge.cwnd = hdr.feedback.min_cwnd;
        meta.merge.twnd = hdr.feedback.max_twnd;
        meta.summary.window = hdr.feedback.window;
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
control aggregate_sacks(in headers_t hdr, inout other_port_t other, inout metadata_t meta) {
    apply {
        meta.merge.missing = 0;
        other.sack = hdr.feedback.cumulative ++ meta.merge.own_sack;
        other.ahead = hdr.feedback.cumulative - meta.summary.cumulative;
        add_missing.apply(other, meta);
        FOR_ALL_PORTS(ADD_SACK)
        meta.summary.sack = ~(BEYOND_FIRST_OF(meta.merge.missing));
    } // apply
} // aggregate_sacks

// Whether a summary goes up now: when the aggregate advances, when the minimum of cwnd or the set of children changes,
// when the transit window falls or the advertised window opens (the sender may wait for that), or when a period has ended
// and something is to be told or was asked again; and when the one that holds all others up is known. `advanced`: the
// feedback completes packets.
control decide_summary(inout metadata_t meta) {
    apply {
        mtcp_windows_t windows;
        mtcp_sent_children_t sent;
        sack_t sack;
        mtcp_sent_windows.read(windows, meta.merge.slot);
        mtcp_sent_children.read(sent, meta.merge.slot);
        mtcp_sent_sacks.read(sack, meta.merge.slot);
        mtcp_sent.read(meta.merge.sent, meta.merge.slot);
        bit<32> ahead = meta.summary.cumulative - CUMULATIVE_OF(windows);

        meta.merge.advanced = 0;
        meta.merge.emit = 0;
        if (SENT_AT_OF(meta.merge.sent) == 0 || (int<32>)ahead > 0
                || (ahead == 0 && (meta.summary.sack & ~sack) != 0)) {
            meta.merge.advanced = 1;
            meta.merge.emit = 1;
        } else if (SENT_CHILDREN_OF(sent) != meta.summary.children || CWND_OF(windows) != meta.merge.cwnd
                   || meta.merge.twnd < TWND_OF(windows)
                   || (meta.summary.window > WINDOW_OF(windows) && (meta.summary.window >> 1) >= WINDOW_OF(windows))) {
            meta.merge.emit = 1;
        } else if (meta.now - SENT_AT_OF(meta.merge.sent) >= FEEDBACK_PERIOD_US
                   && (meta.merge.again == 1 || meta.merge.twnd != TWND_OF(windows)
                       || meta.summary.window != WINDOW_OF(windows))) {
            meta.merge.emit = 1;
        } else if (meta.now - SENT_AT_OF(meta.merge.sent) >= MTCP_HOLDERS_US
                   && SENT_HOLDERS_OF(sent) != meta.merge.holders) {
            meta.merge.emit = 1;
        }
    } // apply
} // decide_summary

// The arriving packet becomes the summary: from the same child, with its own timing if it completes packets. A summary that
// completes none carries no time: there is no packet whose last acknowledgment it is.
control write_summary(inout headers_t hdr, inout metadata_t meta) {
    apply {
        hdr.canopy.type = (bit<8>)mtcp_type_t.ack;
        hdr.canopy.flags = (hdr.canopy.flags & ~FLAG(MTCP_BIT_REPAIRED)) | FLAG(MTCP_BIT_MERGED);
        if (meta.merge.repaired == 1) {
            hdr.canopy.flags = hdr.canopy.flags | FLAG(MTCP_BIT_REPAIRED);
        }
        hdr.feedback.cumulative = meta.summary.cumulative;
        hdr.feedback.min_cwnd = meta.merge.cwnd;
        hdr.feedback.max_twnd = meta.merge.twnd;
        hdr.feedback.window = meta.summary.window;
        hdr.feedback.children = meta.summary.children;
        hdr.feedback.holders = meta.merge.holders;
        hdr.feedback.sack = meta.summary.sack;
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
                                meta.summary.cumulative ++ meta.merge.cwnd ++ meta.merge.twnd ++ meta.summary.window);
        mtcp_sent_children.write(meta.merge.slot, meta.summary.children ++ meta.merge.holders);
        mtcp_sent_sacks.write(meta.merge.slot, meta.summary.sack);
        mtcp_sent.write(meta.merge.slot, 16w0 ++ meta.now);
        meta.merged = 1;
    } // apply
} // write_summary

#endif
