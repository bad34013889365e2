#ifndef CANOPY_ASSIST_MTCP_PORTS_P4
#define CANOPY_ASSIST_MTCP_PORTS_P4

#include "state.p4"

// May this port's feedback be merged now? `known`: it speaks for the same children as before.
//
// A port whose children change is taken anew; one whose children change again within MTCP_CHANGE_US has several neighbours
// behind it whose feedback nobody merged (two receivers on a host, a switch that forwards plainly): then its feedback passes
// for that long. What a merging switch below passes of one of its children (a NACK, the answer to a repair) changes nothing.
control admit_port(in headers_t hdr, inout metadata_t meta) {
    apply {
        mtcp_changes_t changes;
        mtcp_changes.read(changes, meta.merge.cell);
        if (GENERATION_OF(changes) != meta.merge.generation) {
            changes = meta.merge.generation ++ 48w0 ++ 48w0;
        }
        meta.merge.known = 0;
        meta.merge.admitted = 0;
        if (meta.now < PLAIN_UNTIL_OF(changes)) {
            meta.merge.outcome = feedback_t.shared_port;
        } else if ((meta.merge.ports & meta.merge.ingress_bit) == 0) {
            meta.merge.admitted = 1;
            meta.merge.outcome = feedback_t.first;
        } else if (CHILDREN_OF(meta.merge.port) == hdr.feedback.children) {
            meta.merge.known = 1;
            meta.merge.admitted = 1;
        } else if (FLAG_OF(hdr, MTCP_BIT_MERGED) == 0 && (hdr.feedback.children & ~CHILDREN_OF(meta.merge.port)) == 0) {
            meta.merge.outcome = feedback_t.part;
        } else if (CHANGED_AT_OF(changes) != 0 && meta.now - CHANGED_AT_OF(changes) < MTCP_CHANGE_US) {
            meta.merge.ports = meta.merge.ports & ~meta.merge.ingress_bit;
            meta.merge.outcome = feedback_t.shared_port;
            mtcp_changes.write(meta.merge.cell, meta.merge.generation ++ meta.now ++ (meta.now + MTCP_CHANGE_US));
        } else {
            meta.merge.admitted = 1;
            meta.merge.outcome = feedback_t.first;
            mtcp_changes.write(meta.merge.cell, meta.merge.generation ++ meta.now ++ 48w0);
        }
    } // apply
} // admit_port

// What the neighbour has. `stale`: it has told of more before; `again`: it has told of all this before.
control store_sack(in headers_t hdr, inout metadata_t meta) {
    apply {
        sack_word_t before;
        mtcp_sacks.read(before, meta.merge.cell);
        meta.merge.stale = 0;
        meta.merge.again = 0;
        meta.merge.own_sack = hdr.feedback.sack;
        if (meta.merge.known == 1) {
            if ((int<32>)(hdr.feedback.cumulative - SACK_START_OF(before)) < 0) {
                meta.merge.stale = 1;
            } else if (hdr.feedback.cumulative == SACK_START_OF(before)) {
                if ((hdr.feedback.sack & ~SACK_BITMAP_OF(before)) == 0) {
                    meta.merge.again = 1;
                }
                meta.merge.own_sack = hdr.feedback.sack | SACK_BITMAP_OF(before);    // an older packet may have overtaken
            }
        }
        if (meta.merge.stale == 0) {
            mtcp_sacks.write(meta.merge.cell, hdr.feedback.cumulative ++ meta.merge.own_sack);
        }
    } // apply
} // store_sack

// Where it can be reached.
control store_address(in headers_t hdr, in metadata_t meta) {
    apply {
        mtcp_addresses.write(meta.merge.cell, meta.merge.generation ++ meta.assisted.neighbour
                             ++ hdr.ipv4.source ++ hdr.udp.source_port);
    } // apply
} // store_address

// And all else that it says, once the delay was measured.
control store_port(in headers_t hdr, inout metadata_t meta) {
    apply {
        mtcp_ports.write(meta.merge.cell, hdr.feedback.children ++ hdr.feedback.holders ++ meta.merge.own_delays
                         ++ hdr.feedback.cumulative ++ hdr.feedback.min_cwnd ++ hdr.feedback.max_twnd
                         ++ hdr.feedback.window ++ meta.merge.own_heard);
        if (meta.merge.known == 0) {
            meta.merge.ports = meta.merge.ports | meta.merge.ingress_bit;
            mtcp_wants.write(meta.merge.cell, 0);
        }
    } // apply
} // store_port

#endif
