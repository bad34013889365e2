#ifndef CANOPY_ASSIST_MTCP_P4
#define CANOPY_ASSIST_MTCP_P4

#include "../sessions.p4"
#include "delays.p4"
#include "nacks.p4"
#include "ports.p4"
#include "repairs.p4"
#include "slots.p4"
#include "summary.p4"

// Do the children that a packet names fit who sends it? A host speaks for itself alone; only a switch speaks for several.
control check_children(in headers_t hdr, in metadata_t meta, out bit<1> sound) {
    apply {
        children_t own = CHILD_BIT((bit<8>)hdr.feedback.number);
        sound = 0;
        if (hdr.feedback.number < FEEDBACK_CHILDREN) {
            if (FLAG_OF(hdr, MTCP_BIT_MERGED) == 0) {
                if (hdr.feedback.children == own && hdr.feedback.holders == own) {
                    sound = 1;
                }
            } else if ((hdr.feedback.children & own) != 0 && hdr.feedback.holders != 0
                       && (hdr.feedback.holders & ~hdr.feedback.children) == 0) {
                sound = 1;
            }
        }
    } // apply
} // check_children

// An ACK or NACK that may be merged, once its slot is entered. It passes as it is, becomes a summary, or is absorbed.
control merge_feedback(inout headers_t hdr, inout other_port_t other, inout metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply {
        mtcp_ports.read(meta.merge.port, meta.merge.cell);
        aggregate_windows.apply(hdr, other, meta);
        admit_port.apply(hdr, meta);
        bit<1> asks = 0;
        bit<1> part = 0;
        if (meta.merge.admitted == 1) {
            if ((meta.summary.children & hdr.feedback.children) != 0) {
                // Another port speaks for the same child.
                meta.merge.admitted = 0;
                meta.merge.ports = meta.merge.ports & ~meta.merge.ingress_bit;
                meta.merge.outcome = feedback_t.shared_port;
            } else {
                store_sack.apply(hdr, meta);
                if (meta.merge.stale == 1) {
                    meta.merge.admitted = 0;
                    meta.merge.outcome = feedback_t.stale;
                } else {
                    measure_delay.apply(hdr, meta);
                    store_port.apply(hdr, meta);
                    asks = 1;
                }
            }
        } else if (meta.merge.outcome == feedback_t.part) {
            meta.merge.own_sack = hdr.feedback.sack;
            asks = 1;
            part = 1;
        }
        meta.merge.repeat = 0;
        meta.merge.known_below = 0;
        if (asks == 1 && hdr.canopy.type == mtcp_type_t.nack) {
            weigh_nack.apply(hdr, part, meta);
        }
        if (asks == 1 && (meta.merge.known == 0 || hdr.canopy.type == mtcp_type_t.nack)) {
            store_address.apply(hdr, meta);
        }

        if (part == 1) {
            if (meta.merge.repeat == 1) {
                meta.merge.outcome = feedback_t.repeated;
                mark_to_drop(standard_metadata);
            }
        } else if (meta.merge.admitted == 0 || meta.merge.known == 0) {
            // passes: `first`, or as above
        } else if (hdr.canopy.type == mtcp_type_t.nack && meta.merge.repeat == 0) {
            meta.merge.outcome = feedback_t.nack;
        } else if (meta.merge.others == 0) {
            meta.merge.outcome = feedback_t.alone;
        } else {
            meta.summary.children = meta.summary.children | hdr.feedback.children;
            aggregate_sacks.apply(hdr, other, meta);
            decide_summary.apply(meta);
            if (meta.merge.repeat == 1 && REPEATS_OF(meta.merge.sent) != 0xffff) {
                meta.merge.sent = (REPEATS_OF(meta.merge.sent) + 1) ++ SENT_AT_OF(meta.merge.sent);
            }
            bit<1> whole = 0;   // the summary says all that this packet says
            if (hdr.feedback.cumulative == meta.summary.cumulative && meta.merge.own_sack == meta.summary.sack) {
                whole = 1;
            }
            if (meta.merge.repaired == 1 && whole == 0) {
                // The child's retransmission window runs on it.
                meta.merge.outcome = feedback_t.repair;
                mtcp_sent.write(meta.merge.slot, meta.merge.sent);
            } else if (meta.merge.repaired == 1 || meta.merge.emit == 1) {
                meta.merge.outcome = feedback_t.summary;
                write_summary.apply(hdr, meta);
            } else {
                meta.merge.outcome = feedback_t.absorbed;
                if (meta.merge.repeat == 1) {
                    meta.merge.outcome = feedback_t.repeated;
                }
                mtcp_sent.write(meta.merge.slot, meta.merge.sent);
                mark_to_drop(standard_metadata);
            }
        }
        if (meta.merged == 0 && meta.merge.known_below > hdr.feedback.repeats && meta.merge.outcome != feedback_t.alone) {
            hdr.feedback.repeats = meta.merge.known_below;
            meta.merged = 1;
        }
        leave_slot.apply(meta);
    } // apply
} // merge_feedback

// MTCP's packets that go up or down between a parent and a child, after they were routed: probes tell how long a round trip
// takes, feedback is merged, and repairs are copied. docs/assist.md says what a summary means and why.
control assist_mtcp(inout headers_t hdr, inout other_port_t other, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.assisted.kind == assisted_t.mtcp_repair) {
            copy_repair.apply(hdr, other, meta, standard_metadata);
        } else if (meta.assisted.kind == assisted_t.mtcp_probe) {
            note_probe.apply(hdr, meta, standard_metadata);
        } else if (meta.assisted.kind == assisted_t.mtcp_abort) {
            note_leave.apply(hdr, meta);
        } else if (FLAG_OF(hdr, MTCP_BIT_MERGED) == 1 && (meta.switch_ports & meta.merge.ingress_bit) == 0) {
            meta.drop_reason = drop_reason_t.forged_feedback;
        } else {
            bit<1> sound;
            check_children.apply(hdr, meta, sound);
            if (sound == 0) {
                meta.merge.outcome = feedback_t.malformed;
            } else {
                bit<32> passed;
                check_range.apply(MTCP_ROW(hdr.canopy.session), hdr.canopy.session, hdr.feedback.cumulative,
                                  hdr.feedback.sack, passed, sound);
                if (sound == 0) {
                    meta.merge.outcome = feedback_t.out_of_range;
                } else {
                    enter_slot.apply(hdr, meta);
                    if (meta.merge.owned == 0) {
                        meta.merge.outcome = feedback_t.no_slot;
                    } else {
                        merge_feedback.apply(hdr, other, meta, standard_metadata);
                    }
                }
            }
        }
    } // apply
} // assist_mtcp

#endif
