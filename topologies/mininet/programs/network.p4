// What the three programs share: Ethernet and IPv4 headers, their checksum, and a router's table.
#ifndef NETWORK_P4
#define NETWORK_P4

#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<9>  port_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;

header ethernet_t {
    mac_t   destination;
    mac_t   source;
    bit<16> ethertype;
}

// Without options.
header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

// The fields that IPv4's checksum covers.
#define CHECKSUM_FIELDS(ip) { ip.version, ip.header_words, ip.dscp, ip.ecn, ip.total_bytes, ip.identification, \
    ip.flags, ip.fragment_offset, ip.ttl, ip.protocol, ip.source, ip.destination }

// Forwarding as a router does it: the longest prefix gives the port and the next hop's MAC, and the TTL goes down.
control Route(inout ethernet_t ethernet, inout ipv4_t ipv4, inout standard_metadata_t standard) {
    action drop() {
        mark_to_drop(standard);
    }
    action forward(mac_t next_hop, port_t port) {
        standard.egress_spec = port;
        ethernet.source = ethernet.destination;
        ethernet.destination = next_hop;
        ipv4.ttl = ipv4.ttl - 1;
    }
    table routes {
        key = { ipv4.destination: lpm; }
        actions = { forward; drop; }
        default_action = drop();
        size = 1024;
    }
    apply {
        if (!ipv4.isValid() || ipv4.ttl <= 1 || standard.checksum_error == 1) {
            drop();
        } else {
            routes.apply();
        }
    }
}

#endif
