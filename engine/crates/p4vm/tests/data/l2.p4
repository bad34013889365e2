// Forwards Ethernet frames by destination address; what is not known goes to a multicast group.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ethertype;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {}

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
    action forward(bit<9> port) {
        standard.egress_spec = port;
    }
    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }
    action discard() {
        mark_to_drop(standard);
    }
    table destinations {
        key = { hdr.ethernet.destination : exact; }
        actions = { forward; flood; discard; }
        default_action = flood(1);
        size = 4096;
        support_timeout = true;
    }
    apply {
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
        } else {
            destinations.apply();
        }
    }
}

control L2Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (standard.egress_port == standard.ingress_port && standard.instance_type != 0) {
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
