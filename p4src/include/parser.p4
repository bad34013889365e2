#ifndef CANOPY_INCLUDE_PARSER_P4
#define CANOPY_INCLUDE_PARSER_P4

#include "heads.p4"
#include "metadata.p4"

#define INSTANCE_INGRESS_CLONE 1    // simple_switch's PKT_INSTANCE_TYPE_INGRESS_CLONE
#define INSTANCE_RESUBMIT      6    // simple_switch's PKT_INSTANCE_TYPE_RESUBMIT

parser canopy_parser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.instance_type) {
            INSTANCE_RESUBMIT: resubmitted;     // ingress_port, from_cpu, now and the cursor were kept
            default: received;
        }
    }

    state received {
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
            packet_out_mode_t.last: received_by_proxy;
            default: accept;    // the rest is payload, whatever it is
        }
    }

    state received_by_proxy {
        meta.ingress_port = hdr.packet_out.port;
        transition ethernet;
    }

    state resubmitted {
        transition select(meta.from_cpu) {
            1: from_controller_again;
            default: ethernet;
        }
    }

    state from_controller_again {
        packet.extract(hdr.packet_out);
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

    // A wrong version or header length stops here; forwarding/ipv4.p4 names the reason.
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): ipv4_payload;
            (4, 6..15): ipv4_options;
            default: accept;
        }
    }

    state ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>)hdr.ipv4.ihl - 5) << 5);
        transition ipv4_payload;
    }

    // IGMP to a unicast address (mtrace) is routed like any packet.
    state ipv4_payload {
        transition select(hdr.ipv4.protocol, hdr.ipv4.fragment_offset, hdr.ipv4.destination) {
            (IP_PROTOCOL_IGMP, 0, MULTICAST_NET &&& MULTICAST_MASK): igmp;
            (IP_PROTOCOL_UDP, 0, _): udp;
            default: accept;
        }
    }

    // Looks at what may be a packet that switches help, and takes apart only feedback that asks for it and data of TFMCC,
    // VLMCC and Arbor that does. A datagram that is too short to be looked at is none of them: canopy.p4 forgives the error.
    state udp {
        transition select(PACKET_KIND) {
            EITHER_KIND(mtcp, data, 0): mtcp_data;
            EITHER_KIND(mtcp, ack, FLAG(MTCP_BIT_MERGED)): mtcp_feedback_length;
            EITHER_KIND(mtcp, ack, FLAG(MTCP_BIT_MERGE)): mtcp_feedback_length;
            EITHER_KIND(mtcp, nack, FLAG(MTCP_BIT_MERGED)): mtcp_feedback_length;
            EITHER_KIND(mtcp, nack, FLAG(MTCP_BIT_MERGE)): mtcp_feedback_length;
            EITHER_KIND(mtcp, repair, FLAG(MTCP_BIT_MERGE)): mtcp_repair;
            EITHER_KIND(mtcp, probe, 0): mtcp_probe;
            KIND(mtcp, abort, 0): mtcp_abort;
            EITHER_KIND(rla, data, FLAG(RLA_BIT_ASSIST)): rla_data;
            EITHER_KIND(rla, ack, FLAG(RLA_BIT_MERGED)): rla_ack_length;
            EITHER_KIND(rla, ack, FLAG(RLA_BIT_MERGE)): rla_ack_length;
            EITHER_KIND(rla, ack, FLAG(RLA_BIT_PASS)): rla_ack_length;
            KIND(rla, abort, 0): rla_abort;
            EITHER_KIND(tfmcc, data, FLAG(BIT_ASSIST)): tfmcc_data;
            EITHER_KIND(tfmcc, report, FLAG(BIT_MAY_SUPPRESS)): tfmcc_report_length;
            KIND(tfmcc, join_ack, 0): tfmcc_join_ack;
            EITHER_KIND(vlmcc, data, FLAG(BIT_ASSIST)): vlmcc_data;
            EITHER_KIND(vlmcc, challenge, FLAG(BIT_MAY_SUPPRESS)): vlmcc_challenge_length;
            EITHER_KIND(arbor, told_data, FLAG(BIT_ASSIST)): arbor_told_data;
            EITHER_KIND(arbor, report, FLAG(BIT_MAY_SUPPRESS)): arbor_report_length;
            EITHER_KIND(arbor, blocks, FLAG(BIT_MAY_SUPPRESS)): arbor_blocks_length;
            KIND(arbor, join, FLAG(BIT_MAY_SUPPRESS)): arbor_join_length;
            KIND(arbor, welcome, FLAG(BIT_MAY_SUPPRESS)): arbor_join_length;
            default: accept;
        }
    }

    state mtcp_data {
        data_head_t head = packet.lookahead<data_head_t>();
        meta.assisted.kind = assisted_t.mtcp_data;
        meta.assisted.row = MTCP_ROW(head.session);
        meta.assisted.session = head.session;
        meta.assisted.value = head.seq;
        transition accept;
    }

    // Its UDP header is taken apart, for copies of it have other destinations.
    state mtcp_repair {
        repair_head_t head = packet.lookahead<repair_head_t>();
        packet.extract(hdr.udp);
        meta.assisted.kind = assisted_t.mtcp_repair;
        meta.assisted.session = head.session;
        meta.assisted.value = head.seq;
        meta.assisted.time_us = (bit<32>)head.repair_time_us;
        meta.assisted.headed = KIND_IS_HEADED(head.kind);
        transition accept;
    }

    state mtcp_probe {
        probe_head_t head = packet.lookahead<probe_head_t>();
        meta.assisted.kind = assisted_t.mtcp_probe;
        meta.assisted.session = head.session;
        meta.assisted.value = head.rtt_us;
        meta.assisted.headed = KIND_IS_HEADED(head.kind);
        transition accept;
    }

    state mtcp_abort {
        packet_head_t head = packet.lookahead<packet_head_t>();
        meta.assisted.kind = assisted_t.mtcp_abort;
        meta.assisted.session = head.session;
        transition accept;
    }

    state mtcp_feedback_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(MTCP_FEEDBACK_UDP_BYTES, mtcp_feedback)
            default: accept;
        }
    }

    state mtcp_feedback {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.feedback);
        meta.assisted.kind = assisted_t.mtcp_feedback;
        meta.assisted.neighbour = hdr.ethernet.source;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state hop {
        packet.extract(hdr.seal);
        packet.extract(hdr.hop);
        meta.assisted.headed = 1;
        transition accept;
    }

    state rla_data {
        data_head_t head = packet.lookahead<data_head_t>();
        meta.assisted.kind = assisted_t.rla_data;
        meta.assisted.row = RLA_ROW(head.session);
        meta.assisted.session = head.session;
        meta.assisted.value = head.seq;
        transition accept;
    }

    state rla_abort {
        packet_head_t head = packet.lookahead<packet_head_t>();
        meta.assisted.kind = assisted_t.rla_abort;
        meta.assisted.session = head.session;
        transition accept;
    }

    state rla_ack_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(RLA_ACK_UDP_BYTES, rla_ack)
            default: accept;
        }
    }

    state rla_ack {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.rla_ack);
        meta.assisted.kind = assisted_t.rla_ack;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state tfmcc_data {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.tfmcc_data);
        meta.assisted.kind = assisted_t.tfmcc_data;
        meta.assisted.headed = VERSION_IS_HEADED(hdr.canopy.version);
        transition accept;
    }

    state tfmcc_report_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(TFMCC_REPORT_UDP_BYTES, tfmcc_report)
            default: accept;
        }
    }

    state tfmcc_report {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.tfmcc_report);
        meta.assisted.kind = assisted_t.tfmcc_report;
        meta.assisted.session = hdr.canopy.session;
        meta.assisted.neighbour = hdr.ethernet.source;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state tfmcc_join_ack {
        join_ack_head_t head = packet.lookahead<join_ack_head_t>();
        meta.assisted.kind = assisted_t.tfmcc_join_ack;
        meta.assisted.session = head.session;
        meta.assisted.value = head.receiver;
        meta.assisted.row = head.echo_time_us[31:0];
        transition accept;
    }

    state vlmcc_data {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.vlmcc_data);
        meta.assisted.kind = assisted_t.vlmcc_data;
        meta.assisted.headed = VERSION_IS_HEADED(hdr.canopy.version);
        transition accept;
    }

    state vlmcc_challenge_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(VLMCC_CHALLENGE_UDP_BYTES, vlmcc_challenge)
            default: accept;
        }
    }

    state vlmcc_challenge {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.vlmcc_challenge);
        meta.assisted.kind = assisted_t.vlmcc_challenge;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state arbor_told_data {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.arbor_told_data);
        meta.assisted.kind = assisted_t.arbor_told_data;
        meta.assisted.headed = VERSION_IS_HEADED(hdr.canopy.version);
        transition accept;
    }

    state arbor_report_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(ARBOR_REPORT_UDP_BYTES, arbor_report)
            default: accept;
        }
    }

    state arbor_report {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.arbor_report);
        meta.assisted.kind = assisted_t.arbor_report;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state arbor_blocks_length {
        transition select(PACKET_VERSION, UDP_LENGTH, hdr.ipv4.total_length) {
            EITHER_LENGTH(ARBOR_BLOCKS_UDP_BYTES, arbor_blocks)
            default: accept;
        }
    }

    state arbor_blocks {
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.arbor_blocks);
        meta.assisted.kind = assisted_t.arbor_blocks;
        transition select(hdr.canopy.version) {
            HEADED_VERSION: hop;
            default: accept;
        }
    }

    state arbor_join_length {
        transition select(UDP_LENGTH, hdr.ipv4.total_length) {
            (ARBOR_JOIN_UDP_BYTES, ARBOR_JOIN_UDP_BYTES + IPV4_BYTES): arbor_join;
            default: accept;
        }
    }

    state arbor_join {
        meta.assisted.neighbour = hdr.ethernet.source;
        packet.extract(hdr.udp);
        packet.extract(hdr.canopy);
        packet.extract(hdr.arbor_join);
        meta.assisted.kind = assisted_t.arbor_join;
        transition accept;
    }

    // The first pass leaves the records in the payload, where the message's checksum covers them.
    state igmp {
        packet.extract(hdr.igmp);
        transition select(meta.cursor.passes, hdr.igmp.type) {
            (0, _): accept;
            (_, igmp_type_t.report_v3): igmp_record;
            default: accept;
        }
    }

    state igmp_record {
        packet.advance((bit<32>)meta.cursor.offset << 3);
        packet.extract(hdr.record);
        transition select(hdr.record.number_of_sources, meta.cursor.group_done, hdr.record.type) {
            (0, _, _): accept;
            (_, 1, _): igmp_source;
            (_, _, record_type_t.is_in): igmp_source;
            (_, _, record_type_t.allow): igmp_source;
            (_, _, record_type_t.block): igmp_source;
            default: accept;
        }
    }

    state igmp_source {
        packet.advance((bit<32>)meta.cursor.source << 5);
        packet.extract(hdr.source);
        transition accept;
    }
}

#endif
