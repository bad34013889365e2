#ifndef CANOPY_MULTICAST_ONE_HOP_P4
#define CANOPY_MULTICAST_ONE_HOP_P4

#include "../include/metadata.p4"

// How far a group's packet may go by its TTL. A router passes on nothing with a TTL of 1, which many programs send by
// default. With `lan` set, the switch's own hosts are one LAN: such a packet reaches those of them that are members, with
// the TTL that it has, and no other switch.
control one_hop(in bit<8> ttl, in port_bitmap_t ingress_bit, out port_bitmap_t reach) {
    port_bitmap_t ports = 0;

    action set_lan(port_bitmap_t lan_ports) {
        ports = lan_ports;
    }

    @name(".lan")
    table lan {
        actions = { set_lan; NoAction; }
        default_action = NoAction;
    }

    apply {
        reach = ALL_PORTS;
        if (ttl <= 1) {
            reach = 0;
            if (ttl == 1) {
                lan.apply();
                if ((ports & ingress_bit) != 0) {
                    reach = ports;
                }
            }
        }
    } // apply
} // one_hop

#endif
