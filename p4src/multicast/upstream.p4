#ifndef CANOPY_MULTICAST_UPSTREAM_P4
#define CANOPY_MULTICAST_UPSTREAM_P4

#include "../include/metadata.p4"

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
        truncate((bit<32>)hdr.ipv4.total_length + (bit<32>)ETHERNET_BYTES);  // no more of the report that caused it
    } // apply
} // write_report

#endif
