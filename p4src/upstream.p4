#ifndef CANOPY_UPSTREAM_P4
#define CANOPY_UPSTREAM_P4

#include "membership.p4"

// One word per slot: the tick, the upstream ports that were told of members in it, the members that refreshed in it.
typedef bit<64> refresh_t;
#define TICK_OF(word) word[63:32]
#define TOLD_OF(word) word[31:16]
#define SEEN_OF(word) word[15:0]

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

        change_t change = change_t.none;
        targets = 0;
        if (meta.request == request_t.join) {
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

// Tells one of the ports in meta.cursor.pending: a clone to it becomes a report in egress (write_report). The others wait
// for the next pass, for a pass makes one clone.
control report_upstream(inout metadata_t meta) {
    port_bitmap_t target;

    action clone_to(bit<32> session) {
        clone_preserving_field_list(CloneType.I2E, session, FIELDS_REPORT);
    }

    // The clone session of a port has the port's number.
    @name(".report_session")
    table report_session {
        key = { target : exact @name("port_bit"); }
        actions = { clone_to; NoAction; }
        const default_action = NoAction;
        const entries = {
            0x0001 : clone_to(1);
            0x0002 : clone_to(2);
            0x0004 : clone_to(3);
            0x0008 : clone_to(4);
            0x0010 : clone_to(5);
            0x0020 : clone_to(6);
            0x0040 : clone_to(7);
            0x0080 : clone_to(8);
            0x0100 : clone_to(9);
            0x0200 : clone_to(10);
            0x0400 : clone_to(11);
            0x0800 : clone_to(12);
            0x1000 : clone_to(13);
            0x2000 : clone_to(14);
            0x4000 : clone_to(15);
            0x8000 : clone_to(16);
        }
    }

    apply {
        target = meta.cursor.pending & -meta.cursor.pending;    // the lowest port
        meta.cursor.pending = meta.cursor.pending & ~target;

        meta.report.group = meta.group;
        meta.report.source = 0;
        if (meta.any_source == 1) {
            if (meta.request == request_t.join) {
                meta.report.type = (bit<8>)record_type_t.to_ex;
            } else {
                meta.report.type = (bit<8>)record_type_t.to_in;
            }
        } else {
            meta.report.source = meta.source;
            if (meta.request == request_t.join) {
                meta.report.type = (bit<8>)record_type_t.allow;
            } else {
                meta.report.type = (bit<8>)record_type_t.block;
            }
        }
        report_session.apply();
    } // apply
} // report_upstream

// In egress: turns the clone into an IGMPv3 report with one record, from 0.0.0.0 as RFC 3376 4.2.13 allows.
control write_report(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.packet_out.setInvalid();
        hdr.arp.setInvalid();
        hdr.ipv4_options.setInvalid();

        hdr.ethernet.destination = IGMPV3_ROUTERS_MAC;
        hdr.ethernet.source = meta.switch_mac;

        hdr.ipv4.ihl = 6;
        hdr.ipv4.tos = 0xc0;    // internetwork control, RFC 3376 4
        hdr.ipv4.total_length = 40;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = 0;
        hdr.ipv4.fragment_offset = 0;
        hdr.ipv4.ttl = 1;
        hdr.ipv4.source = 0;
        hdr.ipv4.destination = IGMPV3_ROUTERS;
        hdr.router_alert.setValid();
        hdr.router_alert.option = ROUTER_ALERT;

        hdr.igmp.type = (bit<8>)igmp_type_t.report_v3;
        hdr.igmp.code = 0;
        hdr.igmp.body = 1;
        hdr.record.setValid();
        hdr.record.type = meta.report.type;
        hdr.record.auxiliary_length = 0;
        hdr.record.number_of_sources = 0;
        hdr.record.group = meta.report.group;
        if (meta.report.source != 0) {
            hdr.record.number_of_sources = 1;
            hdr.source.setValid();
            hdr.source.address = meta.report.source;
            hdr.ipv4.total_length = 44;
        }
        truncate((bit<32>)hdr.ipv4.total_length + 14);  // without what follows in the report that caused this one
    } // apply
} // write_report

#endif
