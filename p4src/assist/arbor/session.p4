#ifndef CANOPY_ASSIST_ARBOR_SESSION_P4
#define CANOPY_ASSIST_ARBOR_SESSION_P4

#include "../sessions.p4"
#include "../suppressed.p4"

// What a switch keeps of Arbor: soft state, written by ingress only. Sessions have rows, by their low bits; who sends a
// session's data has its row until he is silent. Each packet reads and writes one place of one register, once: on an ASIC
// a stateful unit of two 32-bit words.

// What the sender's data said last: {session, sender's address, when (ms), whether it is sealed, round trip time (ms)}.
#define ARBOR_SESSION_OF(word) word[127:96]
#define ARBOR_SENDER_OF(word)  word[95:64]
#define ARBOR_MS_OF(word)      word[63:32]
#define ARBOR_HEADED_OF(word)  word[31:31]
#define ARBOR_TRIP_OF(word)    ((bit<32>)word[30:0])
typedef bit<128> arbor_session_t;
@name(".arbor_sessions")
register<arbor_session_t>(FEEDBACK_SESSIONS) arbor_sessions;

// Whether data of the session that `sender` sends have passed of late, sealed as what is asked about.
#define ARBOR_IS_KNOWN(row, sender, ms) \
    (ARBOR_SESSION_OF(row) == hdr.canopy.session && ARBOR_SENDER_OF(row) == sender && ARBOR_MS_OF(row) != 0 \
     && ARBOR_HEADED_OF(row) == meta.assisted.headed \
     && ms - ARBOR_MS_OF(row) <= FEEDBACK_IDLE_MS)

#endif
