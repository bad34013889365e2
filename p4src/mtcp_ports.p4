#ifndef CANOPY_MTCP_PORTS_P4
#define CANOPY_MTCP_PORTS_P4

#include "mtcp_state.p4"

// May this port's feedback be merged now? `known`: it speaks for the same children as before.
//
// A port whose children change is taken anew; one whose children change again within MTCP_CHANGE_US has several neighbours
// behind it whose feedback nobody merged (two receivers on a host, a switch that forwards plainly): then its feedback passes
// for that long. A NACK of one of the children of a merging switch changes nothing.
control admit_port(in headers_t hdr, inout metadata_t meta) {
    apply {
        bit<128> children;
        mtcp_changes_t changes;
        mtcp_children.read(children, meta.merge.cell);
        mtcp_changes.read(changes, meta.merge.cell);
        if (GENERATION_OF(changes) != meta.merge.generation) {
            changes = meta.merge.generation ++ 48w0 ++ 48w0;
        }
        meta.merge.known = 0;
        meta.merge.admitted = 0;
        if (meta.now < PLAIN_UNTIL_OF(changes)) {
            meta.merge.outcome = feedback_t.shared_port;
        } else if ((meta.merge.ports & meta.ingress_bit) == 0) {
            meta.merge.admitted = 1;
            meta.merge.outcome = feedback_t.first;
        } else if (children == hdr.feedback.children) {
            meta.merge.known = 1;
            meta.merge.admitted = 1;
        } else if (hdr.canopy.type == MTCP_NACK && (hdr.feedback.children & ~children) == 0) {
            meta.merge.outcome = feedback_t.nack;
        } else if (CHANGED_AT_OF(changes) != 0 && meta.now - CHANGED_AT_OF(changes) < MTCP_CHANGE_US) {
            meta.merge.ports = meta.merge.ports & ~meta.ingress_bit;
            meta.merge.outcome = feedback_t.shared_port;
            mtcp_changes.write(meta.merge.cell, meta.merge.generation ++ meta.now ++ (meta.now + MTCP_CHANGE_US));
        } else {
            meta.merge.admitted = 1;
            meta.merge.outcome = feedback_t.first;
            mtcp_changes.write(meta.merge.cell, meta.merge.generation ++ meta.now ++ 48w0);
        }
    } // apply
} // admit_port

// Stores what the neighbour says. `stale`: it has said more before; `again`: it says what it last said.
control store_feedback(in headers_t hdr, inout metadata_t meta) {
    apply {
        mtcp_windows_t windows;
        bit<512> sack;
        mtcp_windows.read(windows, meta.merge.cell);
        mtcp_sacks.read(sack, meta.merge.cell);
        meta.merge.stale = 0;
        meta.merge.again = 0;
        meta.merge.own_sack = hdr.feedback.sack;
        if (meta.merge.known == 1) {
            if ((int<32>)(hdr.feedback.cumulative - CUMULATIVE_OF(windows)) < 0) {
                meta.merge.stale = 1;
            } else if (hdr.feedback.cumulative == CUMULATIVE_OF(windows)) {
                if ((hdr.feedback.sack & ~sack) == 0) {
                    meta.merge.again = 1;
                }
                meta.merge.own_sack = hdr.feedback.sack | sack;     // an older packet may have overtaken
            }
        }
        if (meta.merge.stale == 0) {
            mtcp_windows.write(meta.merge.cell, hdr.feedback.cumulative ++ hdr.feedback.min_cwnd
                               ++ hdr.feedback.max_twnd ++ hdr.feedback.window);
            mtcp_children.write(meta.merge.cell, hdr.feedback.children);
            mtcp_holders.write(meta.merge.cell, hdr.feedback.holders);
            mtcp_sacks.write(meta.merge.cell, meta.merge.own_sack);
            if (meta.merge.known == 0) {
                meta.merge.ports = meta.merge.ports | meta.ingress_bit;
                mtcp_nacks.write(meta.merge.cell, 0);
            }
        }
    } // apply
} // store_feedback

#endif
