#ifndef CANOPY_ASSIST_SESSIONS_P4
#define CANOPY_ASSIST_SESSIONS_P4

#include "../include/metadata.p4"

// The highest sequence number that has passed down in a session of MTCP or RLA: nobody can have received more. It is learnt
// from data that was accepted from its source's side, and whoever sends it keeps the session until he is silent.

// {session, sender's address, highest sequence number that went down, when (ms)}.
typedef bit<128> feedback_session_t;
#define SESSION_OF(word) word[127:96]
#define SOURCE_OF(word)  word[95:64]
#define HIGHEST_OF(word) word[63:32]
#define MS_OF(word)      word[31:0]
// The time in 1.024 ms, never 0, which is an empty row.
#define MS_NOW(meta)     ((bit<32>)(meta.now >> 10) | 1)

@name(".feedback_sessions")
register<feedback_session_t>(2 * FEEDBACK_SESSIONS) feedback_sessions;

control note_data(in metadata_t meta) {
    apply {
        feedback_session_t row;
        bit<32> ms = MS_NOW(meta);
        feedback_sessions.read(row, meta.assisted.row);
        if (SESSION_OF(row) == meta.assisted.session && SOURCE_OF(row) == meta.source && ms - MS_OF(row) < FEEDBACK_IDLE_MS) {
            if ((int<32>)(meta.assisted.value - HIGHEST_OF(row)) >= 0) {
                feedback_sessions.write(meta.assisted.row,
                                        meta.assisted.session ++ meta.source ++ meta.assisted.value ++ ms);
            }
        } else if (MS_OF(row) == 0 || ms - MS_OF(row) >= FEEDBACK_IDLE_MS) {
            feedback_sessions.write(meta.assisted.row,
                                    meta.assisted.session ++ meta.source ++ meta.assisted.value ++ ms);
        }
    } // apply
} // note_data

// Whether feedback acknowledges only what has passed. Without data of the session nothing is known, and nothing merged.
// `passed`: how many packets from `cumulative` on have passed.
control check_range(in bit<32> index, in bit<32> session, in bit<32> cumulative, in sack_t sack,
                    out bit<32> passed, out bit<1> sound) {
    apply {
        feedback_session_t row;
        sound = 0;
        feedback_sessions.read(row, index);
        passed = HIGHEST_OF(row) + 1 - cumulative;
        if (SESSION_OF(row) == session && MS_OF(row) != 0 && passed <= FEEDBACK_MAX_BEHIND) {
            // The bits of packets that have not passed.
            sack_t beyond = sack;
            if (passed > SACK_BITS) {
                beyond = 0;
            } else if (passed > 256) {
                beyond = (beyond >> 256) >> (bit<8>)(passed - 257);
            } else if (passed != 0) {
                beyond = beyond >> (bit<8>)(passed - 1);
            }
            if (beyond == 0) {
                sound = 1;
            }
        }
    } // apply
} // check_range

#endif
