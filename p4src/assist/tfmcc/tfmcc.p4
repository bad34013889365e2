#ifndef CANOPY_ASSIST_TFMCC_P4
#define CANOPY_ASSIST_TFMCC_P4

#include "session.p4"
#include "path.p4"
#include "trust.p4"

// A rate: a 12-bit float of 5 bits of exponent and 7 of mantissa; a time: an 8-bit one of 4 and 4.
#define RATE_EXPONENT_OF(rate) rate[11:7]
#define RATE_MANTISSA_OF(rate) rate[6:0]
#define RATE_EXPONENT 16w0x0f80
#define RATE_ONE 128            // a mantissa's leading one
#define TIME_EXPONENT_OF(time) time[7:4]
#define TIME_MANTISSA_OF(time) time[3:0]
#define IS_BELOW_HALF(share)   (share[15:15] == 0)

// Of a round: {session, round, reports that passed and may silence others, ports that asked for a round trip time, how many reports ended here
// since the last that passed, the largest round trip time of those}.
#define ROUND_KEY_OF(word)   word[95:48]     // session and round
#define ROUND_PASSED_OF(word) word[47:40]
#define ROUND_ASKED_OF(word) word[39:24]
#define ROUND_ENDED_OF(word) word[23:8]
#define ROUND_FAR_OF(word)   word[7:0]
typedef bit<96> tfmcc_round_t;
@name(".tfmcc_rounds")
register<tfmcc_round_t>(FEEDBACK_SESSIONS * 2) tfmcc_rounds;

// The largest rate that is at most a share of another (`share` / 65536, at least a half).
control share_of_rate(in bit<16> rate, in bit<16> share, out bit<16> result) {
    apply {
        // Twice the mantissa with its leading one.
        bit<32> scaled = (((bit<32>)RATE_MANTISSA_OF(rate) + RATE_ONE) * (bit<32>)share) >> 15;
        if (scaled >= 2 * RATE_ONE) {
            result = (rate & RATE_EXPONENT) | (bit<16>)((scaled >> 1) - RATE_ONE);
        } else if (RATE_EXPONENT_OF(rate) != 0) {
            result = ((rate & RATE_EXPONENT) - RATE_ONE) | (bit<16>)(scaled - RATE_ONE);
        } else {
            result = 0;
        }
    } // apply
} // share_of_rate

control add_up(inout bit<16> number, in bit<16> more) {
    apply {
        if (number > 0xffff - more) {
            number = 0xffff;
        } else {
            number = number + more;
        }
    } // apply
} // add_up

// A report that passes speaks for those that ended here since the last one did: how many they are, and their largest round
// trip time.
control speak_for_others(inout headers_t hdr, inout metadata_t meta, inout bit<16> ended, inout bit<8> farthest) {
    apply {
        if (ended != 0) {
            add_up.apply(hdr.tfmcc_report.stands_for, ended);
            if (farthest > hdr.tfmcc_report.far_rtt) {
                hdr.tfmcc_report.far_rtt = farthest;
            }
            ended = 0;
            farthest = 0;
            meta.merged = 1;
        }
    } // apply
} // speak_for_others

// A report ends here. What it says of others is kept with it.
control end_report(in headers_t hdr, inout bit<16> ended, inout bit<8> farthest) {
    apply {
        add_up.apply(ended, hdr.tfmcc_report.stands_for);
        add_up.apply(ended, 1);
        if (hdr.tfmcc_report.far_rtt > farthest) {
            farthest = hdr.tfmcc_report.far_rtt;
        }
        if (FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT) == 1 && hdr.tfmcc_report.rtt > farthest) {
            farthest = hdr.tfmcc_report.rtt;
        }
    } // apply
} // end_report

// A report with a round trip time, of a receiver that is not the CLR: it passes when it says what the sender has not
// confirmed, and what nobody else has said a moment ago. So many may pass in a round; what comes by ports in doubt is not
// counted among them.
control judge_report(in headers_t hdr, inout metadata_t meta, in tfmcc_session_t row, in bit<32> place,
                     in bit<48> patience_us, inout bit<8> number_passed) {
    apply {
        bit<16> least;
        bit<16> enough;
        bit<1> is_trusted;
        bit<1> is_far;
        tfmcc_least_t passed;

        find_trust.apply(hdr, meta, row, place, patience_us, least, passed, is_far, is_trusted);
        share_of_rate.apply(least, TFMCC_SHARE_OF(row), enough);
        if (is_trusted == 1 && number_passed >= TFMCC_REPORTS) {
            meta.merge.outcome = feedback_t.suppressed;
        } else if (least == TFMCC_NO_RATE || (hdr.tfmcc_report.rate <= enough && hdr.tfmcc_report.rate < least)) {
            meta.merge.outcome = feedback_t.lower;
        } else if (is_far == 1) {
            meta.merge.outcome = feedback_t.far;
        } else {
            meta.merge.outcome = feedback_t.suppressed;
        }
        if (is_trusted == 1 && meta.merge.outcome != feedback_t.suppressed) {
            note_passed.apply(hdr, meta, place, passed);
            number_passed = number_passed + 1;
        }
    } // apply
} // judge_report

// A report of this round or the last, and what of the round is kept.
control judge_in_round(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata,
                       in tfmcc_session_t row) {
    apply {
        bit<32> place = (SESSION_ROW(hdr.canopy.session) << 1) | (bit<32>)PARITY_OF(hdr.tfmcc_report.round);
        bit<8> patience = TFMCC_PATIENCE_OF(row);
        // 1 ms * 2^e * (1 + m / 16): 62.5 us * 2^e * (16 + m)
        bit<48> patience_us = ((((bit<48>)TIME_MANTISSA_OF(patience) + 16) * 125) << (bit<8>)TIME_EXPONENT_OF(patience)) >> 1;
        tfmcc_round_t kept;
        tfmcc_rounds.read(kept, place);
        if (ROUND_KEY_OF(kept) != hdr.canopy.session ++ hdr.tfmcc_report.round) {
            kept = 0;
        }
        bit<8> number_passed = ROUND_PASSED_OF(kept);
        merged_ports_t asked = ROUND_ASKED_OF(kept);
        bit<16> ended = ROUND_ENDED_OF(kept);
        bit<8> farthest = ROUND_FAR_OF(kept);

        if (hdr.tfmcc_report.receiver == TFMCC_CLR_OF(row)) {
            meta.merge.outcome = feedback_t.limiting;
        } else if (FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT) == 0) {
            answer_request.apply(hdr, meta, standard_metadata, row, patience_us, asked);
        } else {
            judge_report.apply(hdr, meta, row, place, patience_us, number_passed);
        }
        if (meta.merge.outcome == feedback_t.suppressed) {
            end_report.apply(hdr, ended, farthest);
            mark_to_drop(standard_metadata);
        } else if (meta.merge.outcome != feedback_t.answered) {
            time_report.apply(hdr, meta, row, patience_us);
            speak_for_others.apply(hdr, meta, ended, farthest);
        }
        tfmcc_rounds.write(place, hdr.canopy.session ++ hdr.tfmcc_report.round ++ number_passed ++ asked ++ ended ++ farthest);
    } // apply
} // judge_in_round

// What goes up to the sender or comes down from it beside data, after it was routed.
control suppress_report(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        tfmcc_session_t row;
        tfmcc_sessions.read(row, SESSION_ROW(meta.assisted.session));
        bit<32> ms = MS_NOW(meta);
        bit<1> known = 0;
        if (TFMCC_SESSION_OF(row) == meta.assisted.session && TFMCC_MS_OF(row) != 0
                && TFMCC_HEADED_OF(row) == meta.assisted.headed && ms - TFMCC_MS_OF(row) <= TFMCC_IDLE_MS) {
            known = 1;
        }
        if (meta.assisted.kind == assisted_t.tfmcc_join_ack || FLAG_OF(hdr, TFMCC_BIT_ANSWER) == 1) {
            if (known == 1 && TFMCC_SENDER_OF(row) == hdr.ipv4.source && TFMCC_PORT_OF(row) == (bit<15>)meta.ingress_port) {
                note_answer.apply(hdr, meta);
            }
        } else if (hdr.tfmcc_report.rate >= TFMCC_NO_RATE) {
            meta.merge.outcome = feedback_t.malformed;
        } else if (known == 0 || TFMCC_SENDER_OF(row) != hdr.ipv4.destination || IS_BELOW_HALF(TFMCC_SHARE_OF(row))) {
            meta.merge.outcome = feedback_t.no_slot;
        } else if (FLAG_OF(hdr, TFMCC_BIT_LEAVE) == 1) {
            meta.merge.outcome = feedback_t.leave;
        } else if (TFMCC_ROUND_OF(row) - hdr.tfmcc_report.round > 1) {
            meta.merge.outcome = feedback_t.stale;
            if (hdr.tfmcc_report.receiver == TFMCC_CLR_OF(row)) {
                meta.merge.outcome = feedback_t.limiting;
            }
        } else {
            judge_in_round.apply(hdr, meta, standard_metadata, row);
        }
    } // apply
} // suppress_report

#endif
