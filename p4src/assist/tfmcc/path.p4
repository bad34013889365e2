#ifndef CANOPY_ASSIST_TFMCC_PATH_P4
#define CANOPY_ASSIST_TFMCC_PATH_P4

#include "session.p4"
#include "../send_back.p4"
#include "../suppressed.p4"

// The round trip time from here to the sender. A report on its way up is timed until the sender, or a switch nearer to it,
// answers it: the sender by the echo in data or by a JOIN_ACK, a switch by what it makes of a request (below). Data bring
// the time of the last switch that knows it to everybody below, and who asks for a round trip time gets it from the first
// switch that knows its own. Not so in sealed sessions, where nobody would vouch for that.

// The report that is timed: {session, receiver, its time_us (low bits), when it passed}; 0: none.
#define TIMED_SESSION_OF(word)  word[143:112]
#define TIMED_RECEIVER_OF(word) word[111:80]
#define TIMED_TIME_OF(word)     word[79:48]
#define TIMED_AT_OF(word)       word[47:0]
typedef bit<144> tfmcc_timed_t;
@name(".tfmcc_timed")
register<tfmcc_timed_t>(FEEDBACK_SESSIONS) tfmcc_timed;

// {session, round trip time (us), when it was measured}.
#define PATH_SESSION_OF(word) word[111:80]
#define PATH_US_OF(word)      word[79:48]
#define PATH_AT_OF(word)      word[47:0]
typedef bit<112> tfmcc_path_t;
@name(".tfmcc_paths")
register<tfmcc_path_t>(FEEDBACK_SESSIONS) tfmcc_paths;

#define LOW_32_OF(time) time[31:0]

// What came down answers the report of `receiver` that left at `time_us` on its clock, which somebody has held for
// `held_us`; from there to the sender it takes `beyond_us`.
control end_timing(in metadata_t meta, in bit<32> session, in bit<32> receiver, in bit<32> time_us, in bit<32> held_us,
                   in bit<32> beyond_us) {
    apply {
        tfmcc_timed_t timed;
        bit<32> index = SESSION_ROW(session);
        tfmcc_timed.read(timed, index);
        bit<48> took_us = meta.now - TIMED_AT_OF(timed);
        if (TIMED_SESSION_OF(timed) == session && TIMED_RECEIVER_OF(timed) == receiver && TIMED_TIME_OF(timed) == time_us
                && TIMED_AT_OF(timed) != 0 && took_us >= (bit<48>)held_us && took_us < TFMCC_PATH_AGE_US) {
            tfmcc_timed.write(index, 0);
            tfmcc_paths.write(index, session ++ ((bit<32>)took_us - held_us + beyond_us) ++ meta.now);
        }
    } // apply
} // end_timing

// What is known of the path; 0: nothing.
control read_path(in metadata_t meta, in bit<32> session, out bit<32> path_us) {
    apply {
        tfmcc_path_t path;
        tfmcc_paths.read(path, SESSION_ROW(session));
        path_us = 0;
        if (PATH_SESSION_OF(path) == session && PATH_AT_OF(path) != 0 && meta.now - PATH_AT_OF(path) < TFMCC_PATH_AGE_US) {
            path_us = PATH_US_OF(path);
        }
    } // apply
} // read_path

// Data on its way down: a receiver's time may come back in it, and what is known here goes along.
control tell_path(inout headers_t hdr, inout metadata_t meta) {
    apply {
        bit<32> path_us;
        if (FLAG_OF(hdr, TFMCC_BIT_ECHO) == 1) {
            end_timing.apply(meta, hdr.canopy.session, hdr.tfmcc_data.echo_receiver, LOW_32_OF(hdr.tfmcc_data.echo_time_us),
                             hdr.tfmcc_data.echo_held_us, 0);
        }
        read_path.apply(meta, hdr.canopy.session, path_us);
        if (path_us != 0) {
            bit<32> units = (path_us >> TFMCC_PATH_SHIFT) + 1;
            if (units > 0xffff) {
                units = 0xffff;
            }
            replace_in_sum.apply(hdr.udp, hdr.tfmcc_data.path_rtt, (bit<16>)units);
            hdr.tfmcc_data.path_rtt = (bit<16>)units;
        }
    } // apply
} // tell_path

// An answer to a report, from the sender's side.
control note_answer(in headers_t hdr, in metadata_t meta) {
    apply {
        if (meta.assisted.kind == assisted_t.tfmcc_join_ack) {
            end_timing.apply(meta, meta.assisted.session, meta.assisted.value, meta.assisted.row, 0, 0);
        } else {
            end_timing.apply(meta, meta.assisted.session, hdr.tfmcc_report.receiver, LOW_32_OF(hdr.tfmcc_report.time_us), 0,
                             LOW_32_OF(hdr.tfmcc_report.echo_time_us));
        }
    } // apply
} // note_answer

// A report passes: it is timed unless another one is. The CLR's takes the place of others', for it is answered for sure.
control time_report(in headers_t hdr, in metadata_t meta, in tfmcc_session_t row, in bit<48> patience_us) {
    apply {
        tfmcc_timed_t timed;
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        tfmcc_timed.read(timed, index);
        if (TIMED_AT_OF(timed) == 0 || TIMED_SESSION_OF(timed) != hdr.canopy.session
                || meta.now - TIMED_AT_OF(timed) >= patience_us
                || (meta.merge.outcome == feedback_t.limiting && TIMED_RECEIVER_OF(timed) != TFMCC_CLR_OF(row))) {
            tfmcc_timed.write(index, hdr.canopy.session ++ hdr.tfmcc_report.receiver ++ LOW_32_OF(hdr.tfmcc_report.time_us)
                              ++ meta.now);
        }
    } // apply
} // time_report

// A report of a receiver without a round trip time. Where the switch knows its own to the sender, it sends the report back,
// with that in it. Else it passes: one a port and round, and where a switch nearer to the sender knows, one at a time.
control answer_request(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata,
                       in tfmcc_session_t row, in bit<48> patience_us, inout merged_ports_t asked) {
    apply {
        bit<32> path_us;
        tfmcc_timed_t timed;
        read_path.apply(meta, hdr.canopy.session, path_us);
        tfmcc_timed.read(timed, SESSION_ROW(hdr.canopy.session));
        if (path_us != 0 && meta.assisted.headed == 0) {
            hdr.canopy.flags = hdr.canopy.flags | FLAG(TFMCC_BIT_ANSWER);
            hdr.tfmcc_report.echo_time_us = (bit<64>)path_us;
            send_back.apply(hdr, meta, standard_metadata);
        } else if ((asked & meta.merge.ingress_bit) == 0
                   || (TFMCC_PATH_OF(row) != 0
                       && (TIMED_AT_OF(timed) == 0 || TIMED_SESSION_OF(timed) != hdr.canopy.session
                           || meta.now - TIMED_AT_OF(timed) >= patience_us))) {
            meta.merge.outcome = feedback_t.request;
            asked = asked | meta.merge.ingress_bit;
        } else {
            meta.merge.outcome = feedback_t.suppressed;
        }
    } // apply
} // answer_request

// Data on its way down: rounds, the CLR and what is confirmed are learnt from it and from nothing else. Data of an older round
// than the last has been overtaken.
control note_round(inout headers_t hdr, inout metadata_t meta) {
    apply {
        tfmcc_session_t row;
        bit<32> ms = MS_NOW(meta);
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        tfmcc_sessions.read(row, index);
        bit<1> idle = 0;
        if (TFMCC_MS_OF(row) == 0 || ms - TFMCC_MS_OF(row) > TFMCC_IDLE_MS) {
            idle = 1;
        }
        if (hdr.udp.length >= TFMCC_DATA_UDP_BYTES
                && (idle == 1 || (TFMCC_SESSION_OF(row) == hdr.canopy.session && TFMCC_SENDER_OF(row) == meta.source))) {
            if (idle == 1 || (int<16>)(hdr.tfmcc_data.round - TFMCC_ROUND_OF(row)) >= 0) {
                tfmcc_sessions.write(index, hdr.canopy.session ++ meta.source ++ ms ++ hdr.tfmcc_data.round
                                     ++ hdr.tfmcc_data.patience ++ hdr.tfmcc_data.max_rtt
                                     ++ hdr.tfmcc_data.least_share ++ hdr.tfmcc_data.clr
                                     ++ meta.assisted.headed ++ (bit<15>)meta.ingress_port ++ hdr.tfmcc_data.path_rtt);
                tfmcc_echoes.write((index << 1) | (bit<32>)PARITY_OF(hdr.tfmcc_data.round),
                                   hdr.tfmcc_data.round ++ hdr.tfmcc_data.suppression
                                   ++ hdr.tfmcc_data.suppression_no_rtt ++ 7w1 ++ FLAG_OF(hdr, TFMCC_BIT_SUPPRESSION_LOSS));
            }
            if (meta.assisted.headed == 0) {
                tell_path.apply(hdr, meta);
            }
            mark_suppressed.apply(hdr);
        }
    } // apply
} // note_round

#endif
