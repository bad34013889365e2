#ifndef CANOPY_ASSIST_MTCP_STATE_P4
#define CANOPY_ASSIST_MTCP_STATE_P4

#include "../../include/metadata.p4"

// What a switch keeps of MTCP's feedback: soft state, written by ingress only. Losing all of it costs nothing but a few
// packets that pass unmerged.
//
// A slot belongs to one parent agent of one session, and has a CELL for each port. What is in a cell counts while the
// port's bit is set in its slot. Words that a packet carries have their types in include/metadata.p4.

// {whether it is sealed, session, parent's address} that a slot belongs to: what is sealed is merged with its like alone.
typedef bit<72> mtcp_owner_t;
@name(".mtcp_owners")
register<mtcp_owner_t>(MTCP_SLOTS) mtcp_owners;

// {generation, ports, active time, when something last arrived}. Active time runs while feedback comes, see slots.p4.
#define GENERATION_OF(word) word[111:96]
#define PORTS_OF(word)      word[95:80]
#define ACTIVE_OF(word)     word[79:48]
#define LAST_OF(word)       word[47:0]

@name(".mtcp_slots")
register<slot_word_t>(MTCP_SLOTS) mtcp_slots;

// What the last summary said: {cumulative, cwnd, twnd, window}, {children, holders}, bitmap; and {repeats since, when}.
@name(".mtcp_sent_windows")
register<mtcp_windows_t>(MTCP_SLOTS) mtcp_sent_windows;
typedef bit<(2 * FEEDBACK_CHILDREN)> mtcp_sent_children_t;
#define SENT_CHILDREN_OF(word) word[2 * FEEDBACK_CHILDREN - 1:FEEDBACK_CHILDREN]
#define SENT_HOLDERS_OF(word)  word[FEEDBACK_CHILDREN - 1:0]
@name(".mtcp_sent_children")
register<mtcp_sent_children_t>(MTCP_SLOTS) mtcp_sent_children;
@name(".mtcp_sent_sacks")
register<sack_t>(MTCP_SLOTS) mtcp_sent_sacks;
#define REPEATS_OF(word) word[63:48]
#define SENT_AT_OF(word) word[47:0]
@name(".mtcp_sent")
register<mtcp_sent_t>(MTCP_SLOTS) mtcp_sent;

// Of each port, as its neighbour last reported: {children, holders, delays, windows, heard}. One word, and so one read.
#define CHILDREN_OF(word) word[352 + 2 * FEEDBACK_CHILDREN - 1:352 + FEEDBACK_CHILDREN]
#define HOLDERS_OF(word)  word[352 + FEEDBACK_CHILDREN - 1:352]
#define DELAYS_OF(word)   word[351:224]
#define WINDOWS_OF(word)  word[223:96]
#define PORT_HEARD_OF(word) word[95:0]
@name(".mtcp_ports")
register<mtcp_port_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_ports;

// windows: {cumulative, cwnd, twnd, window}.
#define CUMULATIVE_OF(word) word[127:96]
#define CWND_OF(word)       word[95:64]
#define TWND_OF(word)       word[63:32]
#define WINDOW_OF(word)     word[31:0]

// delays: {RTD above its minimum, time-out, mean, deviation}, microseconds.
#define QUEUE_OF(word)     word[127:96]
#define BOUND_OF(word)     word[95:64]
#define MEAN_OF(word)      word[63:32]
#define DEVIATION_OF(word) word[31:0]

// heard: {active time when it was, echo that was last measured, repair echo}, the low 32 bits of each.
#define HEARD_OF(word)       word[95:64]
#define ECHO_OF(word)        word[63:32]
#define REPAIR_ECHO_OF(word) word[31:0]

// {cumulative, bitmap} of each port.
@name(".mtcp_sacks")
register<sack_word_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_sacks;

// {generation, when its children changed, until when it is not merged}.
typedef bit<112> mtcp_changes_t;
#define CHANGED_AT_OF(word) word[95:48]
#define PLAIN_UNTIL_OF(word) word[47:0]

@name(".mtcp_changes")
register<mtcp_changes_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_changes;

// {generation, round trip time between parent and child}, from what comes down.
typedef bit<48> mtcp_rtt_t;
#define RTT_GENERATION_OF(word) word[47:32]
#define RTT_OF(word)            word[31:0]
@name(".mtcp_rtts")
register<mtcp_rtt_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_rtts;

// Packets by their numbers modulo SACK_BITS, of which fewer are in flight: what NACKs that passed asked for and no repair
// has come for since. {generation, since when asked, asked, asked before that}.
typedef bit<(64 + 2 * SACK_BITS)> mtcp_nacked_t;
#define NACKED_GENERATION_OF(word) word[2 * SACK_BITS + 63:2 * SACK_BITS + 48]
#define NACKED_AT_OF(word) word[2 * SACK_BITS + 47:2 * SACK_BITS]
#define NACKED_OF(word) word[2 * SACK_BITS - 1:SACK_BITS]
#define NACKED_BEFORE_OF(word) word[SACK_BITS - 1:0]
@name(".mtcp_nacked")
register<mtcp_nacked_t>(MTCP_SLOTS) mtcp_nacked;

// Of each port, what those behind it asked for and have not been sent, and what they have been sent. {generation, since when
// something is waited for (0: nothing is), since when served, wanted, served, served before that}.
#define WANTS_GENERATION_OF(word) word[3 * SACK_BITS + 111:3 * SACK_BITS + 96]
#define WANTS_SINCE_OF(word)      word[3 * SACK_BITS + 95:3 * SACK_BITS + 48]
#define SERVED_AT_OF(word)        word[3 * SACK_BITS + 47:3 * SACK_BITS]
#define WANTED_OF(word)           word[3 * SACK_BITS - 1:2 * SACK_BITS]
#define SERVED_OF(word)           word[2 * SACK_BITS - 1:SACK_BITS]
#define SERVED_BEFORE_OF(word)    word[SACK_BITS - 1:0]
@name(".mtcp_wants")
register<mtcp_wants_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_wants;

// {generation, next hop, address and UDP port of the child behind it that was heard last}: where copies of repairs go. Egress
// reads it, each copy its own: it is one word, so that it is never half of one child and half of another.
typedef bit<112> mtcp_address_t;
#define ADDRESS_GENERATION_OF(word) word[111:96]
#define ADDRESS_MAC_OF(word)        word[95:48]
#define ADDRESS_IP_OF(word)         word[47:16]
#define ADDRESS_PORT_OF(word)       word[15:0]
@name(".mtcp_addresses")
register<mtcp_address_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_addresses;

// {generation, when the last repair was sent that was addressed to somebody behind the port}, the parent's clock.
typedef bit<48> mtcp_addressed_t;
#define ADDRESSED_GENERATION_OF(word) word[47:32]
#define ADDRESSED_AT_OF(word)         word[31:0]
@name(".mtcp_addressed")
register<mtcp_addressed_t>(MTCP_SLOTS * MERGED_PORTS) mtcp_addressed;

// {generation, since when, least RTD since then, least before that} of each child.
typedef bit<128> mtcp_minimum_t;
#define MINIMUM_GENERATION_OF(word) word[127:112]
#define MINIMUM_SINCE_OF(word)      word[111:64]
#define MINIMUM_OF(word)            word[63:32]
#define MINIMUM_BEFORE_OF(word)     word[31:0]
@name(".mtcp_minima")
register<mtcp_minimum_t>(MTCP_SLOTS * FEEDBACK_CHILDREN) mtcp_minima;

#endif
