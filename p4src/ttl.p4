#ifndef CANOPY_TTL_P4
#define CANOPY_TTL_P4

#include "headers.p4"

// One hop: TTL and, with it, the header's checksum (RFC 1624, equation 3: m - m' is 0x0100).
control decrement_ttl(inout ipv4_t ipv4) {
    apply {
        bit<32> sum = (bit<32>)(~ipv4.checksum) + 32w0xfeff;
        ipv4.checksum = ~(sum[15:0] + sum[31:16]);
        ipv4.ttl = ipv4.ttl - 1;
    } // apply
} // decrement_ttl

#endif
