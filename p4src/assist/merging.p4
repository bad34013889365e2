#ifndef CANOPY_ASSIST_MERGING_P4
#define CANOPY_ASSIST_MERGING_P4

#include "../include/metadata.p4"

// What the merging of MTCP's and of RLA's acknowledgments share: a scan of ports and a bitmap of what is missing.
//
// Ports are added one by one, each by its own copy of the code. `other` belongs to whoever calls: p4c would give each copy
// variables of its own, which every packet would carry.
#define FOR_ALL_PORTS(DO) \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)

// Reach of SACK in powers of two. A shift can be 8 bits wide at most; a longer one takes its steps one by one.
const bool reach_is_512 = static_assert(SACK_BITS == 512, "shifts and searches here and in mtcp, rla are made for 512");
#define STEP_512_OF(distance) distance[9:9]
#define STEP_256_OF(distance) distance[8:8]
#define STEPS_BELOW_OF(distance) distance[7:0]

// What a port lacks of the packets from the aggregate's cumulative on. Shifted in are zeros: what is before a port's own
// cumulative it does not lack.
control add_missing(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.missing = ~(SACK_BITMAP_OF(other.sack) ++ 1w0);
        if (STEP_256_OF(other.ahead) == 1) {
            other.missing = other.missing << 256;
        }
        if (other.ahead < SACK_BITS) {
            meta.merge.missing = meta.merge.missing | (other.missing << STEPS_BELOW_OF(other.ahead));
        } else if (other.ahead == SACK_BITS) {
            meta.merge.missing = meta.merge.missing | LAST_MISSING;
        }
    } // apply
} // add_missing

#endif
