#ifndef CANOPY_MULTICAST_GROUP_MEMBERS_P4
#define CANOPY_MULTICAST_GROUP_MEMBERS_P4

#include "membership.p4"
#include "shared_ports.p4"

// One word per slot: the tick, the upstream ports that were told of members in it, the members that refreshed in it.
typedef bit<(32 + 2 * MAX_PORTS)> refresh_t;
#define TICK_OF(word) word[2 * MAX_PORTS + 31:2 * MAX_PORTS]
#define TOLD_OF(word) word[2 * MAX_PORTS - 1:MAX_PORTS]
#define SEEN_OF(word) word[MAX_PORTS - 1:0]

@name(".refreshes")
register<refresh_t>(MAX_SLOTS) refreshes;

// A join or leave of the port `meta.ingress_bit`: changes the slot's members, says in `targets` which upstream ports are
// to be told, and what members_changed is to say.
//
// An upstream neighbour must hear that there is a member on any port but its own. With m the members before a join by p:
// if m is empty, all upstream ports but p; if m is one other port q, then q itself, which did not hear of its own
// membership; else all have heard. A leave mirrors it with the members after. And each upstream port hears once per
// tick that members are still there, or its state would expire.
control update_members(inout metadata_t meta, in group_route_t route, out port_bitmap_t targets) {
    apply {
        bit<32> epoch = meta.tick >> 2;
        membership_t word;
        port_bitmap_t recent;
        port_bitmap_t older;
        membership.read(word, (bit<32>)route.slot);
        age_membership.apply(word, epoch, recent, older);
        port_bitmap_t before = recent | older;
        port_bitmap_t others = before & ~meta.ingress_bit;
        bit<1> was_member = 0;
        if ((before & meta.ingress_bit) != 0) {
            was_member = 1;
        }

        // Upstream ports that hear of the first member or the last one's leave.
        port_bitmap_t affected = 0;
        if (others == 0) {
            affected = route.upstream & ~meta.ingress_bit;
        } else if ((others & (others - 1)) == 0) {
            affected = route.upstream & others;
        }

        bit<1> waits;   // a leave, for what others at the port say
        bit<1> asks;    // and nobody has asked them yet
        hear_shared_port.apply(meta, route.slot, waits, asks);

        change_t change = change_t.none;
        targets = 0;
        if (waits == 1) {
            meta.members = before;
            if (asks == 1 && was_member == 1) {
                change = change_t.leaving;
            }
        } else if (meta.request == request_t.join) {
            meta.members = before | meta.ingress_bit;
            membership.write((bit<32>)route.slot, epoch ++ (recent | meta.ingress_bit) ++ older);

            refresh_t refresh;
            refreshes.read(refresh, (bit<32>)route.slot);
            port_bitmap_t told = TOLD_OF(refresh);
            port_bitmap_t seen = SEEN_OF(refresh);
            if (TICK_OF(refresh) != meta.tick) {
                told = 0;
                seen = 0;
            }
            targets = route.upstream & ~meta.ingress_bit & ~told;
            if (was_member == 0) {
                targets = targets | affected;
                change = change_t.join;
            } else if ((seen & meta.ingress_bit) == 0) {
                change = change_t.refresh;
            }
            told = told | targets;
            seen = seen | meta.ingress_bit;
            refreshes.write((bit<32>)route.slot, meta.tick ++ told ++ seen);
        } else {
            // The word keeps its epoch: what it has aged stays aged.
            meta.members = others;
            membership.write((bit<32>)route.slot, EPOCH_OF(word) ++ (RECENT_OF(word) & ~meta.ingress_bit)
                ++ (OLDER_OF(word) & ~meta.ingress_bit));
            if (was_member == 1) {
                targets = affected;
                change = change_t.leave;
            }
        }

        meta.change.change = (bit<8>)change;
        meta.change.slot = (bit<16>)route.slot;
        meta.change.source = meta.source;
        meta.change.ports = meta.ingress_bit;
        meta.change.members = meta.members;
    } // apply
} // update_members

#endif
