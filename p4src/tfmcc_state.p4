#ifndef CANOPY_TFMCC_STATE_P4
#define CANOPY_TFMCC_STATE_P4

#include "metadata.p4"

// What a switch keeps of TFMCC's feedback: soft state, written by ingress only. Sessions have rows, by their low bits; who
// sends a session's data has its row until he is silent. Reports are of this round or of the one before, so that what is kept
// of a round has two places in turn, by the parity of its number.
#define TFMCC_ROW(session) ((session) & (FEEDBACK_SESSIONS - 1))

// What the sender's last data said: {session, sender's address, when (ms), round, patience, max_rtt, least_share, clr}.
#define TFMCC_SESSION_OF(word)  word[175:144]
#define TFMCC_SENDER_OF(word)   word[143:112]
#define TFMCC_MS_OF(word)       word[111:80]
#define TFMCC_ROUND_OF(word)    word[79:64]
#define TFMCC_PATIENCE_OF(word) word[63:56]
#define TFMCC_MAX_RTT_OF(word)  word[55:48]
#define TFMCC_SHARE_OF(word)    word[47:32]
#define TFMCC_CLR_OF(word)      word[31:0]
typedef bit<176> tfmcc_session_t;
@name(".tfmcc_sessions")
register<tfmcc_session_t>(FEEDBACK_SESSIONS) tfmcc_sessions;

// Of a round: {its number, the least rates that the sender has confirmed (with an RTT, without), 1, whether of losses}.
#define ECHO_ROUND_OF(word)    word[55:40]
#define ECHO_RATE_OF(word)     word[39:24]
#define ECHO_NO_RTT_OF(word)   word[23:8]
#define ECHO_IS_SET(word)      (word[1:1] == 1)
#define ECHO_LOSS_OF(word)     word[0:0]
typedef bit<56> tfmcc_echo_t;
@name(".tfmcc_echoes")
register<tfmcc_echo_t>(FEEDBACK_SESSIONS * 2) tfmcc_echoes;

// Of a round, of reports with and without an RTT apart: {session, round, least rate that passed, whether of a loss, when}.
#define LEAST_SESSION_OF(word) word[119:88]
#define LEAST_ROUND_OF(word)   word[87:72]
#define LEAST_RATE_OF(word)    word[71:56]
#define LEAST_LOSS_OF(word)    word[48:48]
#define LEAST_AT_OF(word)      word[47:0]
typedef bit<120> tfmcc_least_t;
@name(".tfmcc_least")
register<tfmcc_least_t>(FEEDBACK_SESSIONS * 4) tfmcc_least;

// Of a round: {session, round, how many asked for a round trip time}.
#define ASKED_SESSION_OF(word) word[55:24]
#define ASKED_ROUND_OF(word)   word[23:8]
#define ASKED_OF(word)         word[7:0]
typedef bit<56> tfmcc_asked_t;
@name(".tfmcc_asked")
register<tfmcc_asked_t>(FEEDBACK_SESSIONS * 2) tfmcc_asked;

// {session, largest RTT that passed, when}.
#define FAR_SESSION_OF(word) word[87:56]
#define FAR_RTT_OF(word)     word[55:48]
#define FAR_AT_OF(word)      word[47:0]
typedef bit<88> tfmcc_far_t;
@name(".tfmcc_far")
register<tfmcc_far_t>(FEEDBACK_SESSIONS) tfmcc_far;

#endif
