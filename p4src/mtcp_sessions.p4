#ifndef CANOPY_MTCP_SESSIONS_P4
#define CANOPY_MTCP_SESSIONS_P4

#include "mtcp_state.p4"

// The highest sequence number that has passed down in a session: nobody can have received more. It is learnt from data
// that was accepted from its source's side, and whoever sends it keeps the session until he is silent.
#define SESSION_ROW(session) ((bit<32>)(session) & (MTCP_SESSIONS - 1))

control note_data(in metadata_t meta) {
    apply {
        mtcp_session_t row;
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;   // 0 is an empty row
        mtcp_sessions.read(row, SESSION_ROW(meta.mtcp.session));
        if (SESSION_OF(row) == meta.mtcp.session && SOURCE_OF(row) == meta.source && ms - MS_OF(row) < MTCP_IDLE_MS) {
            if ((int<32>)(meta.mtcp.value - HIGHEST_OF(row)) >= 0) {
                mtcp_sessions.write(SESSION_ROW(meta.mtcp.session),
                                    meta.mtcp.session ++ meta.source ++ meta.mtcp.value ++ ms);
            }
        } else if (MS_OF(row) == 0 || ms - MS_OF(row) >= MTCP_IDLE_MS) {
            mtcp_sessions.write(SESSION_ROW(meta.mtcp.session),
                                meta.mtcp.session ++ meta.source ++ meta.mtcp.value ++ ms);
        }
    } // apply
} // note_data

// Whether feedback acknowledges only what has passed. Without data of the session nothing is known, and nothing merged.
control check_range(in headers_t hdr, in metadata_t meta, out bit<1> sound) {
    apply {
        mtcp_session_t row;
        sound = 0;
        mtcp_sessions.read(row, SESSION_ROW(hdr.canopy.session));
        // How many packets from `cumulative` on have passed.
        bit<32> passed = HIGHEST_OF(row) + 1 - hdr.feedback.cumulative;
        if (SESSION_OF(row) == hdr.canopy.session && MS_OF(row) != 0 && passed <= MTCP_MAX_BEHIND) {
            // Bit i of the bitmap is packet cumulative + 1 + i.
            bit<512> beyond = hdr.feedback.sack;
            if (passed > 512) {
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
