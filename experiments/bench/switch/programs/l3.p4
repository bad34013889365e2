// An IPv4 router: longest prefix match, next hop's MAC address, TTL, and the header checksum verified and updated.
#include "ipv4.p4"

control L3Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action discard() {
        mark_to_drop(standard);
    }
    action route(bit<32> next_hop, port_t port) {
        meta.next_hop = next_hop;
        standard.egress_spec = port;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    table routes {
        key = { hdr.ipv4.destination: lpm; }
        actions = { route; discard; }
        default_action = discard();
        size = 16384;
    }
    action rewrite(mac_t mac) {
        hdr.ethernet.destination = mac;
    }
    table next_hops {
        key = { meta.next_hop: exact; }
        actions = { rewrite; discard; }
        default_action = discard();
        size = 4096;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 1 && standard.checksum_error == 0) {
            if (routes.apply().hit) {
                next_hops.apply();
            }
        } else {
            discard();
        }
    }
}

control L3Egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action rewrite_source(mac_t mac) {
        hdr.ethernet.source = mac;
    }
    action discard() {
        mark_to_drop(standard);
    }
    table interfaces {
        key = { standard.egress_port: exact; }
        actions = { rewrite_source; discard; }
        default_action = discard();
        size = 512;
    }
    apply {
        interfaces.apply();
    }
}

V1Switch(Ipv4Parser(), VerifyIpv4(), L3Ingress(), L3Egress(), UpdateIpv4(), Ipv4Deparser()) main;
