#ifndef CANOPY_DROPS_P4
#define CANOPY_DROPS_P4

#include "metadata.p4"

// Every packet that ingress drops is counted under its reason (drop_reason_t).
control count_drop(in metadata_t meta) {
    @name(".drops")
    counter(32, CounterType.packets_and_bytes) drops;

    apply {
        drops.count((bit<32>)(bit<8>)meta.drop_reason);
    } // apply
} // count_drop

#endif
