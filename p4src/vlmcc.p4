#ifndef CANOPY_VLMCC_P4
#define CANOPY_VLMCC_P4

#include "suppressed.p4"
#include "vlmcc_state.p4"

// Data on its way down: who leads, and whether that settles, is learnt from it and from nothing else. What had passed before
// that changed is forgotten. Data that later ones have overtaken says nothing.
control note_leader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        vlmcc_session_t row;
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;     // 0 is an empty row
        bit<32> index = VLMCC_ROW(hdr.canopy.session);
        vlmcc_sessions.read(row, index);
        bit<1> idle = 0;
        if (VLMCC_MS_OF(row) == 0 || ms - VLMCC_MS_OF(row) > FEEDBACK_IDLE_MS) {
            idle = 1;
        }
        if (hdr.udp.length >= VLMCC_DATA_UDP_BYTES
                && (idle == 1 || (VLMCC_SESSION_OF(row) == hdr.canopy.session && VLMCC_SENDER_OF(row) == meta.source))) {
            if (idle == 1 || (int<32>)(hdr.vlmcc_data.seq - VLMCC_SEQ_OF(row)) >= 0) {
                vlmcc_sessions.write(index, hdr.canopy.session ++ meta.source ++ ms ++ hdr.vlmcc_data.seq
                                     ++ hdr.vlmcc_data.leader ++ 7w0 ++ hdr.canopy.flags[2:2]);
                if (idle == 1 || VLMCC_LEADER_OF(row) != hdr.vlmcc_data.leader
                        || VLMCC_SETTLING_OF(row) != hdr.canopy.flags[2:2]) {
                    vlmcc_worst.write(index, 0);
                }
            }
            mark_suppressed.apply(hdr);
        }
    } // apply
} // note_leader

// A challenge on its way to the sender, after it was routed. It passes when it is worse than those that did: while a new
// leader settles, than all of them, for the sender ignores them; else, and while there is no leader, than those of its own
// round trip, for they may be lost.
control filter_challenge(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        vlmcc_session_t row;
        vlmcc_worst_t worst;
        bit<32> index = VLMCC_ROW(hdr.canopy.session);
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;
        vlmcc_sessions.read(row, index);
        vlmcc_worst.read(worst, index);
        if (hdr.vlmcc_challenge.rate == 0 || hdr.vlmcc_challenge.rtt_us == 0) {
            meta.merge.outcome = feedback_t.malformed;
        } else if (VLMCC_SESSION_OF(row) != hdr.canopy.session || VLMCC_SENDER_OF(row) != hdr.ipv4.destination
                   || VLMCC_MS_OF(row) == 0 || ms - VLMCC_MS_OF(row) > FEEDBACK_IDLE_MS) {
            meta.merge.outcome = feedback_t.no_slot;
        } else if (WORST_UNTIL_OF(worst) == 0 || hdr.vlmcc_challenge.rate < WORST_RATE_OF(worst)
                   || (VLMCC_SETTLING_OF(row) == 0 && meta.now >= WORST_UNTIL_OF(worst))) {
            meta.merge.outcome = feedback_t.lower;
            // Nobody makes others wait for longer than the longest round trip that a sender believes.
            bit<32> rtt_us = hdr.vlmcc_challenge.rtt_us;
            if (rtt_us > VLMCC_LONGEST_RTT_US) {
                rtt_us = VLMCC_LONGEST_RTT_US;
            }
            vlmcc_worst.write(index, hdr.vlmcc_challenge.rate ++ (meta.now + (bit<48>)rtt_us));
        } else {
            meta.merge.outcome = feedback_t.suppressed;
            mark_to_drop(standard_metadata);
        }
    } // apply
} // filter_challenge

#endif
