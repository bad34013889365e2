// What a switch chip could take of Canopy: replication with joins, and minima of RLA's acknowledgments, with one access of a
// packet to each register, a pair of words (docs/hardware.md). The rest is canopy.p4's. P4_16, v1model.

#include <core.p4>
#include <v1model.p4>

#include "include/constants.p4"
#include "include/headers.p4"
#include "include/metadata.p4"
#include "include/checksum.p4"
#include "forwarding/switch_config.p4"
#include "forwarding/packet_io.p4"
#include "forwarding/arp.p4"
#include "forwarding/ipv4.p4"
#include "forwarding/unicast.p4"
#include "multicast/replication.p4"
#include "multicast/upstream.p4"
#include "rmt/groups.p4"
#include "rmt/minima.p4"
#include "include/deparser.p4"

#define INSTANCE_INGRESS_CLONE 1    // simple_switch's PKT_INSTANCE_TYPE_INGRESS_CLONE
#define UDP_LENGTH  packet.lookahead<bit<48>>()[15:0]
#define PACKET_KIND packet.lookahead<bit<96>>()[31:0]   // version, protocol, type, flags
#define RLA(TYPE, FLAGS) \
    (CANOPY_VERSION ++ (bit<8>)protocol_t.rla ++ (bit<8>)rla_type_t.TYPE ++ (bit<8>)(FLAGS)) \
    &&& (24w0xffffff ++ (bit<8>)(FLAGS))

// A packet's head up to its session and number.
struct head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
    bit<32> seq;
}

parser canopy_parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        meta.ingress_port = standard_metadata.ingress_port;
        meta.now = standard_metadata.ingress_global_timestamp;
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }

    state from_controller {
        packet.extract(hdr.packet_out);
        meta.from_cpu = 1;
        transition select(hdr.packet_out.mode) {
            packet_out_mode_t.receive: received_by_proxy;
            default: accept;
        }
    }

    state received_by_proxy {
        meta.ingress_port = hdr.packet_out.port;
        transition ethernet;
    }

    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_ARP: arp;
            default: accept;
        }
    }

    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    // Of options there is one word, which IGMP's Router Alert takes.
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): ipv4_payload;
            (4, 6): ipv4_option;
            default: accept;
        }
    }

    state ipv4_option {
        packet.extract(hdr.router_alert);
        transition ipv4_payload;
    }

    state ipv4_payload {
        transition select(hdr.ipv4.protocol, hdr.ipv4.fragment_offset, hdr.ipv4.destination) {
            (IP_PROTOCOL_IGMP, 0, MULTICAST_NET &&& MULTICAST_MASK): igmp;
            (IP_PROTOCOL_UDP, 0, _): udp;
            default: accept;
        }
    }

    // A report of one record with one source or none is taken apart; others go to the processor.
    state igmp {
        packet.extract(hdr.igmp);
        transition select(hdr.igmp.type, hdr.igmp.body) {
            (igmp_type_t.report_v3, 1 &&& 0xffff): record;
            default: accept;
        }
    }

    state record {
        packet.extract(hdr.record);
        transition select(hdr.record.number_of_sources) {
            1: source;
            default: accept;
        }
    }

    state source {
        packet.extract(hdr.source);
        transition accept;
    }

    state udp {
        transition select(PACKET_KIND) {
            RLA(data, FLAG(RLA_BIT_ASSIST)): rla_data;
            RLA(ack, FLAG(RLA_BIT_MERGED)): rla_ack_length;
            RLA(ack, FLAG(RLA_BIT_MERGE)): rla_ack_length;
            RLA(ack, FLAG(RLA_BIT_PASS)): rla_ack_length;
            RLA(abort, 0): rla_abort;
            default: accept;
        }
    }

    state rla_data {
        head_t head = packet.lookahead<head_t>();
        meta.assisted.kind = assisted_t.rla_data;
        meta.assisted.session = head.session;
        meta.assisted.value = head.seq;
        transition accept;
    }

    state rla_abort {
        meta.assisted.kind = assisted_t.rla_abort;
        meta.assisted.session = packet.lookahead<bit<128>>()[31:0];
        transition accept;
    }

    state rla_ack_length {
        transition select(UDP_LENGTH, hdr.ipv4.total_length) {
            (RLA_ACK_UDP_BYTES, RLA_ACK_UDP_BYTES + IPV4_BYTES): rla_ack;
            default: accept;
        }
    }

    state rla_ack {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.rla_ack);
        meta.assisted.kind = assisted_t.rla_ack;
        meta.assisted.session = hdr.canopy.session;
        transition accept;
    }
}

control verify_reduced(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(
            hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source,
              hdr.ipv4.destination, hdr.router_alert.option },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.record.isValid() && hdr.record.auxiliary_length == 0 && hdr.record.number_of_sources <= 1,
            { hdr.igmp.type, hdr.igmp.code, hdr.igmp.body, hdr.record.type, hdr.record.auxiliary_length,
              hdr.record.number_of_sources, hdr.record.group, hdr.source.address },
            hdr.igmp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.igmp.isValid() && !hdr.record.isValid()
                && (hdr.igmp.type == igmp_type_t.report_v1 || hdr.igmp.type == igmp_type_t.report_v2
                    || hdr.igmp.type == igmp_type_t.leave_v2),
            { hdr.igmp.type, hdr.igmp.code, hdr.igmp.body },
            hdr.igmp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.rla_ack.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            RLA_ACK_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
    } // apply
} // verify_reduced

control count_drop(in metadata_t meta) {
    @name(".drops")
    counter(32, CounterType.packets_and_bytes) drops;

    apply {
        drops.count((bit<32>)(bit<8>)meta.drop_reason);
    } // apply
} // count_drop

control canopy_ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        mark_to_drop(standard_metadata);
        switch_config_lookup.apply(meta);

        if (standard_metadata.parser_error != error.NoError
                && !(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5 && hdr.ipv4.protocol == IP_PROTOCOL_UDP)) {
            meta.drop_reason = drop_reason_t.parse_error;
        } else if (meta.configured == 0) {
            meta.drop_reason = drop_reason_t.not_configured;
        } else if (hdr.packet_out.isValid() && hdr.packet_out.mode != packet_out_mode_t.receive) {
            send_packet_out.apply(hdr, meta, standard_metadata);
        } else if (hdr.ipv4.isValid()) {
            check_ipv4.apply(hdr, meta, standard_metadata);
            if (meta.drop_reason != drop_reason_t.none) {
                // dropped below
            } else if (IS_MULTICAST(hdr.ipv4.destination)) {
                process_group.apply(hdr, meta, standard_metadata);
            } else {
                port_t bit_number = meta.ingress_port - 1;
                meta.ingress_bit = PORT_BIT((bit<8>)bit_number);
                route_unicast.apply(hdr, meta, standard_metadata);
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
        if (meta.copies != 0) {
            count_copy.apply(meta, standard_metadata);
            if (meta.report.type != 0) {
                write_report.apply(hdr, meta);
            }
        } else if (standard_metadata.egress_port == CPU_PORT) {
            add_packet_in.apply(hdr, meta);
        } else if (standard_metadata.instance_type == INSTANCE_INGRESS_CLONE) {
            hdr.ethernet.source = meta.switch_mac;
            hdr.ethernet.destination = meta.summary_to;
            decrement_ttl.apply(hdr.ipv4);
            write_minima.apply(hdr, meta.summary);
            meta.merged = 1;
        }
    } // apply
} // canopy_egress

V1Switch(canopy_parser(), verify_reduced(), canopy_ingress(), canopy_egress(), canopy_update_checksum(),
         canopy_deparser()) main;
