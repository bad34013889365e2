#ifndef CANOPY_TFMCC_P4
#define CANOPY_TFMCC_P4

#include "tfmcc_state.p4"
#include "tfmcc_rounds.p4"

// The largest rate that is at most a share of another (`share` / 65536, at least a half), both as 12-bit floats: 5 bits of
// exponent, 7 of mantissa (hosts/protocols/tfmcc/rate_float.py).
control share_of_rate(in bit<16> rate, in bit<16> share, out bit<16> result) {
    apply {
        bit<32> scaled = (((bit<32>)rate[6:0] + 128) * (bit<32>)share) >> 15;  // twice the mantissa with its leading one
        if (scaled >= 256) {
            result = (rate & 0x0f80) | (bit<16>)((scaled >> 1) - 128);
        } else if (rate[11:7] != 0) {
            result = ((rate & 0x0f80) - 128) | (bit<16>)(scaled - 128);
        } else {
            result = 0;
        }
    } // apply
} // share_of_rate

// The least rate that silences this report (TFMCC_NO_RATE: none does): the one that the sender has confirmed, or one that
// passed here a moment ago, so that the sender may still confirm it. A report of a loss is silenced by such reports only
// (2.6).
control find_least(in headers_t hdr, in bit<32> place, in tfmcc_least_t passed, out bit<16> least) {
    apply {
        tfmcc_echo_t echo;
        tfmcc_echoes.read(echo, place);
        least = TFMCC_NO_RATE;
        if (ECHO_IS_SET(echo) && ECHO_ROUND_OF(echo) == hdr.tfmcc_report.round
                && (ECHO_LOSS_OF(echo) == 1 || hdr.canopy.flags[1:1] == 0)) {
            if (hdr.canopy.flags[0:0] == 1) {
                least = ECHO_RATE_OF(echo);
            } else {
                least = ECHO_NO_RTT_OF(echo);
            }
        }
        if ((LEAST_LOSS_OF(passed) == 1 || hdr.canopy.flags[1:1] == 0) && LEAST_RATE_OF(passed) < least) {
            least = LEAST_RATE_OF(passed);
        }
    } // apply
} // find_least

// What has passed in this report's round, of its kind; without what is too old to count.
control read_passed(in headers_t hdr, in metadata_t meta, in bit<32> place, in bit<48> patience_us,
                    out tfmcc_least_t passed) {
    apply {
        tfmcc_least.read(passed, (place << 1) | (bit<32>)hdr.canopy.flags[0:0]);
        if (LEAST_SESSION_OF(passed) != hdr.canopy.session || LEAST_ROUND_OF(passed) != hdr.tfmcc_report.round
                || LEAST_AT_OF(passed) == 0 || meta.now - LEAST_AT_OF(passed) >= patience_us) {
            passed = 48w0 ++ TFMCC_NO_RATE ++ 56w0;
        }
    } // apply
} // read_passed

// A longer round trip time than any that is known, or that passed a moment ago, passes: the round's length hangs on it.
control check_rtt(in headers_t hdr, in metadata_t meta, in tfmcc_session_t row, in bit<48> patience_us, out bit<1> is_far) {
    apply {
        is_far = 0;
        if (hdr.canopy.flags[0:0] == 1 && hdr.tfmcc_report.rtt > TFMCC_MAX_RTT_OF(row)) {
            tfmcc_far_t farthest;
            tfmcc_far.read(farthest, TFMCC_ROW(hdr.canopy.session));
            if (FAR_SESSION_OF(farthest) != hdr.canopy.session || FAR_AT_OF(farthest) == 0
                    || meta.now - FAR_AT_OF(farthest) >= patience_us || hdr.tfmcc_report.rtt > FAR_RTT_OF(farthest)) {
                is_far = 1;
                tfmcc_far.write(TFMCC_ROW(hdr.canopy.session), hdr.canopy.session ++ hdr.tfmcc_report.rtt ++ meta.now);
            }
        }
    } // apply
} // check_rtt

// The first of a round that have no round trip time pass, whatever their rates: the sender's echo gives them one.
control check_request(in headers_t hdr, in bit<32> place, out bit<1> is_request) {
    apply {
        is_request = 0;
        if (hdr.canopy.flags[0:0] == 0) {
            tfmcc_asked_t asked;
            tfmcc_asked.read(asked, place);
            if (ASKED_SESSION_OF(asked) != hdr.canopy.session || ASKED_ROUND_OF(asked) != hdr.tfmcc_report.round) {
                asked = hdr.canopy.session ++ hdr.tfmcc_report.round ++ 8w0;
            }
            if (ASKED_OF(asked) < TFMCC_REQUESTS) {
                is_request = 1;
                tfmcc_asked.write(place, asked[55:8] ++ (ASKED_OF(asked) + 1));
            }
        }
    } // apply
} // check_request

// A report of this round or the last, of a receiver that is not the CLR: it passes when it says what nobody has said.
control judge_report(in headers_t hdr, inout metadata_t meta, in tfmcc_session_t row) {
    apply {
        bit<32> place = (TFMCC_ROW(hdr.canopy.session) << 1) | (bit<32>)hdr.tfmcc_report.round[0:0];
        bit<8> patience = TFMCC_PATIENCE_OF(row);
        // 1 ms * 2^e * (1 + m / 16): 62.5 us * 2^e * (16 + m)
        bit<48> patience_us = ((((bit<48>)patience[3:0] + 16) * 125) << (bit<8>)patience[7:4]) >> 1;
        tfmcc_least_t passed;
        bit<16> least;
        bit<16> enough;
        bit<1> is_far;
        bit<1> is_request;

        read_passed.apply(hdr, meta, place, patience_us, passed);
        find_least.apply(hdr, place, passed, least);
        share_of_rate.apply(least, TFMCC_SHARE_OF(row), enough);
        check_rtt.apply(hdr, meta, row, patience_us, is_far);
        check_request.apply(hdr, place, is_request);
        if (least == TFMCC_NO_RATE || (hdr.tfmcc_report.rate <= enough && hdr.tfmcc_report.rate < least)) {
            meta.merge.outcome = feedback_t.lower;
        } else if (is_far == 1) {
            meta.merge.outcome = feedback_t.far;
        } else if (is_request == 1) {
            meta.merge.outcome = feedback_t.request;
        } else {
            meta.merge.outcome = feedback_t.suppressed;
        }
        // Kept is the least that passed; of a loss, whatever passed without.
        if (meta.merge.outcome != feedback_t.suppressed
                && ((hdr.canopy.flags[1:1] == 1 && LEAST_LOSS_OF(passed) == 0)
                    || (hdr.canopy.flags[1:1] == LEAST_LOSS_OF(passed)
                        && hdr.tfmcc_report.rate < LEAST_RATE_OF(passed)))) {
            tfmcc_least.write((place << 1) | (bit<32>)hdr.canopy.flags[0:0],
                              hdr.canopy.session ++ hdr.tfmcc_report.round ++ hdr.tfmcc_report.rate
                              ++ 7w0 ++ hdr.canopy.flags[1:1] ++ meta.now);
        }
    } // apply
} // judge_report

// A report on its way to the sender, after it was routed.
control suppress_report(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        tfmcc_session_t row;
        tfmcc_sessions.read(row, TFMCC_ROW(hdr.canopy.session));
        bit<32> ms = (bit<32>)(meta.now >> 10) | 1;
        if (hdr.tfmcc_report.rate >= TFMCC_NO_RATE) {
            meta.merge.outcome = feedback_t.malformed;
        } else if (TFMCC_SESSION_OF(row) != hdr.canopy.session || TFMCC_SENDER_OF(row) != hdr.ipv4.destination
                   || TFMCC_MS_OF(row) == 0 || ms - TFMCC_MS_OF(row) > FEEDBACK_IDLE_MS
                   || TFMCC_SHARE_OF(row)[15:15] == 0) {
            meta.merge.outcome = feedback_t.no_slot;
        } else if (hdr.canopy.flags[2:2] == 1) {
            meta.merge.outcome = feedback_t.leave;
        } else if (hdr.tfmcc_report.receiver == TFMCC_CLR_OF(row)) {
            meta.merge.outcome = feedback_t.limiting;
        } else if (TFMCC_ROUND_OF(row) - hdr.tfmcc_report.round > 1) {
            meta.merge.outcome = feedback_t.stale;
        } else {
            judge_report.apply(hdr, meta, row);
            if (meta.merge.outcome == feedback_t.suppressed) {
                mark_to_drop(standard_metadata);
            }
        }
    } // apply
} // suppress_report

#endif
