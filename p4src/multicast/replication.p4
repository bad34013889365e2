#ifndef CANOPY_MULTICAST_REPLICATION_P4
#define CANOPY_MULTICAST_REPLICATION_P4

#include "../include/metadata.p4"

// Ports to a multicast group. On a switch of up to 12 ports the group's id is the bitmap. A larger one uses the slot's own
// group while that is the members exactly; while the controller has not caught up yet, all ports, and egress drops
// the copies that are not wanted.
control replicate(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action set_slot_group(bit<16> multicast_group, port_bitmap_t ports) {
        if (ports == meta.members) {
            standard_metadata.mcast_grp = multicast_group;
        }
    }

    @name(".slot_group")
    table slot_group {
        key = { meta.slot : exact @name("slot"); }
        actions = { set_slot_group; @defaultonly NoAction; }
        default_action = NoAction;
        size = MAX_SLOTS;
    }

    apply {
        if (meta.bitmap_groups == 1) {
            standard_metadata.mcast_grp = (bit<16>)meta.copies;
        } else {
            meta.filter = 1;
            standard_metadata.mcast_grp = FLOOD_GROUP;
            if (meta.counted == 1) {
                slot_group.apply();
            }
        }
    } // apply
} // replicate

// In egress, for each copy: the filter and the counter of its slot and port.
control count_copy(in metadata_t meta, inout standard_metadata_t standard_metadata) {
    // index: COUNTER_CELL
    @name(".slot_port")
    counter(MAX_SLOTS * MAX_PORTS, CounterType.packets_and_bytes) slot_port;

    apply {
        port_t port = standard_metadata.egress_port - 1;
        if (meta.filter == 1 && (meta.copies & PORT_BIT((bit<8>)port)) == 0) {
            mark_to_drop(standard_metadata);
        } else if (meta.counted == 1) {
            slot_port.count(COUNTER_CELL((bit<32>)meta.slot, (bit<32>)port));
        }
    } // apply
} // count_copy

#endif
