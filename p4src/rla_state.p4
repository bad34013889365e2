#ifndef CANOPY_RLA_STATE_P4
#define CANOPY_RLA_STATE_P4

#include "metadata.p4"

// What a switch keeps of RLA's acknowledgments: soft state, written by ingress only, as MTCP's (mtcp_state.p4). Words are as
// wide as the variables of MTCP's that they are read into.

// One per session: {session, sender's address, ports that somebody is merged behind, when something last arrived (ms)}.
#define RLA_SESSION_OF(word) word[111:80]
#define RLA_SENDER_OF(word)  word[79:48]
#define RLA_PORTS_OF(word)   word[47:32]
#define RLA_MS_OF(word)      word[31:0]
@name(".rla_slots")
register<bit<112>>(RLA_SLOTS) rla_slots;

// Of each port, as its neighbour last said: whom it stands for; {when, window, unused}; {cumulative, bitmap}.
@name(".rla_children")
register<bit<128>>(RLA_SLOTS * MAX_PORTS) rla_children;
#define RLA_HEARD_OF(word)  word[95:64]
#define RLA_WINDOW_OF(word) word[63:32]
@name(".rla_times")
register<bit<96>>(RLA_SLOTS * MAX_PORTS) rla_times;
@name(".rla_sacks")
register<bit<544>>(RLA_SLOTS * MAX_PORTS) rla_sacks;

// What the last summary said, and when.
@name(".rla_sent_children")
register<bit<128>>(RLA_SLOTS) rla_sent_children;
@name(".rla_sent_sacks")
register<bit<544>>(RLA_SLOTS) rla_sent_sacks;
@name(".rla_sent_at")
register<bit<48>>(RLA_SLOTS) rla_sent_at;

#endif
