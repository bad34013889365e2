#ifndef CANOPY_RMT_GROUPS_P4
#define CANOPY_RMT_GROUPS_P4

#include "../forwarding/ipv4.p4"
#include "../multicast/group_routes.p4"
#include "../multicast/igmp_unknown.p4"
#include "../multicast/one_hop.p4"
#include "members.p4"

// What an IGMP message asks for, if that is one thing: as igmp.p4, without further passes. What asks for more goes to the
// processor.
control read_report(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action join_source() {
        meta.request = request_t.join;
        meta.group = hdr.record.group;
        meta.source = hdr.source.address;
    }

    action leave_source() {
        meta.request = request_t.leave;
        meta.group = hdr.record.group;
        meta.source = hdr.source.address;
    }

    action join_group() {
        meta.request = request_t.join;
        meta.group = hdr.record.group;
        meta.any_source = 1;
    }

    action leave_group() {
        meta.request = request_t.leave;
        meta.group = hdr.record.group;
        meta.any_source = 1;
    }

    action join_body() {
        meta.request = request_t.join;
        meta.group = hdr.igmp.body;
        meta.any_source = 1;
    }

    action leave_body() {
        meta.request = request_t.leave;
        meta.group = hdr.igmp.body;
        meta.any_source = 1;
    }

    action punt() {
        standard_metadata.egress_spec = CPU_PORT;
        meta.packet_in_reason = (bit<7>)packet_in_reason_t.igmp_query;
    }

    bit<8> record_type = 0;     // of a record that is there

    table message {
        key = {
            hdr.igmp.type        : exact @name("type");
            record_type          : exact @name("record_type");
            hdr.source.isValid() : exact @name("has_source");
        }
        actions = { join_source; leave_source; join_group; leave_group; join_body; leave_body; punt; }
        const default_action = punt();
        const entries = {
            (igmp_type_t.report_v1, 0, false)                     : join_body();
            (igmp_type_t.report_v2, 0, false)                     : join_body();
            (igmp_type_t.leave_v2, 0, false)                      : leave_body();
            (igmp_type_t.report_v3, record_type_t.is_in, true)    : join_source();
            (igmp_type_t.report_v3, record_type_t.allow, true)    : join_source();
            (igmp_type_t.report_v3, record_type_t.block, true)    : leave_source();
            (igmp_type_t.report_v3, record_type_t.to_in, false)   : leave_group();
            (igmp_type_t.report_v3, record_type_t.is_ex, false)   : join_group();
            (igmp_type_t.report_v3, record_type_t.to_ex, false)   : join_group();
        }
    }

    apply {
        if (hdr.record.isValid()) {
            record_type = hdr.record.type;
        }
        message.apply();
        if (!IS_MULTICAST(meta.group) || IS_LINK_LOCAL(meta.group)
                || (meta.any_source == 0
                    && (CLASS_OF(meta.source) == CLASS_D_E || NET_OF(meta.source) == NET_THIS
                        || NET_OF(meta.source) == NET_LOOPBACK))) {
            meta.request = request_t.none;
        }
    } // apply
} // read_report

// A packet to a group: data, or a report. Reports upstream leave as copies of the report to a multicast group, which egress
// rewrites.
control process_group(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    slot_members() of_group;        // a (*, G) and an (S, G) slot, of which data need both
    slot_members() of_source;
    note_in_tick() told;
    note_in_tick() seen;

    apply {
        port_t bit_number = meta.ingress_port - 1;
        meta.ingress_bit = PORT_BIT((bit<8>)bit_number);
        ports_t port_bit = meta.ingress_bit[31:0];
        ports_t joins = 0;
        ports_t leaves = 0;
        ports_t group_members = 0;
        ports_t source_members = 0;
        ports_t expired;
        bit<1> may_tell = 1;

        if (bit_number >= 32) {
            meta.drop_reason = drop_reason_t.bad_port;
        } else if (hdr.igmp.isValid()) {
            read_report.apply(hdr, meta, standard_metadata);
        } else if (hdr.ethernet.destination != (MULTICAST_MAC_PREFIX ++ hdr.ipv4.destination[22:0])) {
            meta.drop_reason = drop_reason_t.foreign_mac;
        } else if (IS_LINK_LOCAL(hdr.ipv4.destination)) {
            meta.drop_reason = drop_reason_t.link_local;
        } else {
            meta.request = request_t.data;
            meta.source = hdr.ipv4.source;
            meta.group = hdr.ipv4.destination;
        }

        if (meta.request != request_t.none) {
            look_up_group.apply(meta);
        }
        port_bitmap_t reach = ALL_PORTS;
        if (meta.request == request_t.join) {
            joins = port_bit;
        } else if (meta.request == request_t.leave) {
            leaves = port_bit;
        } else if (meta.request == request_t.data) {
            port_bitmap_t accept = meta.group_route.accept;
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
            }
        }

        if (meta.request != request_t.none && meta.drop_reason == drop_reason_t.none) {
            if (meta.group_route.valid == 1) {
                meta.slot = meta.group_route.slot;
                of_group.apply(meta, meta.slot, 1, joins, leaves, group_members, expired);
                if (meta.request == request_t.data && expired != 0) {
                    meta.change.change = (bit<8>)change_t.expire;
                    meta.change.ports = (port_bitmap_t)expired;
                    meta.change.slot = (bit<16>)meta.slot;
                    meta.change.members = (port_bitmap_t)group_members;
                    may_tell = 0;
                }
            }
            if (meta.source_route.valid == 1) {
                meta.slot = meta.source_route.slot;
                of_source.apply(meta, meta.slot, may_tell, joins, leaves, source_members, expired);
                if (meta.request == request_t.data && expired != 0 && may_tell == 1) {
                    meta.change.change = (bit<8>)change_t.expire;
                    meta.change.ports = (port_bitmap_t)expired;
                    meta.change.source = meta.source;
                    meta.change.slot = (bit<16>)meta.slot;
                    meta.change.members = (port_bitmap_t)source_members;
                }
            }
            ports_t before = group_members | source_members;
            meta.members = (port_bitmap_t)before;

            if (meta.request == request_t.data) {
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
            } else if ((meta.source_route.valid | meta.group_route.valid) == 0) {
                if (meta.request == request_t.join) {
                    tell_unknown_group.apply(meta);
                }
            } else {
                // As group_members.p4.
                ports_t upstream = meta.source_route.upstream[31:0];
                if (meta.any_source == 1) {
                    upstream = meta.group_route.upstream[31:0];
                }
                ports_t away = upstream & ~port_bit;
                ports_t others = before & ~port_bit;
                ports_t less = others - 1;
                bit<1> was_member = 0;
                if ((before & port_bit) != 0) {
                    was_member = 1;
                }
                ports_t affected = 0;
                if (others == 0) {
                    affected = away;
                } else if ((others & less) == 0) {
                    affected = upstream & others;
                }
                ports_t targets = 0;
                change_t change = change_t.none;
                if (meta.request == request_t.join) {
                    ports_t told_before;
                    ports_t seen_before;
                    told.apply(meta.slot, meta.tick, away, told_before);
                    seen.apply(meta.slot, meta.tick, port_bit, seen_before);
                    meta.members = (port_bitmap_t)(before | port_bit);
                    targets = away & ~told_before;
                    if (was_member == 0) {
                        targets = targets | affected;
                        change = change_t.join;
                    } else if ((seen_before & port_bit) == 0) {
                        change = change_t.refresh;
                    }
                } else {
                    meta.members = (port_bitmap_t)others;
                    if (was_member == 1) {
                        targets = affected;
                        change = change_t.leave;
                    }
                }
                meta.change.change = (bit<8>)change;
                meta.change.slot = (bit<16>)meta.slot;
                meta.change.source = meta.source;
                meta.change.ports = meta.ingress_bit;
                meta.change.members = meta.members;
                meta.copies = (port_bitmap_t)targets;
                meta.report.group = meta.group;
                if (meta.any_source == 1) {
                    meta.report.type = (bit<8>)record_type_t.to_ex;
                    if (meta.request == request_t.leave) {
                        meta.report.type = (bit<8>)record_type_t.to_in;
                    }
                } else {
                    meta.report.source = meta.source;
                    meta.report.type = (bit<8>)record_type_t.allow;
                    if (meta.request == request_t.leave) {
                        meta.report.type = (bit<8>)record_type_t.block;
                    }
                }
            }
            if (meta.change.change != (bit<8>)change_t.none) {
                meta.change.group = meta.group;
                meta.change.timestamp = meta.now;
                digest<members_changed>(1, meta.change);
            }
        }
    } // apply
} // process_group

#endif
