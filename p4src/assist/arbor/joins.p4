#ifndef CANOPY_ASSIST_ARBOR_JOINS_P4
#define CANOPY_ASSIST_ARBOR_JOINS_P4

#include "session.p4"
#include "../send_back.p4"

// What a receiver's JOIN asks for is the sender's clock: what it shows when the JOIN arrives. A switch that knows by how much
// that clock is ahead of its own, with the way from here to there, answers it. It learns this from the answer to a JOIN that
// passed. What passes says how many receivers have been answered since the last one that did.

// The JOIN that passed last: {session, receiver (0: it was answered), its time_us (low bits), when it passed (us), how many
// receivers have been answered since}.
#define JOINED_SESSION_OF(word)  word[175:144]
#define JOINED_RECEIVER_OF(word) word[143:112]
#define JOINED_TIME_OF(word)     word[111:80]
#define JOINED_AT_OF(word)       word[79:32]
#define JOINED_SINCE_OF(word)    word[31:0]
typedef bit<176> arbor_joined_t;
@name(".arbor_joined")
register<arbor_joined_t>(FEEDBACK_SESSIONS) arbor_joined;

// The sender's clock on arrival less ours on departure: {session, when that was measured (ms), difference (us)}.
#define CLOCK_SESSION_OF(word) word[127:96]
#define CLOCK_MS_OF(word)      word[95:64]
#define CLOCK_AHEAD_OF(word)   word[63:0]
typedef bit<128> arbor_clock_t;
@name(".arbor_clocks")
register<arbor_clock_t>(FEEDBACK_SESSIONS) arbor_clocks;

#define LOW_TIME_OF(time) time[31:0]

// A JOIN on its way up. One passes in a while; while its answer is awaited and nothing is known, others end here, and their
// receivers repeat them.
control answer_join(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata,
                    in arbor_clock_t clock, in bit<32> clock_ms, in bit<32> trip_ms) {
    apply {
        arbor_joined_t joined;
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        bit<32> since = 0;
        bit<1> waits = 0;
        arbor_joined.read(joined, index);
        if (JOINED_SESSION_OF(joined) == hdr.canopy.session) {
            since = JOINED_SINCE_OF(joined);
            if (JOINED_RECEIVER_OF(joined) != 0 && meta.now - JOINED_AT_OF(joined) < ((bit<48>)trip_ms << 11) + ARBOR_ANSWER_US) {
                waits = 1;
            }
        }
        since = since |+| hdr.arbor_join.stands_for;
        if (waits == 0 && clock_ms >= ARBOR_CLOCK_FRESH_MS) {
            meta.merge.outcome = feedback_t.request;
            hdr.arbor_join.stands_for = since;
            arbor_joined.write(index, hdr.canopy.session ++ hdr.arbor_join.receiver ++ LOW_TIME_OF(hdr.arbor_join.time_us)
                               ++ meta.now ++ 32w0);
            meta.merged = 1;
        } else if (clock_ms < ARBOR_CLOCK_AGE_MS) {
            arbor_joined.write(index, hdr.canopy.session ++ joined[143:32] ++ since);
            hdr.canopy.type = (bit<8>)arbor_type_t.welcome;
            hdr.arbor_join.stands_for = 0;
            hdr.arbor_join.time_comp_us = CLOCK_AHEAD_OF(clock) + (bit<64>)meta.now;
            send_back.apply(hdr, meta, standard_metadata);
        } else {
            meta.merge.outcome = feedback_t.suppressed;
            mark_to_drop(standard_metadata);
        }
    } // apply
} // answer_join

// A WELCOME on its way down, the sender's or a switch's nearer to it. Time that the JOIN waited for it is in both its times.
control note_welcome(in headers_t hdr, in metadata_t meta) {
    apply {
        arbor_joined_t joined;
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        bit<32> ms = MS_NOW(meta);
        arbor_joined.read(joined, index);
        bit<48> took_us = meta.now - JOINED_AT_OF(joined);
        bit<32> waited_us = LOW_TIME_OF(hdr.arbor_join.time_us) - JOINED_TIME_OF(joined);
        if (JOINED_SESSION_OF(joined) == hdr.canopy.session && JOINED_RECEIVER_OF(joined) == hdr.arbor_join.receiver
                && JOINED_RECEIVER_OF(joined) != 0 && took_us < FEEDBACK_IDLE_US && (bit<48>)waited_us <= took_us
                && hdr.arbor_join.stands_for == 0) {
            arbor_joined.write(index, hdr.canopy.session ++ 80w0 ++ joined[63:0]);
            arbor_clocks.write(index, hdr.canopy.session ++ ms
                               ++ (hdr.arbor_join.time_comp_us - (bit<64>)waited_us - (bit<64>)JOINED_AT_OF(joined)));
        }
    } // apply
} // note_welcome

// A JOIN, or a WELCOME, of real-time data: the sender of a file must know each of its receivers.
control assist_join(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        arbor_session_t row;
        arbor_clock_t clock;
        bit<32> index = SESSION_ROW(hdr.canopy.session);
        bit<32> ms = MS_NOW(meta);
        bit<32> clock_ms = ARBOR_CLOCK_AGE_MS;
        arbor_sessions.read(row, index);
        if (hdr.canopy.type == (bit<8>)arbor_type_t.welcome) {
            if (ARBOR_IS_KNOWN(row, hdr.ipv4.source, ms)) {
                note_welcome.apply(hdr, meta);
            }
        } else if (ARBOR_IS_KNOWN(row, hdr.ipv4.destination, ms)) {
            arbor_clocks.read(clock, index);
            if (CLOCK_SESSION_OF(clock) == hdr.canopy.session && CLOCK_MS_OF(clock) != 0) {
                clock_ms = ms - CLOCK_MS_OF(clock);
            }
            answer_join.apply(hdr, meta, standard_metadata, clock, clock_ms, ARBOR_TRIP_OF(row));
        } else {
            meta.merge.outcome = feedback_t.no_slot;
        }
    } // apply
} // assist_join

#endif
