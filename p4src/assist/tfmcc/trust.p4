#ifndef CANOPY_ASSIST_TFMCC_TRUST_P4
#define CANOPY_ASSIST_TFMCC_TRUST_P4

#include "session.p4"

// What silences a report is what the sender has confirmed. A report that has passed and is not confirmed yet silences others
// too, for as long as a confirmation may take; if none comes, it was lost or is one that the sender does not believe, and
// what comes by its port silences nobody for a while.

// Of a round: {session, round, least rate that passed, of the first that is not confirmed: rate, receiver and when; ports of
// all since then, whether of a loss}. Whatever follows the first does not put off its end.
#define LEAST_KEY_OF(word)      word[183:136]   // session and round
#define LEAST_RATE_OF(word)     word[135:120]
#define LEAST_SINCE_OF(word)    word[119:24]
#define FIRST_RATE_OF(word)     word[119:104]
#define FIRST_RECEIVER_OF(word) word[103:72]
#define FIRST_AT_OF(word)       word[71:24]
#define LEAST_PORTS_OF(word)    word[23:8]
#define LEAST_LOSS_OF(word)     word[0:0]
typedef bit<184> tfmcc_least_t;
@name(".tfmcc_least")
register<tfmcc_least_t>(FEEDBACK_SESSIONS * 2) tfmcc_least;

// {session, largest RTT that passed, when, port}.
#define FAR_SESSION_OF(word) word[103:72]
#define FAR_RTT_OF(word)     word[71:64]
#define FAR_AT_OF(word)      word[63:16]
#define FAR_PORTS_OF(word)   word[15:0]
typedef bit<104> tfmcc_far_t;
@name(".tfmcc_far")
register<tfmcc_far_t>(FEEDBACK_SESSIONS) tfmcc_far;

// {session, ports by which reports came that were not confirmed, when the last was found}.
#define DOUBT_SESSION_OF(word) word[95:64]
#define DOUBT_PORTS_OF(word)   word[63:48]
#define DOUBT_AT_OF(word)      word[47:0]
typedef bit<96> tfmcc_doubt_t;
@name(".tfmcc_doubts")
register<tfmcc_doubt_t>(FEEDBACK_SESSIONS) tfmcc_doubts;

// The least rate that silences this report (TFMCC_NO_RATE: none does), whether it has a longer round trip time than any that is
// known, and whether it may silence others. A report of a loss is silenced by such reports only (2.6). `passed` is what has
// passed and still counts.
control find_trust(in headers_t hdr, in metadata_t meta, in tfmcc_session_t row, in bit<32> place, in bit<48> patience_us,
                   out bit<16> least, out tfmcc_least_t passed, out bit<1> is_far, out bit<1> is_trusted) {
    apply {
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        tfmcc_doubt_t doubt;
        tfmcc_echo_t echo;
        tfmcc_far_t farthest;
        bit<1> is_confirmed = 0;
        merged_ports_t doubtful = 0;

        tfmcc_echoes.read(echo, place);
        tfmcc_least.read(passed, place);
        tfmcc_far.read(farthest, index);
        tfmcc_doubts.read(doubt, index);

        least = TFMCC_NO_RATE;
        if (ECHO_IS_SET(echo) && ECHO_ROUND_OF(echo) == hdr.tfmcc_report.round) {
            if (ECHO_RATE_OF(echo) <= FIRST_RATE_OF(passed)) {
                is_confirmed = 1;
            }
            if (ECHO_LOSS_OF(echo) == 1 || FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 0) {
                least = ECHO_RATE_OF(echo);
            }
        }

        if (LEAST_KEY_OF(passed) != hdr.canopy.session ++ hdr.tfmcc_report.round || FIRST_AT_OF(passed) == 0) {
            passed = 0;
        } else if (FIRST_RECEIVER_OF(passed) == TFMCC_CLR_OF(row)) {
            passed = 0;     // the sender believes it, and says what it makes of it
            tfmcc_least.write(place, 0);
        } else if (meta.now - FIRST_AT_OF(passed) >= patience_us) {
            if (is_confirmed == 0) {
                doubtful = LEAST_PORTS_OF(passed);
            }
            passed = 0;
            tfmcc_least.write(place, 0);
        }
        if (passed != 0 && (LEAST_LOSS_OF(passed) == 1 || FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 0)
                && LEAST_RATE_OF(passed) < least) {
            least = LEAST_RATE_OF(passed);
        }

        is_far = 0;
        if (FAR_SESSION_OF(farthest) != hdr.canopy.session || FAR_AT_OF(farthest) == 0) {
            farthest = 0;
        } else if (meta.now - FAR_AT_OF(farthest) >= patience_us) {
            if (FAR_RTT_OF(farthest) > TFMCC_MAX_RTT_OF(row)) {
                doubtful = doubtful | FAR_PORTS_OF(farthest);
            }
            farthest = 0;
            tfmcc_far.write(index, 0);
        }
        if (hdr.tfmcc_report.rtt > TFMCC_MAX_RTT_OF(row)
                && (farthest == 0
                    || (bit<16>)hdr.tfmcc_report.rtt >= (bit<16>)FAR_RTT_OF(farthest) + TFMCC_FARTHER)) {
            is_far = 1;
        }

        if (DOUBT_SESSION_OF(doubt) != hdr.canopy.session || DOUBT_AT_OF(doubt) == 0
                || meta.now - DOUBT_AT_OF(doubt) >= (patience_us << TFMCC_DOUBT_SHIFT)) {
            doubt = 0;
        }
        if (doubtful != 0) {
            doubt = hdr.canopy.session ++ (DOUBT_PORTS_OF(doubt) | doubtful) ++ meta.now;
            tfmcc_doubts.write(index, doubt);
        }
        is_trusted = 1;
        if ((DOUBT_PORTS_OF(doubt) & meta.merge.ingress_bit) != 0) {
            is_trusted = 0;
        }
    } // apply
} // find_trust

// A report passes that may silence others. Kept is the least; of a loss, whatever passed without.
control note_passed(in headers_t hdr, in metadata_t meta, in bit<32> place, in tfmcc_least_t passed) {
    apply {
        if (passed == 0 || (FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == 1 && LEAST_LOSS_OF(passed) == 0)) {
            tfmcc_least.write(place, hdr.canopy.session ++ hdr.tfmcc_report.round ++ hdr.tfmcc_report.rate
                              ++ hdr.tfmcc_report.rate ++ hdr.tfmcc_report.receiver ++ meta.now
                              ++ meta.merge.ingress_bit ++ 7w0 ++ FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS));
        } else if (FLAG_OF(hdr, TFMCC_BIT_HAVE_LOSS) == LEAST_LOSS_OF(passed)
                   && hdr.tfmcc_report.rate < LEAST_RATE_OF(passed)) {
            tfmcc_least.write(place, LEAST_KEY_OF(passed) ++ hdr.tfmcc_report.rate ++ LEAST_SINCE_OF(passed)
                              ++ (LEAST_PORTS_OF(passed) | meta.merge.ingress_bit) ++ 7w0 ++ LEAST_LOSS_OF(passed));
        }
        if (meta.merge.outcome == feedback_t.far) {
            tfmcc_far.write(SESSION_ROW(hdr.canopy.session),
                            hdr.canopy.session ++ hdr.tfmcc_report.rtt ++ meta.now ++ meta.merge.ingress_bit);
        }
    } // apply
} // note_passed

#endif
