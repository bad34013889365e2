// One table of each kind of match, which every packet is looked up in, for the cost of many entries. An entry does what
// a miss does, so that only the look-ups differ between a switch with empty tables and one with full ones.
#include "ipv4.p4"

control TablesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action mark(bit<8> tos) {
        hdr.ipv4.tos = tos;
    }
    table exact_match {
        key = { hdr.ipv4.source: exact; }
        actions = { mark; }
        default_action = mark(0);
        size = 131072;
    }
    action forward(port_t port) {
        standard.egress_spec = port;
    }
    table lpm_match {
        key = { hdr.ipv4.destination: lpm; }
        actions = { forward; }
        default_action = forward(2);
        size = 131072;
    }
    action prioritise(bit<3> priority) {
        standard.priority = priority;
    }
    table ternary_match {
        key = {
            hdr.ipv4.source: ternary;
            hdr.ipv4.destination: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.source: ternary;
            hdr.ports.destination: ternary;
        }
        actions = { prioritise; }
        default_action = prioritise(0);
        size = 16384;
    }
    apply {
        exact_match.apply();
        lpm_match.apply();
        ternary_match.apply();
    }
}

control TablesEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

V1Switch(Ipv4Parser(), VerifyIpv4(), TablesIngress(), TablesEgress(), UpdateIpv4(), Ipv4Deparser()) main;
