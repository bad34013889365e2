#ifndef CANOPY_ASSIST_RLA_P4
#define CANOPY_ASSIST_RLA_P4

#include "../../forwarding/ipv4.p4"
#include "../merging.p4"
#include "../sessions.p4"

// What a switch keeps of RLA's acknowledgments: soft state, written by ingress only, as MTCP's (mtcp/state.p4). Words are as
// wide as the variables of MTCP's that they are read into.

// One per session: {session, sender's address, ports that somebody is merged behind, whether it is sealed, when something last
// arrived (ms)}. What is sealed is merged with its like alone.
#define RLA_OWNER_OF(word)   word[111:48]     // session and address
#define RLA_SESSION_OF(word) word[111:80]
#define RLA_SENDER_OF(word)  word[79:48]
#define RLA_PORTS_OF(word)   word[47:32]
#define RLA_SEALED_OF(word)  word[31:31]
#define RLA_MS_OF(word)      word[30:0]
@name(".rla_slots")
register<slot_word_t>(RLA_SLOTS) rla_slots;

// Of each port, as its neighbour last said: whom it stands for; {when, window, unused}; {cumulative, bitmap}.
@name(".rla_children")
register<children_t>(RLA_SLOTS * MERGED_PORTS) rla_children;
#define RLA_HEARD_OF(word)  word[95:64]
#define RLA_WINDOW_OF(word) word[63:32]
@name(".rla_times")
register<heard_word_t>(RLA_SLOTS * MERGED_PORTS) rla_times;
@name(".rla_sacks")
register<sack_word_t>(RLA_SLOTS * MERGED_PORTS) rla_sacks;

// What the last summary said, and when.
@name(".rla_sent_children")
register<children_t>(RLA_SLOTS) rla_sent_children;
@name(".rla_sent_sacks")
register<sack_word_t>(RLA_SLOTS) rla_sent_sacks;
@name(".rla_sent_at")
register<bit<48>>(RLA_SLOTS) rla_sent_at;

// The slot of a session, by its low bits; taken when nobody used it for FEEDBACK_IDLE_US.
control enter_rla_slot(in bit<32> session, in ipv4_address_t sender, inout metadata_t meta) {
    apply {
        bit<31> ms = (bit<31>)MS_NOW(meta);
        meta.merge.slot = session & (RLA_SLOTS - 1);
        rla_slots.read(meta.merge.state, meta.merge.slot);
        meta.merge.ports = RLA_PORTS_OF(meta.merge.state);
        meta.merge.owned = 0;
        if (RLA_MS_OF(meta.merge.state) == 0 || ms - RLA_MS_OF(meta.merge.state) > (bit<31>)FEEDBACK_IDLE_MS) {
            meta.merge.owned = 1;
            meta.merge.ports = 0;
            rla_sent_at.write(meta.merge.slot, 0);
        } else if (RLA_SESSION_OF(meta.merge.state) == session && RLA_SENDER_OF(meta.merge.state) == sender
                   && RLA_SEALED_OF(meta.merge.state) == meta.assisted.headed) {
            meta.merge.owned = 1;
        }
        meta.merge.state = session ++ sender ++ NO_MERGED ++ meta.assisted.headed ++ ms;
        meta.merge.cell = CELL(meta.merge.slot, (bit<32>)(meta.ingress_port - 1));
    } // apply
} // enter_rla_slot

control leave_rla_slot(in metadata_t meta) {
    apply {
        rla_slots.write(meta.merge.slot, RLA_OWNER_OF(meta.merge.state) ++ meta.merge.ports
                                         ++ RLA_SEALED_OF(meta.merge.state) ++ RLA_MS_OF(meta.merge.state));
    } // apply
} // leave_rla_slot

// Whose acknowledgment is it, and what does its port say from now on: meta.merge.holders, own_heard, own_bound (the
// cumulative number) and own_sack. `admitted`: that is known.
//
// A port is one neighbour. Another receiver behind it passes as it is, until the first was silent; summaries of a switch
// take the place of whatever was known of its port.
control admit_acknowledgment(in headers_t hdr, inout other_port_t other, inout metadata_t meta) {
    apply {
        rla_children.read(meta.merge.holders, meta.merge.cell);
        rla_times.read(meta.merge.own_heard, meta.merge.cell);
        rla_sacks.read(other.sack, meta.merge.cell);
        if ((meta.merge.ports & meta.merge.ingress_bit) == 0
                || (bit<32>)meta.now - RLA_HEARD_OF(meta.merge.own_heard) > RLA_SILENCE_US) {
            meta.merge.holders = 0;
        }
        meta.merge.admitted = 1;
        meta.merge.own_bound = SACK_START_OF(other.sack);
        meta.merge.own_sack = SACK_BITMAP_OF(other.sack);
        if (FLAG_OF(hdr, RLA_BIT_MERGE) == 0) {
            // It tells of a hole: this receiver speaks for itself now.
            meta.merge.holders = meta.merge.holders & ~CHILD_BIT((bit<8>)hdr.rla_ack.number);
            meta.merge.outcome = feedback_t.hole;
        } else if (FLAG_OF(hdr, RLA_BIT_MERGED) == 0 && meta.merge.holders != 0
                   && meta.merge.holders != hdr.rla_ack.children) {
            meta.merge.admitted = 0;
            meta.merge.outcome = feedback_t.shared_port;
        } else if (meta.merge.holders == hdr.rla_ack.children
                   && (int<32>)(hdr.rla_ack.cumulative - meta.merge.own_bound) < 0) {
            meta.merge.admitted = 0;
            meta.merge.outcome = feedback_t.stale;
        } else {
            meta.merge.again = 0;
            if (meta.merge.holders != hdr.rla_ack.children || hdr.rla_ack.cumulative != meta.merge.own_bound) {
                meta.merge.own_sack = 0;
            } else if ((hdr.rla_ack.sack & ~meta.merge.own_sack) == 0) {
                meta.merge.again = 1;
            }
            meta.merge.holders = hdr.rla_ack.children;
            meta.merge.own_heard = (bit<32>)meta.now ++ hdr.rla_ack.window ++ 32w0;
            meta.merge.own_bound = hdr.rla_ack.cumulative;
            meta.merge.own_sack = meta.merge.own_sack | hdr.rla_ack.sack;
            meta.merge.outcome = feedback_t.absorbed;
            if (FLAG_OF(hdr, RLA_BIT_PASS) == 1) {
                meta.merge.outcome = feedback_t.sample;
            }
        }
    } // apply
} // admit_acknowledgment

// One port joins the aggregate, unless it is silent or too far behind to be told. Bit i of `missing` is packet base + i; until
// all are added meta.summary.cumulative is that base.
control add_branch(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.ahead = SACK_START_OF(other.sack) - meta.summary.cumulative;
        if ((bit<32>)meta.now - RLA_HEARD_OF(other.heard) <= RLA_SILENCE_US && other.ahead <= SACK_BITS) {
            meta.merge.others = 1;
            meta.summary.children = meta.summary.children | other.holders;
            if (RLA_WINDOW_OF(other.heard) < meta.summary.window) {
                meta.summary.window = RLA_WINDOW_OF(other.heard);
            }
            add_missing.apply(other, meta);
        }
    } // apply
} // add_branch

#define ADD_BRANCH(P) \
    if (meta.merge.waiting[P:P] == 1) { \
        rla_children.read(other.holders, CELL(meta.merge.slot, P)); \
        rla_times.read(other.heard, CELL(meta.merge.slot, P)); \
        rla_sacks.read(other.sack, CELL(meta.merge.slot, P)); \
        add_branch.apply(other, meta); \
    }

// The other ports. `passed`: how many packets from `cumulative` on have passed; the last SACK_BITS of all are looked at.
control aggregate_branches(in bit<32> cumulative, in bit<32> passed, inout other_port_t other, inout metadata_t meta) {
    apply {
        meta.merge.waiting = meta.merge.ports & ~meta.merge.ingress_bit;
        meta.merge.others = 0;
        meta.merge.missing = 0;
        meta.summary.children = 0;
        meta.summary.window = 0xffffffff;
        meta.summary.cumulative = cumulative + passed - SACK_BITS;
        FOR_ALL_PORTS(ADD_BRANCH)
    } // apply
} // aggregate_branches

// The number of the lowest bit that is set, by bisection; of SACK_BITS + 1.
#define IS_HELD(missing) (missing[0:0] == 0)    // the first packet
#define SKIP(BITS) \
    if (other.missing[BITS-1:0] == 0) { other.missing = other.missing >> BITS; other.ahead = other.ahead + BITS; }

// What nobody lacks, as the first packet that somebody lacks and a bitmap of those behind it.
control finish_aggregate(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.missing = meta.merge.missing;
        other.ahead = 0;
        SKIP(256) SKIP(128) SKIP(64) SKIP(32) SKIP(16) SKIP(8) SKIP(4) SKIP(2) SKIP(1)
        if (IS_HELD(other.missing)) {
            other.ahead = SACK_BITS;
        }
        meta.summary.cumulative = meta.summary.cumulative + other.ahead;
        other.missing = ~meta.merge.missing;
        if (STEP_512_OF(other.ahead) == 1) {
            other.missing = 0;
        } else {
            if (STEP_256_OF(other.ahead) == 1) {
                other.missing = other.missing >> 256;
            }
            other.missing = other.missing >> STEPS_BELOW_OF(other.ahead);
        }
        meta.summary.sack = BEYOND_FIRST_OF(other.missing);
    } // apply
} // finish_aggregate

// Whether the aggregate says something of somebody that the last summary did not. When a receiver says the same again a
// while after a summary, that may have been lost.
control compare_with_sent(inout other_port_t other, inout metadata_t meta) {
    apply {
        bit<48> sent_at;
        rla_sent_children.read(other.holders, meta.merge.slot);
        rla_sent_sacks.read(other.sack, meta.merge.slot);
        rla_sent_at.read(sent_at, meta.merge.slot);
        other.ahead = meta.summary.cumulative - SACK_START_OF(other.sack);
        meta.merge.advanced = 0;
        if (sent_at == 0 || (meta.summary.children & ~other.holders) != 0 || (int<32>)other.ahead > 0
                || (other.ahead == 0 && (meta.summary.sack & ~SACK_BITMAP_OF(other.sack)) != 0)) {
            meta.merge.advanced = 1;
        }
        meta.merge.emit = meta.merge.advanced;
        if (meta.merge.again == 1 && meta.now - sent_at >= FEEDBACK_PERIOD_US) {
            meta.merge.emit = 1;
        }
    } // apply
} // compare_with_sent

control note_sent(in metadata_t meta) {
    apply {
        rla_sent_children.write(meta.merge.slot, meta.summary.children);
        rla_sent_sacks.write(meta.merge.slot, meta.summary.cumulative ++ meta.summary.sack);
        rla_sent_at.write(meta.merge.slot, meta.now);
    } // apply
} // note_sent

// An acknowledgment becomes a summary. It echoes nothing: round trip times are taken from what passes as it is.
control write_ack_summary(inout headers_t hdr, inout metadata_t meta) {
    apply {
        hdr.canopy.flags = FLAG(RLA_BIT_MERGE) | FLAG(RLA_BIT_MERGED);
        hdr.rla_ack.cumulative = meta.summary.cumulative;
        hdr.rla_ack.window = meta.summary.window;
        hdr.rla_ack.echo_time_us = 0;
        hdr.rla_ack.children = meta.summary.children;
        hdr.rla_ack.sack = meta.summary.sack;
        meta.merged = 1;
    } // apply
} // write_ack_summary

// In egress: the clone of an acknowledgment that passed as it is, when there was news of others, too.
control write_cloned_summary(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.rla_ack.isValid()) {
            hdr.ethernet.source = meta.switch_mac;
            hdr.ethernet.destination = meta.summary_to;
            decrement_ttl.apply(hdr.ipv4);
            write_ack_summary.apply(hdr, meta);
        } else {
            mark_to_drop(standard_metadata);    // it came by packet-out
        }
    } // apply
} // write_cloned_summary

// What the port says from now on is kept, and joins the aggregate of the others.
control add_own(inout other_port_t other, inout metadata_t meta) {
    apply {
        if (meta.merge.holders == 0) {
            meta.merge.ports = meta.merge.ports & ~meta.merge.ingress_bit;
        } else {
            meta.merge.ports = meta.merge.ports | meta.merge.ingress_bit;
            other.holders = meta.merge.holders;
            other.heard = meta.merge.own_heard;
            other.sack = meta.merge.own_bound ++ meta.merge.own_sack;
            rla_children.write(meta.merge.cell, other.holders);
            rla_times.write(meta.merge.cell, other.heard);
            rla_sacks.write(meta.merge.cell, other.sack);
            add_branch.apply(other, meta);
        }
    } // apply
} // add_own

// An acknowledgment, once its slot is entered. It becomes a summary or is absorbed, unless it shall pass: then news of others
// leave in a clone.
control merge_acknowledgment(inout headers_t hdr, in bit<32> passed, inout other_port_t other, inout metadata_t meta,
                             inout standard_metadata_t standard_metadata) {
    apply {
        admit_acknowledgment.apply(hdr, other, meta);
        if (meta.merge.admitted == 1) {
            aggregate_branches.apply(hdr.rla_ack.cumulative, passed, other, meta);
            if (meta.merge.outcome != feedback_t.hole && (meta.summary.children & meta.merge.holders) != 0) {
                // Another port speaks for the same receiver.
                meta.merge.ports = meta.merge.ports & ~meta.merge.ingress_bit;
                meta.merge.outcome = feedback_t.shared_port;
            } else {
                merged_ports_t others = meta.merge.others;
                add_own.apply(other, meta);
                if (others != 0) {
                    finish_aggregate.apply(other, meta);
                    compare_with_sent.apply(other, meta);
                    if (FLAG_OF(hdr, RLA_BIT_PASS) == 1) {
                        if (meta.merge.advanced == 1) {
                            note_sent.apply(meta);
                            meta.summary_to = hdr.ethernet.destination;
                            clone_preserving_field_list(CloneType.I2E, (bit<32>)standard_metadata.egress_spec,
                                                        FIELDS_SUMMARY);
                        }
                    } else if (meta.merge.emit == 1) {
                        note_sent.apply(meta);
                        write_ack_summary.apply(hdr, meta);
                        meta.merge.outcome = feedback_t.summary;
                    } else {
                        mark_to_drop(standard_metadata);
                    }
                } else if (meta.merge.outcome == feedback_t.absorbed) {
                    meta.merge.outcome = feedback_t.alone;
                }
            }
        }
        leave_rla_slot.apply(meta);
    } // apply
} // merge_acknowledgment

// Who speaks in an ACK, by MERGE and MERGED: a host for itself, or a switch. (0: a host that tells of a hole.)
#define RLA_SPEAKER_OF(hdr) hdr.canopy.flags[RLA_BIT_MERGE:RLA_BIT_MERGED]
#define RLA_NOBODY 1
#define RLA_HOST   2
#define RLA_SWITCH 3

// RLA's packets on their way to the sender, after they were routed. docs/assist.md says what a summary means and why.
control assist_rla(inout headers_t hdr, inout other_port_t other, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.assisted.kind == assisted_t.rla_abort) {
            if ((meta.switch_ports & meta.merge.ingress_bit) == 0) {  // a switch below no longer names who has left
                enter_rla_slot.apply(meta.assisted.session, hdr.ipv4.destination, meta);
                if (meta.merge.owned == 1) {
                    meta.merge.ports = meta.merge.ports & ~meta.merge.ingress_bit;
                    leave_rla_slot.apply(meta);
                }
            }
        } else if (FLAG_OF(hdr, RLA_BIT_MERGED) == 1 && (meta.switch_ports & meta.merge.ingress_bit) == 0) {
            meta.drop_reason = drop_reason_t.forged_feedback;
        } else {
            bit<32> passed;
            bit<1> sound;
            check_range.apply(RLA_ROW(hdr.canopy.session), hdr.canopy.session, hdr.rla_ack.cumulative,
                              hdr.rla_ack.sack, passed, sound);
            // A host speaks for itself alone. (What tells of a hole stands for nobody.)
            if (hdr.rla_ack.number >= FEEDBACK_CHILDREN || RLA_SPEAKER_OF(hdr) == RLA_NOBODY
                    || (RLA_SPEAKER_OF(hdr) == RLA_SWITCH && hdr.rla_ack.children == 0)
                    || (RLA_SPEAKER_OF(hdr) == RLA_HOST
                        && hdr.rla_ack.children != CHILD_BIT((bit<8>)hdr.rla_ack.number))) {
                meta.merge.outcome = feedback_t.malformed;
            } else if (sound == 0 || passed > SACK_BITS) {
                meta.merge.outcome = feedback_t.out_of_range;
            } else {
                enter_rla_slot.apply(hdr.canopy.session, hdr.ipv4.destination, meta);
                if (meta.merge.owned == 0) {
                    meta.merge.outcome = feedback_t.no_slot;
                } else {
                    merge_acknowledgment.apply(hdr, passed, other, meta, standard_metadata);
                }
            }
        }
    } // apply
} // assist_rla

#endif
