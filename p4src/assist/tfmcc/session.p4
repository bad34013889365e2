#ifndef CANOPY_ASSIST_TFMCC_SESSION_P4
#define CANOPY_ASSIST_TFMCC_SESSION_P4

#include "../sessions.p4"

// What a switch keeps of TFMCC is soft state, written by ingress only. Sessions have rows, by their low bits; who sends a
// session's data has its row until he is silent. Reports are of this round or of the one before, so that what is kept of a
// round has two places in turn, by the parity of its number.
#define PARITY_OF(round) round[0:0]

// What the sender's last data said: {session, sender's address, when (ms), round, patience, max_rtt, least_share, clr,
// whether it is sealed, port that it came by, round trip time that it brought along}.
#define TFMCC_SESSION_OF(word)  word[207:176]
#define TFMCC_SENDER_OF(word)   word[175:144]
#define TFMCC_MS_OF(word)       word[143:112]
#define TFMCC_ROUND_OF(word)    word[111:96]
#define TFMCC_PATIENCE_OF(word) word[95:88]
#define TFMCC_MAX_RTT_OF(word)  word[87:80]
#define TFMCC_SHARE_OF(word)    word[79:64]
#define TFMCC_CLR_OF(word)      word[63:32]
#define TFMCC_HEADED_OF(word)   word[31:31]
#define TFMCC_PORT_OF(word)     word[30:16]
#define TFMCC_PATH_OF(word)     word[15:0]
typedef bit<208> tfmcc_session_t;
@name(".tfmcc_sessions")
register<tfmcc_session_t>(FEEDBACK_SESSIONS) tfmcc_sessions;

// Of a round: {its number, the least rates that the sender has confirmed (with an RTT, without), 1, whether of losses}.
#define ECHO_ROUND_OF(word)    word[55:40]
#define ECHO_RATE_OF(word)     word[39:24]
#define ECHO_IS_SET(word)      (word[1:1] == 1)
#define ECHO_LOSS_OF(word)     word[0:0]
typedef bit<56> tfmcc_echo_t;
@name(".tfmcc_echoes")
register<tfmcc_echo_t>(FEEDBACK_SESSIONS * 2) tfmcc_echoes;

#endif
