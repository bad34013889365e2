// In-band telemetry: probes are UDP datagrams to port 7777, and each switch on the way writes into them who it is and
// what they met there.
#include "network.p4"

const bit<8>  PROTOCOL_UDP = 17;
const bit<16> PROBE_PORT = 7777;
const bit<8>  MOST_HOPS = 8;

header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> bytes;
    bit<16> checksum;
}

// Begins a probe's payload; as many hops follow, the last one first.
header probe_t {
    bit<8> hops;
}

header hop_t {
    bit<16> switch_id;
    bit<16> port;
    bit<32> queue_packets;  // ahead of it when it came
    bit<32> queue_us;       // that it waited
}

const bit<16> HOP_BYTES = 12;

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    probe_t    probe;
    hop_t[8]   hops;
}

struct metadata_t {
    bit<8> left;
}

parser TelemetryParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                       inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.header_words, hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.destination_port) {
            PROBE_PORT: parse_probe;
            default: accept;
        }
    }
    state parse_probe {
        packet.extract(hdr.probe);
        meta.left = hdr.probe.hops;
        transition select(hdr.probe.hops) {
            0: accept;
            1 .. 8: parse_hop;
            default: accept;
        }
    }
    state parse_hop {
        packet.extract(hdr.hops.next);
        meta.left = meta.left - 1;
        transition select(meta.left) {
            0: accept;
            default: parse_hop;
        }
    }
}

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5, CHECKSUM_FIELDS(hdr.ipv4), hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control TelemetryIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Route() route;
    apply {
        route.apply(hdr.ethernet, hdr.ipv4, standard);
    }
}

control TelemetryEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action write_hop(bit<16> switch_id) {
        hdr.hops.push_front(1);
        hdr.hops[0].setValid();
        hdr.hops[0].switch_id = switch_id;
        hdr.hops[0].port = (bit<16>)standard.egress_port;
        hdr.hops[0].queue_packets = (bit<32>)standard.enq_qdepth;
        hdr.hops[0].queue_us = standard.deq_timedelta;
        hdr.probe.hops = hdr.probe.hops + 1;
        hdr.ipv4.total_bytes = hdr.ipv4.total_bytes + HOP_BYTES;
        hdr.udp.bytes = hdr.udp.bytes + HOP_BYTES;
        hdr.udp.checksum = 0;  // none, which IPv4 allows
    }
    table identity {
        actions = { write_hop; }
        default_action = write_hop(0);
    }
    apply {
        if (hdr.probe.isValid() && hdr.probe.hops < MOST_HOPS) {
            identity.apply();
        }
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5, CHECKSUM_FIELDS(hdr.ipv4), hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control TelemetryDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TelemetryParser(), VerifyChecksums(), TelemetryIngress(), TelemetryEgress(), UpdateChecksums(),
         TelemetryDeparser()) main;
