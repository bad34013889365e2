#ifndef CANOPY_ASSIST_SUPPRESSED_P4
#define CANOPY_ASSIST_SUPPRESSED_P4

#include "../include/checksum.p4"

// Tells receivers, in data of TFMCC and VLMCC, that feedback is suppressed here, so that they need not be patient. The UDP
// checksum follows (RFC 1624, equation 3: m' - m is the flag, for type and flags are one word of it).
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
