#ifndef CANOPY_MULTICAST_SHARED_PORTS_P4
#define CANOPY_MULTICAST_SHARED_PORTS_P4

#include "../include/metadata.p4"

// A port with several hosts behind it, on a bridge or an unmanaged switch: one host's leave says nothing of the others. So
// it is told to the controller, which asks them (RFC 3376 6.4.2) and, when they had their time to answer, sends the leave
// again (packet-out, mode `last`). That one holds, unless somebody at the port has reported in between.
//
// `leaving` has the ports of a slot whose others are being asked. A leave sets its port's bit, a join clears it.
@name(".leaving")
register<port_bitmap_t>(MAX_SLOTS) leaving;

control hear_shared_port(in metadata_t meta, in slot_t slot, out bit<1> waits, out bit<1> asks) {
    port_bitmap_t shared = 0;

    action set_shared(port_bitmap_t shared_ports) {
        shared = shared_ports;
    }

    @name(".shared")
    table shared_ports_lookup {
        actions = { set_shared; NoAction; }
        default_action = NoAction;
    }

    apply {
        waits = 0;
        asks = 0;
        shared_ports_lookup.apply();
        if ((shared & meta.ingress_bit) != 0) {
            port_bitmap_t before;
            port_bitmap_t after;
            leaving.read(before, (bit<32>)slot);
            after = before & ~meta.ingress_bit;
            if (meta.request == request_t.leave) {
                if (meta.last == 0) {
                    waits = 1;
                    after = before | meta.ingress_bit;
                    if (after != before) {
                        asks = 1;
                    }
                } else if (after == before) {
                    waits = 1;  // somebody reported since
                }
            }
            leaving.write((bit<32>)slot, after);
        }
    } // apply
} // hear_shared_port

#endif
