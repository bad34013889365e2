#ifndef CANOPY_MULTICAST_GROUP_ROUTES_P4
#define CANOPY_MULTICAST_GROUP_ROUTES_P4

#include "../include/metadata.p4"

// (source, group) and (any source, group) to a slot. Data looks up both, for a host that joined the group is to get what
// a source-specific tree brings too; a report looks up the one that it names.
control look_up_group(inout metadata_t meta) {
    action set_source_route(slot_t slot, port_bitmap_t upstream, port_bitmap_t accept) {
        meta.source_route.valid = 1;
        meta.source_route.slot = slot;
        meta.source_route.upstream = upstream;
        meta.source_route.accept = accept;
    }

    action set_group_route(slot_t slot, port_bitmap_t upstream, port_bitmap_t accept) {
        meta.group_route.valid = 1;
        meta.group_route.slot = slot;
        meta.group_route.upstream = upstream;
        meta.group_route.accept = accept;
    }

    @name(".route_sg")
    table route_sg {
        key = {
            meta.source : exact @name("source");
            meta.group  : exact @name("group");
        }
        actions = { set_source_route; @defaultonly NoAction; }
        default_action = NoAction;
        size = MAX_SLOTS;
    }

    @name(".route_g")
    table route_g {
        key = { meta.group : exact @name("group"); }
        actions = { set_group_route; @defaultonly NoAction; }
        default_action = NoAction;
        size = MAX_SLOTS;
    }

    apply {
        if (meta.any_source == 0) {
            route_sg.apply();
        }
        if (meta.any_source == 1 || meta.request == request_t.data) {
            route_g.apply();
        }
    } // apply
} // look_up_group

#endif
