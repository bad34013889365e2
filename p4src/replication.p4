#ifndef CANOPY_REPLICATION_P4
#define CANOPY_REPLICATION_P4

#include "membership.p4"

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
            standard_metadata.mcast_grp = meta.copies;
        } else {
            meta.filter = 1;
            standard_metadata.mcast_grp = FLOOD_GROUP;
            if (meta.counted == 1) {
                slot_group.apply();
            }
        }
    } // apply
} // replicate

// Data of a group: who gets a copy. Never the port it came from.
control forward_group(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> epoch = meta.tick >> 2;
        port_bitmap_t accept = meta.group_route.accept;
        port_bitmap_t members;
        port_bitmap_t expired;
        bit<1> may_tell = 1;

        if (meta.source_route.valid == 1) {
            accept = meta.source_route.accept;
        }

        if ((meta.source_route.valid | meta.group_route.valid) == 0) {
            meta.drop_reason = drop_reason_t.unknown_group;
        } else if ((accept & meta.ingress_bit) == 0) {
            meta.drop_reason = drop_reason_t.wrong_port;
        } else if (hdr.ipv4.ttl <= 1) {
            meta.drop_reason = drop_reason_t.ttl_expired;
        } else {
            if (meta.group_route.valid == 1) {
                meta.slot = meta.group_route.slot;
                read_members.apply(meta.slot, epoch, 1, members, expired);
                if (expired != 0) {
                    meta.change.change = (bit<8>)change_t.expire;
                    meta.change.slot = (bit<16>)meta.slot;
                    meta.change.ports = expired;
                    meta.change.members = members;
                    may_tell = 0;   // the other slot's expiry waits for the next packet
                }
                meta.members = members;
            }
            if (meta.source_route.valid == 1) {
                meta.slot = meta.source_route.slot;
                read_members.apply(meta.slot, epoch, may_tell, members, expired);
                if (expired != 0) {
                    meta.change.change = (bit<8>)change_t.expire;
                    meta.change.slot = (bit<16>)meta.slot;
                    meta.change.source = meta.source;
                    meta.change.ports = expired;
                    meta.change.members = members;
                }
                meta.members = meta.members | members;
            }
            meta.copies = meta.members & ~meta.ingress_bit;
            if (meta.copies == 0) {
                meta.drop_reason = drop_reason_t.no_members;
            } else {
                meta.counted = 1;
                hdr.ethernet.source = meta.switch_mac;
                decrement_ttl.apply(hdr.ipv4);
            }
        }
    } // apply
} // forward_group

// In egress, for each copy: the filter and the counter of its slot and port.
control count_copy(in metadata_t meta, inout standard_metadata_t standard_metadata) {
    // index: slot * 16 + port - 1
    @name(".slot_port")
    counter(MAX_SLOTS * MAX_PORTS, CounterType.packets_and_bytes) slot_port;

    apply {
        port_t port = standard_metadata.egress_port - 1;
        if (meta.filter == 1 && ((meta.copies >> (bit<8>)port) & 1) == 0) {
            mark_to_drop(standard_metadata);
        } else if (meta.counted == 1) {
            slot_port.count(((bit<32>)meta.slot << 4) | (bit<32>)port);
        }
    } // apply
} // count_copy

#endif
