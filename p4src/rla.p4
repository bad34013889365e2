#ifndef CANOPY_RLA_P4
#define CANOPY_RLA_P4

#include "rla_state.p4"
#include "rla_aggregate.p4"
#include "rla_summary.p4"

// The slot of a session, by its low bits; taken when nobody used it for FEEDBACK_IDLE_US.
control enter_rla_slot(in bit<32> session, in ipv4_address_t sender, inout metadata_t meta) {
    apply {
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;     // 0 is an empty slot
        meta.merge.slot = session & (RLA_SLOTS - 1);
        rla_slots.read(meta.merge.state, meta.merge.slot);
        meta.merge.ports = RLA_PORTS_OF(meta.merge.state);
        meta.merge.owned = 0;
        if (RLA_MS_OF(meta.merge.state) == 0 || ms - RLA_MS_OF(meta.merge.state) > FEEDBACK_IDLE_MS) {
            meta.merge.owned = 1;
            meta.merge.ports = 0;
            rla_sent_at.write(meta.merge.slot, 0);
        } else if (RLA_SESSION_OF(meta.merge.state) == session && RLA_SENDER_OF(meta.merge.state) == sender) {
            meta.merge.owned = 1;
        }
        meta.merge.state = session ++ sender ++ 16w0 ++ ms;
        meta.merge.cell = (meta.merge.slot << 4) | (bit<32>)(meta.ingress_port - 1);
    } // apply
} // enter_rla_slot

control leave_rla_slot(in metadata_t meta) {
    apply {
        rla_slots.write(meta.merge.slot, meta.merge.state[111:48] ++ meta.merge.ports ++ RLA_MS_OF(meta.merge.state));
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
        if ((meta.merge.ports & meta.ingress_bit) == 0
                || (bit<32>)meta.now - RLA_HEARD_OF(meta.merge.own_heard) > RLA_SILENCE_US) {
            meta.merge.holders = 0;
        }
        meta.merge.admitted = 1;
        meta.merge.own_bound = other.sack[543:512];
        meta.merge.own_sack = other.sack[511:0];
        if (hdr.canopy.flags[1:1] == 0) {
            // It tells of a hole: this receiver speaks for itself now.
            meta.merge.holders = meta.merge.holders & ~(128w1 << (bit<8>)hdr.rla_ack.number);
            meta.merge.outcome = feedback_t.hole;
        } else if (hdr.canopy.flags[0:0] == 0 && meta.merge.holders != 0
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
            if (hdr.canopy.flags[3:3] == 1) {
                meta.merge.outcome = feedback_t.sample;
            }
        }
    } // apply
} // admit_acknowledgment

// What the port says from now on is kept, and joins the aggregate of the others.
control add_own(inout other_port_t other, inout metadata_t meta) {
    apply {
        if (meta.merge.holders == 0) {
            meta.merge.ports = meta.merge.ports & ~meta.ingress_bit;
        } else {
            meta.merge.ports = meta.merge.ports | meta.ingress_bit;
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
                meta.merge.ports = meta.merge.ports & ~meta.ingress_bit;
                meta.merge.outcome = feedback_t.shared_port;
            } else {
                port_bitmap_t others = meta.merge.others;
                add_own.apply(other, meta);
                if (others != 0) {
                    finish_aggregate.apply(other, meta);
                    compare_with_sent.apply(other, meta);
                    if (hdr.canopy.flags[3:3] == 1) {
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

// RLA's packets on their way to the sender, after they were routed. docs/assist.md says what a summary means and why.
control assist_rla(inout headers_t hdr, inout other_port_t other, inout metadata_t meta,
                   inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.assisted.kind == assisted_t.rla_abort) {
            if ((meta.switch_ports & meta.ingress_bit) == 0) {  // a switch below no longer names who has left
                enter_rla_slot.apply(meta.assisted.session, hdr.ipv4.destination, meta);
                if (meta.merge.owned == 1) {
                    meta.merge.ports = meta.merge.ports & ~meta.ingress_bit;
                    leave_rla_slot.apply(meta);
                }
            }
        } else if (hdr.canopy.flags[0:0] == 1 && (meta.switch_ports & meta.ingress_bit) == 0) {
            meta.drop_reason = drop_reason_t.forged_feedback;
        } else {
            bit<32> passed;
            bit<1> sound;
            check_range.apply(RLA_ROW(hdr.canopy.session), hdr.canopy.session, hdr.rla_ack.cumulative,
                              hdr.rla_ack.sack, passed, sound);
            // A host speaks for itself alone. (What tells of a hole stands for nobody.)
            if (hdr.rla_ack.number >= FEEDBACK_CHILDREN || hdr.canopy.flags[1:0] == 1
                    || (hdr.canopy.flags[1:0] == 3 && hdr.rla_ack.children == 0)
                    || (hdr.canopy.flags[1:0] == 2
                        && hdr.rla_ack.children != 128w1 << (bit<8>)hdr.rla_ack.number)) {
                meta.merge.outcome = feedback_t.malformed;
            } else if (sound == 0 || passed > RLA_REACH) {
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
