// Canopy: one sender's data to many receivers, over P4 switches. P4_16, v1model.
//
//                                  parser, checksums
//                                         |
//                                   switch_config
//                                         |
//       +-----------+-------------+-------+------------+--------------+
//       |           |             |                    |              |
//   packet-out  proxy ARP    unicast: checks,     multicast data     IGMP: one pass per
//       |           |        ipv4_lpm, TTL        |              record or source
//       |           |             |               +----- route_sg, route_g -----+
//       |           |             |               |                             |
//       |           |             |         membership (read)          membership (write),
//       |           |     assist_feedback  minus ingress port         refreshes, digest
//       |           |             |               |                             |
//       +-----------|-------------|-> replicate <-+               clone to an upstream port,
//       |           |             |       |                      resubmit for the next pass
//       v           v             v       v                             |
//  ------------------- replication engine and queues ---------------------------------------
//                                         |                             |
//                         egress filter, counter per slot    write_report (of our own)
//                                         |
//                                packet-in header, deparser

#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/metadata.p4"
#include "include/parser.p4"
#include "include/checksum.p4"
#include "forwarding/switch_config.p4"
#include "forwarding/packet_io.p4"
#include "forwarding/arp.p4"
#include "forwarding/ipv4.p4"
#include "forwarding/unicast.p4"
#include "multicast/groups.p4"
#include "multicast/replication.p4"
#include "hops/hops.p4"
#include "assist/assist.p4"
#include "include/deparser.p4"

// Every packet that ingress drops is counted under its reason (drop_reason_t).
control count_drop(in metadata_t meta) {
    @name(".drops")
    counter(32, CounterType.packets_and_bytes) drops;

    apply {
        drops.count((bit<32>)(bit<8>)meta.drop_reason);
    } // apply
} // count_drop

control canopy_ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        mark_to_drop(standard_metadata);    // a packet whose egress port is never set would go to port 0
        switch_config_lookup.apply(meta);

        if (standard_metadata.parser_error != error.NoError && meta.cursor.passes == 0
                && !(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && hdr.ipv4.protocol == IP_PROTOCOL_UDP)) {
            meta.drop_reason = drop_reason_t.parse_error;
        } else if (meta.configured == 0) {
            meta.drop_reason = drop_reason_t.not_configured;
        } else if (hdr.packet_out.isValid() && hdr.packet_out.mode != packet_out_mode_t.receive
                   && hdr.packet_out.mode != packet_out_mode_t.last) {
            send_packet_out.apply(hdr, meta, standard_metadata);
        } else if (hdr.ipv4.isValid()) {
            if (meta.cursor.passes == 0) {
                check_ipv4.apply(hdr, meta, standard_metadata);
            }
            if (meta.drop_reason != drop_reason_t.none) {
                // dropped below
            } else if (IS_MULTICAST(hdr.ipv4.destination)) {
                process_group.apply(hdr, meta, standard_metadata);
            } else {
                route_unicast.apply(hdr, meta, standard_metadata);
            }
            if (hdr.hop.isValid() && meta.drop_reason == drop_reason_t.none) {
                check_hop.apply(hdr, meta);
            }
            if (meta.assisted.kind != assisted_t.none && meta.drop_reason == drop_reason_t.none) {
                assist_feedback.apply(hdr, meta, standard_metadata);
            }
        } else if (hdr.arp.isValid()) {
            answer_arp.apply(hdr, meta, standard_metadata);
        } else if (hdr.ethernet.ethertype == ETHERTYPE_LLDP) {
            standard_metadata.egress_spec = CPU_PORT;
            meta.packet_in_reason = (bit<7>)packet_in_reason_t.lldp;
        } else {
            meta.drop_reason = drop_reason_t.ethertype;
        }

        if (meta.copies != 0) {
            replicate.apply(meta, standard_metadata);
        } else if (meta.drop_reason != drop_reason_t.none) {
            mark_to_drop(standard_metadata);
            count_drop.apply(meta);
        }
    } // apply
} // canopy_ingress

control canopy_egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        tell_queue.apply(hdr, meta, standard_metadata);
        if (meta.copies != 0) {
            count_copy.apply(meta, standard_metadata);
            if (meta.repair_port != 0 && standard_metadata.egress_port != meta.repair_port) {
                address_copy.apply(hdr, meta, standard_metadata);
            }
        } else if (standard_metadata.egress_port == CPU_PORT) {
            add_packet_in.apply(hdr, meta);
        } else if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            if (meta.summary_to != 0) {
                write_cloned_summary.apply(hdr, meta, standard_metadata);
            } else {
                write_report.apply(hdr, meta);
            }
        }
        if (hdr.hop.isValid()) {
            sign_hop.apply(hdr, meta, standard_metadata);
        }
    } // apply
} // canopy_egress

V1Switch(canopy_parser(), canopy_verify_checksum(), canopy_ingress(), canopy_egress(), canopy_update_checksum(),
         canopy_deparser()) main;
