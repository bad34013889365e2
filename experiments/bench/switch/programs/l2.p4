// A learning Ethernet switch: a digest for each unknown source, flooding for each unknown destination.
#include "ethernet.p4"

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

struct seen_t {
    mac_t  source;
    port_t port;
}

parser L2Parser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control L2Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action learn() {
        digest<seen_t>(1, { hdr.ethernet.source, standard.ingress_port });
    }
    table sources {
        key = {
            hdr.ethernet.source: exact;
            standard.ingress_port: exact;
        }
        actions = { learn; NoAction; }
        const default_action = learn();
        size = 4096;
        support_timeout = true;
    }
    action forward(port_t port) {
        standard.egress_spec = port;
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }
    table destinations {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; flood; }
        default_action = flood(1);
        size = 4096;
    }
    apply {
        sources.apply();
        destinations.apply();
    }
}

control L2Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == standard.ingress_port) {
            mark_to_drop(standard);
        }
    }
}

control L2Deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(L2Parser(), NoChecksum(), L2Ingress(), L2Egress(), NoChecksum(), L2Deparser()) main;
