#ifndef CANOPY_MULTICAST_IGMP_P4
#define CANOPY_MULTICAST_IGMP_P4

#include "../include/metadata.p4"

// What one pass of an IGMP message asks for: meta.request, meta.group and meta.source.
//
// A version 1 or 2 message is one pass. Of a version 3 report the first pass verifies the checksum only; each later
// one takes one record or one source of it, where the cursor points.
control read_igmp(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action join_source() {
        meta.request = request_t.join;
        meta.source = hdr.source.address;
    }

    action leave_source() {
        meta.request = request_t.leave;
        meta.source = hdr.source.address;
    }

    action join_group() {
        meta.request = request_t.join;
        meta.any_source = 1;
    }

    action leave_group() {
        meta.request = request_t.leave;
        meta.any_source = 1;
    }

    // TO_IN ends any-source membership, and a source that is excluded is left: what the one neighbour of a port does
    // not want nobody there wants (RFC 3376 6.4 without the wait for others). Of shared ports: shared_ports.p4.
    @name(".igmp_record")
    table igmp_record {
        key = {
            hdr.record.type      : exact @name("type");
            hdr.source.isValid() : exact @name("has_source");
        }
        actions = { join_source; leave_source; join_group; leave_group; NoAction; }
        const default_action = NoAction;    // an unknown type is skipped: RFC 3376 4.2.12
        const entries = {
            (record_type_t.is_in, true)  : join_source();
            (record_type_t.allow, true)  : join_source();
            (record_type_t.to_in, false) : leave_group();
            (record_type_t.to_in, true)  : join_source();
            (record_type_t.is_ex, false) : join_group();
            (record_type_t.is_ex, true)  : leave_source();
            (record_type_t.to_ex, false) : join_group();
            (record_type_t.to_ex, true)  : leave_source();
            (record_type_t.block, true)  : leave_source();
        }
    }

    // Limits each port's reports, and with them digests and reports upstream. Green until the controller sets a rate.
    @name(".report_meter")
    meter(MAX_PORTS + 1, MeterType.packets) report_meter;   // index: port

    apply {
        bit<2> color = METER_GREEN;
        if (meta.cursor.passes == 0) {
            report_meter.execute_meter((bit<32>)meta.ingress_port, color);
        }
        // Records must lie inside the message, not only inside the frame.
        bit<32> message_length = (bit<32>)hdr.ipv4.total_length - ((bit<32>)hdr.ipv4.ihl << 2);

        if (color == METER_RED) {
            meta.drop_reason = drop_reason_t.igmp_rate;
        } else if (MORE_FRAGMENTS_OF(hdr.ipv4) == 1 || message_length < IGMP_BYTES) {
            meta.drop_reason = drop_reason_t.igmp_malformed;
        } else if (hdr.igmp.type == igmp_type_t.report_v3) {
            if (meta.cursor.passes != 0) {
                bit<32> record_end = 16 + (bit<32>)meta.cursor.offset
                    + (((bit<32>)hdr.record.number_of_sources + (bit<32>)hdr.record.auxiliary_length) << 2);
                if (standard_metadata.parser_error != error.NoError || record_end > message_length) {
                    meta.drop_reason = drop_reason_t.igmp_malformed;
                } else {
                    meta.group = hdr.record.group;
                    igmp_record.apply();
                }
            }
        } else if (hdr.igmp.type == igmp_type_t.report_v2 || hdr.igmp.type == igmp_type_t.report_v1) {
            meta.group = hdr.igmp.body;
            join_group();
        } else if (hdr.igmp.type == igmp_type_t.leave_v2) {
            meta.group = hdr.igmp.body;
            leave_group();
        } else if (hdr.igmp.type == igmp_type_t.query) {
            standard_metadata.egress_spec = CPU_PORT;
            meta.packet_in_reason = (bit<7>)packet_in_reason_t.igmp_query;
        } else {
            meta.drop_reason = drop_reason_t.igmp_type;
        }

        // Link-local groups are never routed, and neither is a source or group that no packet may carry.
        if (!IS_MULTICAST(meta.group) || IS_LINK_LOCAL(meta.group)
                || (meta.any_source == 0
                    && (CLASS_OF(meta.source) == CLASS_D_E || NET_OF(meta.source) == NET_THIS
                        || NET_OF(meta.source) == NET_LOOPBACK))) {
            meta.request = request_t.none;
        }
    } // apply
} // read_igmp

// Moves the cursor on and sends the report through ingress once more.
control next_igmp_pass(in headers_t hdr, inout metadata_t meta) {
    apply {
        bit<1> more = 0;
        if (meta.cursor.pending != 0) {
            more = 1;       // the same step again, for the next upstream port
        } else if (hdr.igmp.type == igmp_type_t.report_v3) {
            if (meta.cursor.passes != 0) {
                if (hdr.source.isValid()) {
                    meta.cursor.source = meta.cursor.source + 1;
                } else {
                    meta.cursor.group_done = 1;
                }
                if (meta.cursor.source == hdr.record.number_of_sources || hdr.record.type == 0
                        || hdr.record.type > (bit<8>)record_type_t.block) {
                    meta.cursor.record = meta.cursor.record + 1;
                    meta.cursor.offset = meta.cursor.offset + 8
                        + ((hdr.record.number_of_sources + (bit<16>)hdr.record.auxiliary_length) << 2);
                    meta.cursor.group_done = 0;
                    meta.cursor.source = 0;
                }
            }
            if (meta.cursor.record != hdr.igmp.body[15:0]) {
                more = 1;
            }
        }
        if (more == 1) {
            if (meta.cursor.passes == MAX_REPORT_PASSES) {
                meta.drop_reason = drop_reason_t.igmp_ignored;
            } else {
                meta.cursor.passes = meta.cursor.passes + 1;
                resubmit_preserving_field_list(FIELDS_RESUBMIT);
            }
        }
    } // apply
} // next_igmp_pass

#endif
