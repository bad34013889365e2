#ifndef CANOPY_ASSIST_MTCP_NACKS_P4
#define CANOPY_ASSIST_MTCP_NACKS_P4

#include "slots.p4"

// A PROBE on its way down says how long a round trip between parent and child takes.
control note_probe(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    apply {
        find_slot.apply(meta.assisted.session, hdr.ipv4.source, meta);
        if (meta.merge.owned == 1 && meta.assisted.value != 0) {
            port_t port = (port_t)standard_metadata.egress_spec - 1;
            if (port < MERGED_PORTS) {
                mtcp_rtts.write(CELL(meta.merge.slot, (bit<32>)port),
                                GENERATION_OF(meta.merge.state) ++ meta.assisted.value);
            }
        }
    } // apply
} // note_probe

// A child leaves: what it has no longer counts.
control note_leave(in headers_t hdr, inout metadata_t meta) {
    apply {
        find_slot.apply(meta.assisted.session, hdr.ipv4.destination, meta);
        if (meta.merge.owned == 1) {
            mtcp_slots.write(meta.merge.slot,
                             GENERATION_OF(meta.merge.state) ++ (PORTS_OF(meta.merge.state) & ~meta.merge.ingress_bit)
                             ++ ACTIVE_OF(meta.merge.state) ++ LAST_OF(meta.merge.state));
        }
    } // apply
} // note_leave

// The number of the highest bit that is set, by bisection. (As `s | s >> 1` and so on, p4c would write out one expression.)
#define HALVE(BITS) if ((rest >> BITS) != 0) { rest = rest >> BITS; highest = highest + BITS; }

control find_highest(in sack_t bitmap, out bit<9> highest) {
    apply {
        sack_t rest = bitmap;
        highest = 0;
        HALVE(256) HALVE(128) HALVE(64) HALVE(32) HALVE(16) HALVE(8) HALVE(4) HALVE(2) HALVE(1)
    } // apply
} // find_highest

// A bitmap of packets from `start` on becomes one of packets by their numbers modulo SACK_BITS: it is turned.
control by_number(inout sack_t packets, in bit<32> start) {
    apply {
        bit<9> down = ~start[8:0];
        sack_t beyond = packets >> down[7:0];   // what leaves at the top comes in below, but for one step
        if (start[8:8] == 1) {
            packets = packets << 256;
        } else {
            beyond = beyond >> 256;
        }
        packets = (packets << start[7:0]) | (beyond >> 1);
    } // apply
} // by_number

// Does this NACK ask for something that its parent has not been asked for lately (`repeat`: for nothing)? Children of one
// parent that lost a packet together ask once, and its repair is copied to all their ports (repairs.p4).
//
// What was asked for, by whichever port, is not asked for again until a repair has come, nor what a port was sent: each for
// one to two round trips between parent and child and an eighth, so that the parent's own "not again within a round trip"
// (3.1) has passed. A port whose wishes are not met asks itself after one such time: so a lost NACK or repair is asked for
// again, and a NACK that its parent does not heed keeps no others back. `part`: of one child of a switch below, which has
// judged what it was sent.
//
// `known_below`: what the NACK names before the first packet that is asked for anew, counted from `cumulative`. Its parent
// is told, for a NACK names all that is missing, and copies of the rest are on their way.
control weigh_nack(in headers_t hdr, in bit<1> part, inout metadata_t meta) {
    apply {
        mtcp_rtt_t rtt;
        mtcp_wants_t wants;
        mtcp_nacked_t word;
        mtcp_rtts.read(rtt, meta.merge.cell);
        mtcp_wants.read(wants, meta.merge.cell);
        mtcp_nacked.read(word, meta.merge.slot);
        bit<48> limit = (bit<48>)RTT_OF(rtt) + (bit<48>)(RTT_OF(rtt) >> 3);
        if (RTT_GENERATION_OF(rtt) != meta.merge.generation) {
            limit = MTCP_FIRST_RTT_US;
        }

        if (WANTS_GENERATION_OF(wants) != meta.merge.generation) {
            wants = 0;
        }
        bit<48> since = WANTS_SINCE_OF(wants);
        bit<48> served_at = SERVED_AT_OF(wants);
        sack_t served = SERVED_OF(wants);
        sack_t served_before = SERVED_BEFORE_OF(wants);
        if (meta.now - served_at >= limit) {
            served_before = served;
            served = 0;
            served_at = served_at + limit;
            if (meta.now - served_at >= limit) {
                served_before = 0;
                served_at = meta.now;
            }
        }

        if (NACKED_GENERATION_OF(word) != meta.merge.generation) {
            word = 0;
        }
        bit<48> asked_at = NACKED_AT_OF(word);
        sack_t asked = NACKED_OF(word);
        sack_t asked_before = NACKED_BEFORE_OF(word);
        if (meta.now - asked_at >= limit) {
            asked_before = asked;
            asked = 0;
            asked_at = asked_at + limit;
            if (meta.now - asked_at >= limit) {
                asked_before = 0;
                asked_at = meta.now;
            }
        }

        // What it lacks, from `cumulative` to the highest that it has.
        sack_t lacked = 1;
        if (meta.merge.own_sack != 0) {
            bit<9> highest;
            find_highest.apply(meta.merge.own_sack, highest);
            if (highest[8:8] == 1) {
                lacked = lacked << 256;
            }
            lacked = ((lacked << highest[7:0] << 1) - 1) & ~(meta.merge.own_sack << 1);
        }
        by_number.apply(lacked, hdr.feedback.cumulative);

        sack_t wanted = lacked;
        if (part == 1) {
            wanted = wanted | WANTED_OF(wants);
        } else {
            lacked = lacked & ~(served | served_before);
            wanted = lacked;
        }
        sack_t anew = lacked & ~(asked | asked_before);
        meta.merge.repeat = 1;
        meta.merge.known_below = 0xffff;
        if (anew != 0 || (lacked != 0 && since != 0 && meta.now - since >= limit)) {
            meta.merge.repeat = 0;
            meta.merge.known_below = 0;
            if (anew != 0) {
                by_number.apply(anew, 0 - hdr.feedback.cumulative);     // from `cumulative` on again
                anew = anew & (0 - anew);
                bit<9> lowest;
                find_highest.apply(anew, lowest);
                meta.merge.known_below = (bit<16>)lowest;
            }
            asked = asked | lacked;
            since = 0;
            mtcp_nacked.write(meta.merge.slot, meta.merge.generation ++ asked_at ++ asked ++ asked_before);
        }
        if (lacked == 0) {
            since = 0;
        } else if (since == 0) {
            since = meta.now;
        }
        mtcp_wants.write(meta.merge.cell,
                         meta.merge.generation ++ since ++ served_at ++ wanted ++ served ++ served_before);
    } // apply
} // weigh_nack

#endif
