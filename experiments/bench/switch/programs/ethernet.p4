// What the benchmark's programs share: Ethernet, and no checksums.
#ifndef ETHERNET_P4
#define ETHERNET_P4

#include <core.p4>
#include <v1model.p4>

typedef bit<48> mac_t;
typedef bit<9> port_t;

header ethernet_t {
    mac_t   destination;
    mac_t   source;
    bit<16> ethertype;
}

#endif
