#ifndef CANOPY_ASSIST_MTCP_SLOTS_P4
#define CANOPY_ASSIST_MTCP_SLOTS_P4

#include "state.p4"

// The slot of a session's parent agent. One that nobody used for FEEDBACK_IDLE_US is taken; while it is another's, there is
// none, and feedback passes as it is. A generation marks what cells of an earlier use no longer count.
control find_slot(in bit<32> session, in ipv4_address_t parent, inout metadata_t meta) {
    apply {
        mtcp_owner_t owner;
        hash(meta.merge.slot, HashAlgorithm.crc32, 32w0, { session, parent }, (bit<32>)MTCP_SLOTS);
        mtcp_owners.read(owner, meta.merge.slot);
        mtcp_slots.read(meta.merge.state, meta.merge.slot);
        meta.merge.owned = 0;
        if (owner == (7w0 ++ meta.assisted.headed ++ session ++ parent) && GENERATION_OF(meta.merge.state) != 0) {
            meta.merge.owned = 1;
        }
    } // apply
} // find_slot

// For feedback: takes the slot if need be, and lets its active time pass. That time runs with the clock while feedback
// comes, and stands still while all are quiet: a child is silent only while others answer to what has passed.
control enter_slot(in headers_t hdr, inout metadata_t meta) {
    apply {
        find_slot.apply(hdr.canopy.session, hdr.ipv4.destination, meta);
        bit<48> idle = meta.now - LAST_OF(meta.merge.state);
        bit<16> generation = GENERATION_OF(meta.merge.state);
        bit<32> active = ACTIVE_OF(meta.merge.state);
        meta.merge.ports = PORTS_OF(meta.merge.state);
        if (generation == 0 || idle > FEEDBACK_IDLE_US) {
            generation = generation + 1;
            if (generation == 0) {
                generation = 1;
            }
            meta.merge.ports = 0;
            meta.merge.owned = 1;
            active = 0;
            mtcp_owners.write(meta.merge.slot, 7w0 ++ meta.assisted.headed ++ hdr.canopy.session ++ hdr.ipv4.destination);
            mtcp_sent.write(meta.merge.slot, 0);
        } else if (idle < MTCP_GAP_US) {
            active = active + (bit<32>)idle;
        } else {
            active = active + (bit<32>)MTCP_GAP_US;
        }
        meta.merge.generation = generation;
        meta.merge.active = active;
        meta.merge.cell = CELL(meta.merge.slot, (bit<32>)(meta.ingress_port - 1));
    } // apply
} // enter_slot

control leave_slot(in metadata_t meta) {
    apply {
        mtcp_slots.write(meta.merge.slot,
                         meta.merge.generation ++ meta.merge.ports ++ meta.merge.active ++ meta.now);
    } // apply
} // leave_slot

#endif
