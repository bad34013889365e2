#ifndef CANOPY_SUPPRESSED_P4
#define CANOPY_SUPPRESSED_P4

#include "metadata.p4"

// Tells receivers, in data of TFMCC and VLMCC, that feedback is suppressed here, so that they need not be patient. The UDP
// checksum follows (RFC 1624, equation 3: m - m' is -0x0020, for type and flags are one word of it).
control mark_suppressed(inout headers_t hdr) {
    apply {
        if (hdr.canopy.flags[5:5] == 0) {
            hdr.canopy.flags = hdr.canopy.flags | FLAG_SUPPRESSED;
            if (hdr.udp.checksum != 0) {
                bit<32> sum = (bit<32>)(~hdr.udp.checksum) + 32w0x0020;
                hdr.udp.checksum = ~(sum[15:0] + sum[31:16]);
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
        }
    } // apply
} // mark_suppressed

#endif
