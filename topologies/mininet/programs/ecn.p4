// ECN marking (RFC 3168): a router that marks packets which met a long queue, so that their senders slow down before
// any packet is lost.
#include "network.p4"

// RFC 3168, section 5: the sender of a packet understands marks (ECT), or a router has marked it (CE).
const bit<2> ECT_1 = 1;
const bit<2> ECT_0 = 2;
const bit<2> CONGESTION_EXPERIENCED = 3;

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {}

parser EcnParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control VerifyChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5, CHECKSUM_FIELDS(hdr.ipv4), hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control EcnIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Route() route;
    apply {
        route.apply(hdr.ethernet, hdr.ipv4, standard);
    }
}

control EcnEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    // The queue is in front of egress: its length upon the packet's arrival is known here.
    action mark_from(bit<19> packets) {
        if (standard.enq_qdepth >= packets) {
            hdr.ipv4.ecn = CONGESTION_EXPERIENCED;
        }
    }
    table marking {
        actions = { mark_from; }
        default_action = mark_from(10);
    }
    apply {
        if (hdr.ipv4.isValid() && (hdr.ipv4.ecn == ECT_0 || hdr.ipv4.ecn == ECT_1)) {
            marking.apply();
        }
    }
}

control UpdateChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.header_words == 5, CHECKSUM_FIELDS(hdr.ipv4), hdr.ipv4.checksum,
                        HashAlgorithm.csum16);
    }
}

control EcnDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(EcnParser(), VerifyChecksums(), EcnIngress(), EcnEgress(), UpdateChecksums(), EcnDeparser()) main;
