#ifndef CANOPY_MULTICAST_UPSTREAM_P4
#define CANOPY_MULTICAST_UPSTREAM_P4

#include "../include/metadata.p4"

// The number of the lowest bit of a bitmap that is set, by halves.
control lowest_bit(in port_bitmap_t ports, out bit<8> number) {
    apply {
        port_bitmap_t left = ports;
        number = 0;
        if (left[127:0] == 0) {
            number = number + 128;
            left = left >> 128;
        }
        if (left[63:0] == 0) {
            number = number + 64;
            left = left >> 64;
        }
        if (left[31:0] == 0) {
            number = number + 32;
            left = left >> 32;
        }
        if (left[15:0] == 0) {
            number = number + 16;
            left = left >> 16;
        }
        if (left[7:0] == 0) {
            number = number + 8;
            left = left >> 8;
        }
        if (left[3:0] == 0) {
            number = number + 4;
            left = left >> 4;
        }
        if (left[1:0] == 0) {
            number = number + 2;
            left = left >> 2;
        }
        if (left[0:0] == 0) {
            number = number + 1;
        }
    } // apply
} // lowest_bit

// Tells one of the ports in meta.cursor.pending: a clone to it becomes a report in egress (write_report). The others wait
// for the next pass, for a pass makes one clone.
control report_upstream(inout metadata_t meta) {
    apply {
        bit<8> place;
        lowest_bit.apply(meta.cursor.pending, place);
        meta.cursor.pending = meta.cursor.pending & ~PORT_BIT(place);

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
        clone_preserving_field_list(CloneType.I2E, (bit<32>)place + 1, FIELDS_REPORT);  // a port's session has its number
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
