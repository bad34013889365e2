#ifndef CANOPY_ASSIST_ARBOR_P4
#define CANOPY_ASSIST_ARBOR_P4

#include "session.p4"
#include "joins.p4"
#include "queues.p4"

// The worst request that has passed, {how bad it is, until when it counts (ms)}; even places: for a lower rate (its
// complement); odd ones: for repairs (the block's low bits, packets).
#define WORST_KEY_OF(word)   word[63:32]
#define WORST_BLOCK_OF(word) word[63:48]
#define WORST_MS_OF(word)    word[31:0]
typedef bit<64> arbor_worst_t;
@name(".arbor_worst")
register<arbor_worst_t>(2 * FEEDBACK_SESSIONS) arbor_worst;

// Data on its way down: who sends, and the round trip time of whom he goes by.
control note_round_trip(inout headers_t hdr, inout metadata_t meta) {
    apply {
        arbor_session_t row;
        bit<32> ms = MS_NOW(meta);
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        arbor_sessions.read(row, index);
        if (hdr.udp.length >= ARBOR_TOLD_DATA_UDP_BYTES
                && (ARBOR_MS_OF(row) == 0 || ms - ARBOR_MS_OF(row) > FEEDBACK_IDLE_MS
                    || (ARBOR_SESSION_OF(row) == hdr.canopy.session && ARBOR_SENDER_OF(row) == meta.source))) {
            bit<32> rtt_us = hdr.arbor_told_data.rtt_us;
            if (rtt_us > ARBOR_LONGEST_RTT_US) {
                rtt_us = ARBOR_LONGEST_RTT_US;
            }
            arbor_sessions.write(index, hdr.canopy.session ++ meta.source ++ ms ++ meta.assisted.headed
                                 ++ 9w0 ++ rtt_us[31:10]);
            mark_suppressed.apply(hdr);
        }
    } // apply
} // note_round_trip

// A request on its way to the sender, after it was routed. It passes when it asks for more than those that did within a round
// trip: for a lower rate, for more repairs of the same block, or for those of another block.
control filter_request(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        arbor_session_t row;
        arbor_worst_t worst;
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        bit<32> place = index << 1;
        bit<32> ms = MS_NOW(meta);
        bit<32> key = ~hdr.arbor_report.rate;
        bit<1> is_other = 0;
        if (meta.assisted.kind == assisted_t.arbor_blocks) {
            place = place | 1;
            key = hdr.arbor_blocks.block[15:0] ++ hdr.arbor_blocks.packets;
        }
        arbor_sessions.read(row, index);
        arbor_worst.read(worst, place);
        if (meta.assisted.kind == assisted_t.arbor_blocks && WORST_BLOCK_OF(worst) != key[31:16]) {
            is_other = 1;
        }
        if (!ARBOR_IS_KNOWN(row, hdr.ipv4.destination, ms)) {
            meta.merge.outcome = feedback_t.no_slot;
        } else if (key > WORST_KEY_OF(worst) || is_other == 1 || (int<32>)(ms - WORST_MS_OF(worst)) >= 0) {
            meta.merge.outcome = feedback_t.lower;
            arbor_worst.write(place, key ++ (ms + ARBOR_TRIP_OF(row) + 1));
        } else {
            meta.merge.outcome = feedback_t.suppressed;
            mark_to_drop(standard_metadata);
        }
    } // apply
} // filter_request

#endif
