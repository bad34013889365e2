#ifndef CANOPY_FORWARDING_UNICAST_P4
#define CANOPY_FORWARDING_UNICAST_P4

#include "ipv4.p4"

// Longest prefix match to a port and the neighbour's MAC address.
control route_unicast(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    bit<1> forwarded = 0;

    action forward(port_t port, mac_address_t mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.destination = mac;
        forwarded = 1;
    }

    // To the controller, unchanged: the switch's own addresses.
    action punt() {
        standard_metadata.egress_spec = CPU_PORT;
        meta.packet_in_reason = (bit<7>)packet_in_reason_t.route;
    }

    action route_drop() {
        meta.drop_reason = drop_reason_t.route_drop;
    }

    action no_route() {
        meta.drop_reason = drop_reason_t.no_route;
    }

    @name(".ipv4_lpm")
    table ipv4_lpm {
        key = { hdr.ipv4.destination : lpm @name("destination"); }
        actions = { forward; punt; route_drop; @defaultonly no_route; }
        default_action = no_route;
        size = 4096;
    }

    apply {
        if (hdr.ethernet.destination != meta.switch_mac) {
            meta.drop_reason = drop_reason_t.foreign_mac;
        } else {
            ipv4_lpm.apply();
            if (forwarded == 1) {
                if (hdr.ipv4.ttl <= 1) {
                    meta.drop_reason = drop_reason_t.ttl_expired;
                } else {
                    hdr.ethernet.source = meta.switch_mac;
                    decrement_ttl.apply(hdr.ipv4);
                }
            }
        }
    } // apply
} // route_unicast

#endif
