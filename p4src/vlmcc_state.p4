#ifndef CANOPY_VLMCC_STATE_P4
#define CANOPY_VLMCC_STATE_P4

#include "metadata.p4"

// What a switch keeps of VLMCC's challenges: soft state, written by ingress only. Sessions have rows, by their low bits; who
// sends a session's data has its row until he is silent.
#define VLMCC_ROW(session) ((session) & (FEEDBACK_SESSIONS - 1))

// What the sender's data said last: {session, sender's address, when (ms), its number, leader, whether that settles}.
#define VLMCC_SESSION_OF(word)  word[167:136]
#define VLMCC_SENDER_OF(word)   word[135:104]
#define VLMCC_MS_OF(word)       word[103:72]
#define VLMCC_SEQ_OF(word)      word[71:40]
#define VLMCC_LEADER_OF(word)   word[39:8]
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

#endif
