#ifndef CANOPY_ASSIST_SUPPRESSED_P4
#define CANOPY_ASSIST_SUPPRESSED_P4

#include "../include/checksum.p4"

// A word of what UDP's checksum covers changes, and the checksum with it (RFC 1624, equation 3).
control replace_in_sum(inout udp_t udp, in bit<16> old, in bit<16> new) {
    apply {
        if (udp.checksum != 0) {
            bit<32> sum = (bit<32>)(~udp.checksum) + (bit<32>)(~old);
            sum = (bit<32>)FOLDED(sum) + (bit<32>)new;
            udp.checksum = ~FOLDED(sum);
            if (udp.checksum == 0) {
                udp.checksum = 0xffff;
            }
        }
    } // apply
} // replace_in_sum

// Tells receivers, in data of TFMCC, VLMCC and Arbor, that feedback is suppressed here, so that they need not be patient. The
// UDP checksum follows (m' - m is the flag, for type and flags are one word of it).
control mark_suppressed(inout headers_t hdr) {
    apply {
        if (FLAG_OF(hdr, BIT_SUPPRESSED) == 0) {
            hdr.canopy.flags = hdr.canopy.flags | FLAG(BIT_SUPPRESSED);
            if (hdr.udp.checksum != 0) {
                bit<32> sum = (bit<32>)(~hdr.udp.checksum) + (bit<32>)FLAG(BIT_SUPPRESSED);
                hdr.udp.checksum = ~FOLDED(sum);
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
        }
    } // apply
} // mark_suppressed

#endif
