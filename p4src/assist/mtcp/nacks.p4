#ifndef CANOPY_ASSIST_MTCP_NACKS_P4
#define CANOPY_ASSIST_MTCP_NACKS_P4

#include "slots.p4"

// A PROBE on its way down says how long a round trip between parent and child takes.
control note_probe(in headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    apply {
        find_slot.apply(meta.assisted.session, hdr.ipv4.source, meta);
        if (meta.merge.owned == 1 && meta.assisted.value != 0) {
            port_t port = (port_t)standard_metadata.egress_spec - 1;
            if (port < MAX_PORTS) {
                mtcp_rtts.write(CELL(meta.merge.slot, (bit<32>)port),
                                GENERATION_OF(meta.merge.state) ++ meta.assisted.value);
            }
        }
    } // apply
} // note_probe

// A child leaves: what it has no longer counts.
control note_leave(in headers_t hdr, inout metadata_t meta) {
    apply {
        find_slot.apply(meta.assisted.session, hdr.ipv4.destination, meta);
        if (meta.merge.owned == 1) {
            mtcp_slots.write(meta.merge.slot,
                             GENERATION_OF(meta.merge.state) ++ (PORTS_OF(meta.merge.state) & ~meta.ingress_bit)
                             ++ ACTIVE_OF(meta.merge.state) ++ LAST_OF(meta.merge.state));
        }
    } // apply
} // note_leave

// The number of the highest bit that is set, by bisection. (As `s | s >> 1` and so on, p4c would write out one expression.)
#define HALVE(BITS) if ((rest >> BITS) != 0) { rest = rest >> BITS; highest = highest + BITS; }

control find_highest(in sack_t bitmap, out bit<32> highest) {
    apply {
        sack_t rest = bitmap;
        highest = 0;
        HALVE(256) HALVE(128) HALVE(64) HALVE(32) HALVE(16) HALVE(8) HALVE(4) HALVE(2) HALVE(1)
    } // apply
} // find_highest

// Is this NACK a repetition: less than a round trip ago one passed that named all that this one names? What is missing now,
// below the highest packet that had arrived then, was named then: so nothing may be missing between that and the highest
// one now. An eighth more than the measured round trip, so that the parent's own "not again within a round trip" (3.1)
// has passed when the next one comes.
control recognise_repeat(in headers_t hdr, inout metadata_t meta) {
    apply {
        mtcp_nack_t nack;
        mtcp_rtt_t rtt;
        mtcp_nacks.read(nack, meta.merge.cell);
        mtcp_rtts.read(rtt, meta.merge.cell);
        bit<48> limit = (bit<48>)RTT_OF(rtt) + (bit<48>)(RTT_OF(rtt) >> 3);
        meta.merge.repeat = 0;
        if (NACK_AT_OF(nack) != 0 && RTT_GENERATION_OF(rtt) == meta.merge.generation && meta.now - NACK_AT_OF(nack) < limit) {
            // Packets from the one after `cumulative` to the first above the highest then.
            bit<32> told = NACK_END_OF(nack) - hdr.feedback.cumulative - 1;
            sack_t since = meta.merge.own_sack;
            if (told < 256) {
                since = since >> (bit<8>)told;
            } else if (told < SACK_BITS) {
                since = (since >> 256) >> (bit<8>)(told - 256);
            } else {
                since = 0;
            }
            if (told <= SACK_BITS && (since & (since + 1)) == 0) {
                meta.merge.repeat = 1;
            }
        }
        if (meta.merge.repeat == 0) {
            bit<32> end = hdr.feedback.cumulative + 1;
            if (meta.merge.own_sack != 0) {
                find_highest.apply(meta.merge.own_sack, end);
                end = end + hdr.feedback.cumulative + 2;
            }
            mtcp_nacks.write(meta.merge.cell, end ++ meta.now);
        }
    } // apply
} // recognise_repeat

#endif
