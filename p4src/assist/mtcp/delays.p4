#ifndef CANOPY_ASSIST_MTCP_DELAYS_P4
#define CANOPY_ASSIST_MTCP_DELAYS_P4

#include "state.p4"

// The relative time delay (MTCP 3.2) of the child whose feedback this is, on this switch's clock: modulo 2^32 us, for only
// differences count. `measured`: there is one. What a summary carries of delays is relative to the delay of the child that
// it comes from, so that neither the clocks' offset nor their drift since then enters it.
//
// Vegas needs by how much it is above the child's least. A child that is new begins as far above as the least of the others
// is: what they share upstream is not taken for its own path. Hosts whose rules are `adaptive` learn the base delay again
// (RELEARN): theirs here is the least of the last 5 to 10 s, as hosts' is of 10.
control measure_delay(in headers_t hdr, inout metadata_t meta) {
    apply {
        mtcp_delays_t delays = DELAYS_OF(meta.merge.port);
        heard_word_t heard = PORT_HEARD_OF(meta.merge.port);
        meta.merge.repaired = 0;
        if (meta.merge.known == 0) {
            heard = 0;
            delays = 0;
        } else if (FLAG_OF(hdr, MTCP_BIT_MERGED) == 1) {
            // Summaries come from one child and another, whose last repairs differ: the switch that made it tells.
            meta.merge.repaired = FLAG_OF(hdr, MTCP_BIT_REPAIRED);
        } else if (REPAIR_ECHO_OF(heard) != (bit<32>)hdr.feedback.repair_echo_us) {
            // Of repairs that were addressed to it. Its parent does not know of copies.
            mtcp_addressed_t addressed;
            mtcp_addressed.read(addressed, meta.merge.cell);
            if (ADDRESSED_GENERATION_OF(addressed) == meta.merge.generation
                    && (REPAIR_ECHO_OF(heard) == 0 || (int<32>)(REPAIR_ECHO_OF(heard) - ADDRESSED_AT_OF(addressed)) < 0)) {
                meta.merge.repaired = 1;
            }
        }

        meta.merge.measured = 0;
        meta.merge.rtd = (bit<32>)meta.now - (bit<32>)hdr.feedback.echo_time_us - hdr.feedback.held_us;
        bit<32> queue = QUEUE_OF(delays);
        bit<32> bound = BOUND_OF(delays);
        bit<32> mean = MEAN_OF(delays);
        bit<32> deviation = DEVIATION_OF(delays);
        bit<32> echo = ECHO_OF(heard);
        if (hdr.feedback.echo_time_us != 0) {
            meta.merge.measured = 1;
            bit<32> place = (meta.merge.slot * FEEDBACK_CHILDREN) | (bit<32>)hdr.feedback.number;
            mtcp_minimum_t minimum;
            mtcp_minima.read(minimum, place);
            bit<48> minimum_since = MINIMUM_SINCE_OF(minimum);
            bit<32> least = MINIMUM_OF(minimum);
            bit<32> least_before = MINIMUM_BEFORE_OF(minimum);
            bit<1> better = 0;
            if (MINIMUM_GENERATION_OF(minimum) != meta.merge.generation) {
                minimum_since = meta.now;
                least = meta.merge.rtd - meta.merge.least_queue;
                least_before = least;
                better = 1;
            } else if (FLAG_OF(hdr, MTCP_BIT_RELEARN) == 1 && meta.now - minimum_since >= MTCP_BASE_US) {
                least_before = least;
                if (meta.now - minimum_since >= 2 * MTCP_BASE_US) {
                    least_before = meta.merge.rtd;
                }
                minimum_since = meta.now;
                least = meta.merge.rtd;
                better = 1;
            } else if ((int<32>)(meta.merge.rtd - least) < 0) {
                least = meta.merge.rtd;
                better = 1;
            }
            if (better == 1) {
                mtcp_minima.write(place, meta.merge.generation ++ minimum_since ++ least ++ least_before);
            }
            if ((int<32>)(least_before - least) < 0) {
                least = least_before;
            }
            meta.merge.queue = meta.merge.rtd - least;      // of `number` itself
            queue = meta.merge.queue;

            if (FLAG_OF(hdr, MTCP_BIT_MERGED) == 1) {
                queue = queue + hdr.feedback.queue_us;
                bound = meta.merge.rtd + hdr.feedback.bound_us;
            } else if (ECHO_OF(heard) != (bit<32>)hdr.feedback.echo_time_us) {
                // Jacobson's mean and deviation (RFC 6298), a packet's send time counting once.
                bit<32> change = meta.merge.rtd - mean;
                bit<32> distance = change;
                if ((int<32>)change < 0) {
                    distance = 0 - change;
                }
                if (ECHO_OF(heard) == 0) {
                    mtcp_rtt_t rtt;
                    mtcp_rtts.read(rtt, meta.merge.cell);
                    mean = meta.merge.rtd;
                    deviation = 0;
                    if (RTT_GENERATION_OF(rtt) == meta.merge.generation) {
                        deviation = RTT_OF(rtt) >> 1;
                    }
                } else {
                    mean = mean + (bit<32>)((int<32>)change >> 3);
                    deviation = deviation + (bit<32>)((int<32>)(distance - deviation) >> 2);
                }
                bound = mean + MTCP_LEAST_MARGIN_US;
                if (deviation > (MTCP_LEAST_MARGIN_US >> 2)) {
                    bound = mean + (deviation << 2);
                }
            }
            echo = (bit<32>)hdr.feedback.echo_time_us;
        }
        meta.merge.own_delays = queue ++ bound ++ mean ++ deviation;
        meta.merge.own_heard = meta.merge.active ++ echo ++ (bit<32>)hdr.feedback.repair_echo_us;
        meta.merge.own_queue = queue;
        meta.merge.own_bound = bound;
    } // apply
} // measure_delay

#endif
