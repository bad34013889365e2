#ifndef CANOPY_TFMCC_ROUNDS_P4
#define CANOPY_TFMCC_ROUNDS_P4

#include "suppressed.p4"
#include "tfmcc_state.p4"

// Data on its way down: rounds, the CLR and what is confirmed are learnt from it and from nothing else. Data of an older round
// than the last has been overtaken.
control note_round(inout headers_t hdr, inout metadata_t meta) {
    apply {
        tfmcc_session_t row;
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;     // 0 is an empty row
        bit<32> index = TFMCC_ROW(hdr.canopy.session);
        tfmcc_sessions.read(row, index);
        bit<1> idle = 0;
        if (TFMCC_MS_OF(row) == 0 || ms - TFMCC_MS_OF(row) > FEEDBACK_IDLE_MS) {
            idle = 1;
        }
        if (hdr.udp.length >= TFMCC_DATA_UDP_BYTES
                && (idle == 1 || (TFMCC_SESSION_OF(row) == hdr.canopy.session && TFMCC_SENDER_OF(row) == meta.source))) {
            if (idle == 1 || (int<16>)(hdr.tfmcc_data.round - TFMCC_ROUND_OF(row)) >= 0) {
                tfmcc_sessions.write(index, hdr.canopy.session ++ meta.source ++ ms ++ hdr.tfmcc_data.round
                                     ++ hdr.tfmcc_data.patience ++ hdr.tfmcc_data.max_rtt
                                     ++ hdr.tfmcc_data.least_share ++ hdr.tfmcc_data.clr);
                tfmcc_echoes.write((index << 1) | (bit<32>)hdr.tfmcc_data.round[0:0],
                                   hdr.tfmcc_data.round ++ hdr.tfmcc_data.suppression
                                   ++ hdr.tfmcc_data.suppression_no_rtt ++ 7w1 ++ hdr.canopy.flags[3:3]);
            }
            mark_suppressed.apply(hdr);
        }
    } // apply
} // note_round

#endif
