#ifndef CANOPY_MULTICAST_GROUP_DATA_P4
#define CANOPY_MULTICAST_GROUP_DATA_P4

#include "../forwarding/ipv4.p4"
#include "membership.p4"
#include "one_hop.p4"

// Data of a group: who gets a copy. Never the port it came from.
control forward_group(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> epoch = meta.tick >> 2;
        port_bitmap_t accept = meta.group_route.accept;
        port_bitmap_t members;
        port_bitmap_t expired;
        bit<1> may_tell = 1;
        port_bitmap_t reach;
        one_hop.apply(hdr.ipv4.ttl, meta.ingress_bit, reach);

        if (meta.source_route.valid == 1) {
            accept = meta.source_route.accept;
        }

        if ((meta.source_route.valid | meta.group_route.valid) == 0) {
            meta.drop_reason = drop_reason_t.unknown_group;
        } else if ((accept & meta.ingress_bit) == 0) {
            meta.drop_reason = drop_reason_t.wrong_port;
        } else if (reach == 0) {
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
            meta.copies = meta.members & ~meta.ingress_bit & reach;
            if (meta.copies == 0) {
                meta.drop_reason = drop_reason_t.no_members;
            } else {
                meta.counted = 1;
                hdr.ethernet.source = meta.switch_mac;
                if (hdr.ipv4.ttl > 1) {
                    decrement_ttl.apply(hdr.ipv4);
                }
            }
        }
    } // apply
} // forward_group

#endif
