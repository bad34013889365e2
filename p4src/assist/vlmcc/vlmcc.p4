#ifndef CANOPY_ASSIST_VLMCC_P4
#define CANOPY_ASSIST_VLMCC_P4

#include "../sessions.p4"
#include "../suppressed.p4"

// What a switch keeps of VLMCC's challenges: soft state, written by ingress only. Sessions have rows, by their low bits; who
// sends a session's data has its row until he is silent.
// What the sender's data said last: {session, sender's address, when (ms), its number, leader, whether it is sealed, whether
// the leader settles}.
#define VLMCC_SESSION_OF(word)  word[167:136]
#define VLMCC_SENDER_OF(word)   word[135:104]
#define VLMCC_MS_OF(word)       word[103:72]
#define VLMCC_SEQ_OF(word)      word[71:40]
#define VLMCC_LEADER_OF(word)   word[39:8]
#define VLMCC_HEADED_OF(word)   word[1:1]
#define VLMCC_SETTLING_OF(word) word[0:0]
typedef bit<168> vlmcc_session_t;
@name(".vlmcc_sessions")
register<vlmcc_session_t>(FEEDBACK_SESSIONS) vlmcc_sessions;

// The worst challenge that has passed: {its rate, until when it counts}; 0: none since the sender last changed its mind.
#define WORST_RATE_OF(word)  word[79:48]
#define WORST_UNTIL_OF(word) word[47:0]
typedef bit<80> vlmcc_worst_t;
@name(".vlmcc_worst")
register<vlmcc_worst_t>(FEEDBACK_SESSIONS) vlmcc_worst;

// Data on its way down: who leads, and whether that settles, is learnt from it and from nothing else. What had passed before
// that changed is forgotten. Data that later ones have overtaken says nothing.
control note_leader(inout headers_t hdr, inout metadata_t meta) {
    apply {
        vlmcc_session_t row;
        bit<32> ms = MS_NOW(meta);
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        vlmcc_sessions.read(row, index);
        bit<1> idle = 0;
        if (VLMCC_MS_OF(row) == 0 || ms - VLMCC_MS_OF(row) > FEEDBACK_IDLE_MS) {
            idle = 1;
        }
        if (hdr.udp.length >= VLMCC_DATA_UDP_BYTES
                && (idle == 1 || (VLMCC_SESSION_OF(row) == hdr.canopy.session && VLMCC_SENDER_OF(row) == meta.source))) {
            if (idle == 1 || (int<32>)(hdr.vlmcc_data.seq - VLMCC_SEQ_OF(row)) >= 0) {
                vlmcc_sessions.write(index, hdr.canopy.session ++ meta.source ++ ms ++ hdr.vlmcc_data.seq
                                     ++ hdr.vlmcc_data.leader ++ 6w0 ++ meta.assisted.headed ++ FLAG_OF(hdr, VLMCC_BIT_SETTLING));
                if (idle == 1 || VLMCC_LEADER_OF(row) != hdr.vlmcc_data.leader
                        || VLMCC_SETTLING_OF(row) != FLAG_OF(hdr, VLMCC_BIT_SETTLING)) {
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
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        bit<32> ms = MS_NOW(meta);
        vlmcc_sessions.read(row, index);
        vlmcc_worst.read(worst, index);
        if (hdr.vlmcc_challenge.rate == 0 || hdr.vlmcc_challenge.rtt_us == 0) {
            meta.merge.outcome = feedback_t.malformed;
        } else if (VLMCC_SESSION_OF(row) != hdr.canopy.session || VLMCC_SENDER_OF(row) != hdr.ipv4.destination
                   || VLMCC_HEADED_OF(row) != meta.assisted.headed
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
