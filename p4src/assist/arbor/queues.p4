#ifndef CANOPY_ASSIST_ARBOR_QUEUES_P4
#define CANOPY_ASSIST_ARBOR_QUEUES_P4

#include "../../include/checksum.p4"

// What this switch's queues make of Arbor's data: told to the receivers in the data, hop by hop; not in those of sealed
// sessions, where nobody would vouch for it. In egress, and what it keeps
// is egress's alone: one place of one register, read and written once a packet.

// What left a port last: {when (us), its length on the link}.
#define DEPARTED_US_OF(word)    word[63:32]
#define DEPARTED_BYTES_OF(word) word[31:0]
typedef bit<64> departed_t;
@name(".arbor_departed")
register<departed_t>(MAX_PORTS) arbor_departed;

#define TOLD_WORDS(told) \
    ((bit<32>)told.waited_us[31:16] + (bit<32>)told.waited_us[15:0] + (bit<32>)told.longest_us[31:16] \
     + (bit<32>)told.longest_us[15:0] + (bit<32>)told.gap_us[31:16] + (bit<32>)told.gap_us[15:0] \
     + (bit<32>)told.gap_bytes + (bit<32>)(told.at ++ told.hops))
#define TOLD_COMPLEMENTS 0x7fff8    // the sum of eight words and their complements

// A packet that waited while another left could not leave before the link was done with that one: the link's rate is the
// other one's length over the time between them. Of the queues on the way the one with the longest wait says that.
control tell_queue(inout headers_t hdr, in metadata_t meta, in standard_metadata_t standard_metadata) {
    apply {
        departed_t last;
        bit<32> port = (bit<32>)standard_metadata.egress_port - 1;
        bit<32> now_us = (bit<32>)standard_metadata.egress_global_timestamp;
        if (port < MAX_PORTS) {
            arbor_departed.read(last, port);
            arbor_departed.write(port, now_us ++ standard_metadata.packet_length);
            if (meta.assisted.kind == assisted_t.arbor_told_data && meta.assist == 1 && meta.assisted.headed == 0
                    && hdr.udp.length >= ARBOR_TOLD_DATA_UDP_BYTES) {
                bit<32> sum = (bit<32>)(~hdr.udp.checksum) + TOLD_COMPLEMENTS - TOLD_WORDS(hdr.arbor_told_data);
                bit<32> waited_us = standard_metadata.deq_timedelta;
                bit<32> gap_us = now_us - DEPARTED_US_OF(last);
                hdr.arbor_told_data.waited_us = hdr.arbor_told_data.waited_us |+| waited_us;
                hdr.arbor_told_data.hops = hdr.arbor_told_data.hops |+| 1;
                if (waited_us > hdr.arbor_told_data.longest_us) {
                    hdr.arbor_told_data.longest_us = waited_us;
                    hdr.arbor_told_data.at = hdr.arbor_told_data.hops;
                    if (gap_us <= waited_us) {
                        hdr.arbor_told_data.gap_us = gap_us;
                        hdr.arbor_told_data.gap_bytes = (bit<16>)DEPARTED_BYTES_OF(last);
                    } else {
                        hdr.arbor_told_data.gap_us = 0;
                        hdr.arbor_told_data.gap_bytes = 0;
                    }
                }
                if (hdr.udp.checksum != 0) {
                    sum = sum + TOLD_WORDS(hdr.arbor_told_data);
                    sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
                    hdr.udp.checksum = ~FOLDED(sum);
                    if (hdr.udp.checksum == 0) {
                        hdr.udp.checksum = 0xffff;
                    }
                }
            }
        }
    } // apply
} // tell_queue

#endif
