#ifndef CANOPY_ASSIST_TFMCC_P4
#define CANOPY_ASSIST_TFMCC_P4

#include "../sessions.p4"
#include "../suppressed.p4"

// What a switch keeps of TFMCC's feedback: soft state, written by ingress only. Sessions have rows, by their low bits; who
// sends a session's data has its row until he is silent. Reports are of this round or of the one before, so that what is kept
// of a round has two places in turn, by the parity of its number.
#define PARITY_OF(round) round[0:0]

// What the sender's last data said: {session, sender's address, when (ms), round, patience, max_rtt, least_share, clr}.
#define TFMCC_SESSION_OF(word)  word[175:144]
#define TFMCC_SENDER_OF(word)   word[143:112]
#define TFMCC_MS_OF(word)       word[111:80]
#define TFMCC_ROUND_OF(word)    word[79:64]
#define TFMCC_PATIENCE_OF(word) word[63:56]
#define TFMCC_MAX_RTT_OF(word)  word[55:48]
#define TFMCC_SHARE_OF(word)    word[47:32]
#define TFMCC_CLR_OF(word)      word[31:0]
typedef bit<176> tfmcc_session_t;
@name(".tfmcc_sessions")
register<tfmcc_session_t>(FEEDBACK_SESSIONS) tfmcc_sessions;

// Of a round: {its number, the least rates that the sender has confirmed (with an RTT, without), 1, whether of losses}.
#define ECHO_ROUND_OF(word)    word[55:40]
#define ECHO_RATE_OF(word)     word[39:24]
#define ECHO_NO_RTT_OF(word)   word[23:8]
#define ECHO_IS_SET(word)      (word[1:1] == 1)
#define ECHO_LOSS_OF(word)     word[0:0]
typedef bit<56> tfmcc_echo_t;
@name(".tfmcc_echoes")
register<tfmcc_echo_t>(FEEDBACK_SESSIONS * 2) tfmcc_echoes;

// Of a round, of reports with and without an RTT apart: {session, round, least rate that passed, whether of a loss, when}.
#define LEAST_SESSION_OF(word) word[119:88]
#define LEAST_ROUND_OF(word)   word[87:72]
#define LEAST_RATE_OF(word)    word[71:56]
#define LEAST_LOSS_OF(word)    word[48:48]
#define LEAST_AT_OF(word)      word[47:0]
typedef bit<120> tfmcc_least_t;
@name(".tfmcc_least")
register<tfmcc_least_t>(FEEDBACK_SESSIONS * 4) tfmcc_least;

// Of a round: {session, round, how many asked for a round trip time}.
#define ASKED_KEY_OF(word)     word[55:8]     // session and round
#define ASKED_SESSION_OF(word) word[55:24]
#define ASKED_ROUND_OF(word)   word[23:8]
#define ASKED_OF(word)         word[7:0]
typedef bit<56> tfmcc_asked_t;
@name(".tfmcc_asked")
register<tfmcc_asked_t>(FEEDBACK_SESSIONS * 2) tfmcc_asked;

// {session, largest RTT that passed, when}.
#define FAR_SESSION_OF(word) word[87:56]
#define FAR_RTT_OF(word)     word[55:48]
#define FAR_AT_OF(word)      word[47:0]
typedef bit<88> tfmcc_far_t;
@name(".tfmcc_far")
register<tfmcc_far_t>(FEEDBACK_SESSIONS) tfmcc_far;

// Data on its way down: rounds, the CLR and what is confirmed are learnt from it and from nothing else. Data of an older round
// than the last has been overtaken.
control note_round(inout headers_t hdr, inout metadata_t meta) {
    apply {
        tfmcc_session_t row;
        bit<32> ms = MS_NOW(meta);
        bit<32> index = SESSION_ROW(hdr.canopy.session);
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
                tfmcc_echoes.write((index << 1) | (bit<32>)PARITY_OF(hdr.tfmcc_data.round),
                                   hdr.tfmcc_data.round ++ hdr.tfmcc_data.suppression
                                   ++ hdr.tfmcc_data.suppression_no_rtt ++ 7w1 ++ FLAG_OF(hdr, TFMCC_BIT_SUPPRESSION_LOSS));
            }
            mark_suppressed.apply(hdr);
        }
    } // apply
} // note_round

// A rate: a 12-bit float of 5 bits of exponent and 7 of mantissa; a time: an 8-bit one of 4 and 4.
#define RATE_EXPONENT_OF(rate) rate[11:7]
#define RATE_MANTISSA_OF(rate) rate[6:0]
#define RATE_EXPONENT 16w0x0f80
#define RATE_ONE 128            // a mantissa's leading one
#define TIME_EXPONENT_OF(time) time[7:4]
#define TIME_MANTISSA_OF(time) time[3:0]
#define IS_BELOW_HALF(share)   (share[15:15] == 0)

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

// The least rate that silences this report (TFMCC_NO_RATE: none does): the one that the sender has confirmed, or one that
// passed here a moment ago, so that the sender may still confirm it. A report of a loss is silenced by such reports only
// (2.6).
control find_least(in headers_t hdr, in bit<32> place, in tfmcc_least_t passed, out bit<16> least) {
    apply {
        tfmcc_echo_t echo;
        tfmcc_echoes.read(echo, place);
        least = TFMCC_NO_RATE;
        if (ECHO_IS_SET(echo) && ECHO_ROUND_OF(echo) == hdr.tfmcc_report.round
                && (ECHO_LOSS_OF(echo) == 1 || FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 0)) {
            if (FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT) == 1) {
                least = ECHO_RATE_OF(echo);
            } else {
                least = ECHO_NO_RTT_OF(echo);
            }
        }
        if ((LEAST_LOSS_OF(passed) == 1 || FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 0) && LEAST_RATE_OF(passed) < least) {
            least = LEAST_RATE_OF(passed);
        }
    } // apply
} // find_least

// What has passed in this report's round, of its kind; without what is too old to count.
control read_passed(in headers_t hdr, in metadata_t meta, in bit<32> place, in bit<48> patience_us,
                    out tfmcc_least_t passed) {
    apply {
        tfmcc_least.read(passed, (place << 1) | (bit<32>)FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT));
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
        if (FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT) == 1 && hdr.tfmcc_report.rtt > TFMCC_MAX_RTT_OF(row)) {
            tfmcc_far_t farthest;
            tfmcc_far.read(farthest, SESSION_ROW(hdr.canopy.session));
            if (FAR_SESSION_OF(farthest) != hdr.canopy.session || FAR_AT_OF(farthest) == 0
                    || meta.now - FAR_AT_OF(farthest) >= patience_us || hdr.tfmcc_report.rtt > FAR_RTT_OF(farthest)) {
                is_far = 1;
                tfmcc_far.write(SESSION_ROW(hdr.canopy.session), hdr.canopy.session ++ hdr.tfmcc_report.rtt ++ meta.now);
            }
        }
    } // apply
} // check_rtt

// The first of a round that have no round trip time pass, whatever their rates: the sender's echo gives them one.
control check_request(in headers_t hdr, in bit<32> place, out bit<1> is_request) {
    apply {
        is_request = 0;
        if (FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT) == 0) {
            tfmcc_asked_t asked;
            tfmcc_asked.read(asked, place);
            if (ASKED_SESSION_OF(asked) != hdr.canopy.session || ASKED_ROUND_OF(asked) != hdr.tfmcc_report.round) {
                asked = hdr.canopy.session ++ hdr.tfmcc_report.round ++ 8w0;
            }
            if (ASKED_OF(asked) < TFMCC_REQUESTS) {
                is_request = 1;
                tfmcc_asked.write(place, ASKED_KEY_OF(asked) ++ (ASKED_OF(asked) + 1));
            }
        }
    } // apply
} // check_request

// A report of this round or the last, of a receiver that is not the CLR: it passes when it says what nobody has said.
control judge_report(in headers_t hdr, inout metadata_t meta, in tfmcc_session_t row) {
    apply {
        bit<32> place = (SESSION_ROW(hdr.canopy.session) << 1) | (bit<32>)PARITY_OF(hdr.tfmcc_report.round);
        bit<8> patience = TFMCC_PATIENCE_OF(row);
        // 1 ms * 2^e * (1 + m / 16): 62.5 us * 2^e * (16 + m)
        bit<48> patience_us = ((((bit<48>)TIME_MANTISSA_OF(patience) + 16) * 125) << (bit<8>)TIME_EXPONENT_OF(patience)) >> 1;
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
                && ((FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 1 && LEAST_LOSS_OF(passed) == 0)
                    || (FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == LEAST_LOSS_OF(passed)
                        && hdr.tfmcc_report.rate < LEAST_RATE_OF(passed)))) {
            tfmcc_least.write((place << 1) | (bit<32>)FLAG_OF(hdr, TFMCC_BIT_HAVE_RTT),
                              hdr.canopy.session ++ hdr.tfmcc_report.round ++ hdr.tfmcc_report.rate
                              ++ 7w0 ++ FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) ++ meta.now);
        }
    } // apply
} // judge_report

// A report on its way to the sender, after it was routed.
control suppress_report(in headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        tfmcc_session_t row;
        tfmcc_sessions.read(row, SESSION_ROW(hdr.canopy.session));
        bit<32> ms = MS_NOW(meta);
        if (hdr.tfmcc_report.rate >= TFMCC_NO_RATE) {
            meta.merge.outcome = feedback_t.malformed;
        } else if (TFMCC_SESSION_OF(row) != hdr.canopy.session || TFMCC_SENDER_OF(row) != hdr.ipv4.destination
                   || TFMCC_MS_OF(row) == 0 || ms - TFMCC_MS_OF(row) > FEEDBACK_IDLE_MS
                   || IS_BELOW_HALF(TFMCC_SHARE_OF(row))) {
            meta.merge.outcome = feedback_t.no_slot;
        } else if (FLAG_OF(hdr, TFMCC_BIT_LEAVE) == 1) {
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
