#ifndef CANOPY_MULTICAST_GROUPS_P4
#define CANOPY_MULTICAST_GROUPS_P4

#include "group_data.p4"
#include "group_members.p4"
#include "group_routes.p4"
#include "igmp.p4"
#include "igmp_unknown.p4"
#include "upstream.p4"

// A packet to a group: data, or one pass of an IGMP message.
control process_group(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        port_t bit_number = meta.ingress_port - 1;
        meta.ingress_bit = PORT_BIT((bit<8>)bit_number);

        if (bit_number >= MAX_PORTS) {
            meta.drop_reason = drop_reason_t.bad_port;
        } else if (hdr.igmp.isValid()) {
            read_igmp.apply(hdr, meta, standard_metadata);
        } else if (hdr.ethernet.destination != (MULTICAST_MAC_PREFIX ++ hdr.ipv4.destination[22:0])) {
            meta.drop_reason = drop_reason_t.foreign_mac;
        } else if (IS_LINK_LOCAL(hdr.ipv4.destination)) {
            meta.drop_reason = drop_reason_t.link_local;
        } else {
            meta.request = request_t.data;
            meta.source = hdr.ipv4.source;
            meta.group = hdr.ipv4.destination;
        }

        if (hdr.packet_out.isValid() && hdr.packet_out.mode == packet_out_mode_t.last) {
            meta.last = 1;
        }
        if (meta.request != request_t.none) {
            look_up_group.apply(meta);
            if (meta.request == request_t.data) {
                forward_group.apply(hdr, meta);
            } else if (meta.cursor.pending == 0) {
                group_route_t route = meta.source_route;
                if (meta.any_source == 1) {
                    route = meta.group_route;
                }
                if (route.valid == 1) {
                    port_bitmap_t targets;
                    update_members.apply(meta, route, targets);
                    meta.cursor.pending = targets;
                } else if (meta.request == request_t.join) {
                    tell_unknown_group.apply(meta);
                }
            }
            tell_members_changed.apply(meta);
            if (meta.cursor.pending != 0) {
                report_upstream.apply(meta);
            }
        }
        if (hdr.igmp.isValid() && meta.drop_reason == drop_reason_t.none) {
            next_igmp_pass.apply(hdr, meta);
        }
    } // apply
} // process_group

#endif
