#ifndef CANOPY_RMT_MINIMA_P4
#define CANOPY_RMT_MINIMA_P4

#include "members.p4"

// RLA's acknowledgments without holes: the first packet that somebody lacks, the least window, and whose they are. Each
// register is a pair of words that a packet reads and writes once, one after the other (docs/hardware.md, "Minima"). Of
// eight ports and 32 receivers.
#define MS_NOW(meta) ((bit<32>)(meta.now >> 10) | 1)    // as assist/sessions.p4
const bit<32> SILENCE_MS = 488;     // RLA_SILENCE_US in 1.024 ms
const bit<32> UNHEARD_MS = FEEDBACK_IDLE_MS - SILENCE_MS;   // a row's last session is silent everywhere before it is taken
const bit<32> NO_WINDOW = 0xffffffff;

// What an acknowledgment asks of the cells of its own port.
enum bit<2> act_t {
    none   = 0,
    says   = 1,
    unsays = 2      // a hole, or who leaves: it is in no summary until it says something again
}

struct said_t {
    bit<32> row;
    bit<32> key;            // of session and sender
    bit<32> now_ms;
    act_t   act;
    bit<1>  is_summary;
    bit<32> children;
    bit<32> cumulative;
    bit<32> window;
    bit<32> end;            // the first packet that has not passed
}

struct found_t {
    bit<1> known;           // the port speaks for the same as before
    bit<1> shared_port;     // for somebody else
    bit<1> stale;
    bit<1> again;
}

// What a port adds: whom it speaks for, how far the one who lacks most is behind, the least window.
struct part_t {
    bit<32> children;
    bit<32> behind;
    bit<32> window;
}

// The session's row: who has it, {session and sender's hash, when data came last}, and the highest packet that passed.
control find_row(inout metadata_t meta, inout said_t said, in bit<1> is_data, in bit<32> session, in ipv4_address_t sender,
                 out bit<1> known) {
    register<pair_t>(FEEDBACK_SESSIONS) owners;
    register<bit<32>>(FEEDBACK_SESSIONS) highest;

    apply {
        pair_t owner;
        bit<32> last;
        said.row = SESSION_ROW(session);
        said.now_ms = MS_NOW(meta);
        hash(said.key, HashAlgorithm.crc32, 32w0, { session, sender }, 64w0x100000000);
        known = 0;
        bit<1> taken = 0;
        owners.read(owner, said.row);
        bit<32> idle = said.now_ms - SECOND_OF(owner);
        if (is_data == 1) {
            if (SECOND_OF(owner) == 0 || idle >= FEEDBACK_IDLE_MS) {
                taken = 1;
            } else if (FIRST_OF(owner) == said.key) {
                known = 1;
            }
            if ((taken | known) == 1) {
                owners.write(said.row, said.key ++ said.now_ms);
            }
        } else if (FIRST_OF(owner) == said.key && idle < UNHEARD_MS) {
            known = 1;
        }

        highest.read(last, said.row);
        if (taken == 1 || (is_data == 1 && known == 1 && (int<32>)(meta.assisted.value - last) >= 0)) {
            highest.write(said.row, meta.assisted.value);
        }
        said.end = last + 1;
    } // apply
} // find_row

// One port of a row: {when, whom it speaks for} and {first packet missing, window}.
control hear_port(in said_t said, in bit<1> own, inout found_t found, out part_t part) {
    register<pair_t>(FEEDBACK_SESSIONS) whom;
    register<pair_t>(FEEDBACK_SESSIONS) what;

    apply {
        pair_t pair;
        whom.read(pair, said.row);
        part.children = SECOND_OF(pair);
        if (said.now_ms - FIRST_OF(pair) > SILENCE_MS) {
            part.children = 0;
        }
        bit<1> writes = 0;
        if (own == 1 && said.act == act_t.says) {
            if (part.children == said.children) {
                found.known = 1;
                writes = 1;
            } else if (part.children == 0 || said.is_summary == 1) {
                writes = 1;
            } else {
                found.shared_port = 1;
            }
        }
        if (writes == 1) {
            whom.write(said.row, said.now_ms ++ said.children);
            part.children = said.children;
        } else if (own == 1 && said.act == act_t.unsays) {
            whom.write(said.row, 0);
            part.children = 0;
        }

        what.read(pair, said.row);
        part.behind = said.end - FIRST_OF(pair);
        part.window = SECOND_OF(pair);
        bit<32> ahead = said.cumulative - FIRST_OF(pair);
        if (writes == 1) {
            if (found.known == 1 && (int<32>)ahead < 0) {
                found.stale = 1;
            } else {
                if (found.known == 1 && ahead == 0) {
                    found.again = 1;
                }
                what.write(said.row, said.cumulative ++ said.window);
                part.behind = said.end - said.cumulative;
                part.window = said.window;
            }
        }
        if (part.children == 0 || part.behind > SACK_BITS) {
            part.children = 0;
            part.behind = 0;
            part.window = NO_WINDOW;
        }
    } // apply
} // hear_port

control join_parts(inout part_t part, in part_t other) {
    apply {
        part.children = part.children | other.children;
        if (other.behind > part.behind) {
            part.behind = other.behind;
        }
        if (other.window < part.window) {
            part.window = other.window;
        }
    } // apply
} // join_parts

// The arriving packet's own part is kept apart from the others'.
#define HEAR(P) \
    own = 0; \
    if (meta.ingress_port == P) { own = 1; } \
    port##P.apply(said, own, found, part##P); \
    if (own == 1) { \
        mine = part##P; \
        part##P = { 0, 0, NO_WINDOW }; \
    }

control all_ports(in metadata_t meta, in said_t said, inout found_t found, out part_t mine, out part_t others) {
    hear_port() port1;
    hear_port() port2;
    hear_port() port3;
    hear_port() port4;
    hear_port() port5;
    hear_port() port6;
    hear_port() port7;
    hear_port() port8;

    apply {
        bit<1> own;
        part_t part1;
        part_t part2;
        part_t part3;
        part_t part4;
        part_t part5;
        part_t part6;
        part_t part7;
        part_t part8;
        mine = { 0, 0, NO_WINDOW };
        HEAR(1) HEAR(2) HEAR(3) HEAR(4) HEAR(5) HEAR(6) HEAR(7) HEAR(8)
        join_parts.apply(part1, part2);
        join_parts.apply(part3, part4);
        join_parts.apply(part5, part6);
        join_parts.apply(part7, part8);
        join_parts.apply(part1, part3);
        join_parts.apply(part5, part7);
        join_parts.apply(part1, part5);
        others = part1;
    } // apply
} // all_ports

// Whether the aggregate says what was not said. {key, who was in it last}: it is compared with the last one that there was,
// whether it was sent or not. {first packet missing, when} of the last summary.
control compare_with_last(in metadata_t meta, in said_t said, in bit<32> children, in bit<32> cumulative, in bit<1> again,
                          in bit<1> passes, out bit<1> advanced, out bit<1> emit) {
    register<pair_t>(FEEDBACK_SESSIONS) seen;
    register<pair_t>(FEEDBACK_SESSIONS) sent;

    apply {
        pair_t pair;
        seen.read(pair, said.row);
        bit<32> known = 0;
        if (FIRST_OF(pair) == said.key) {
            known = SECOND_OF(pair);
        }
        seen.write(said.row, said.key ++ children);

        sent.read(pair, said.row);
        bit<32> now_us = (bit<32>)meta.now;
        advanced = 0;
        if ((children & ~known) != 0 || (int<32>)(cumulative - FIRST_OF(pair)) > 0) {
            advanced = 1;
        }
        emit = advanced;
        if (passes == 0 && again == 1 && now_us - SECOND_OF(pair) >= (bit<32>)FEEDBACK_PERIOD_US) {
            emit = 1;
        }
        if (emit == 1) {
            sent.write(said.row, cumulative ++ now_us);
        }
    } // apply
} // compare_with_last

control write_minima(inout headers_t hdr, in summary_t summary) {
    apply {
        hdr.canopy.flags = FLAG(RLA_BIT_MERGE) | FLAG(RLA_BIT_MERGED);
        hdr.rla_ack.cumulative = summary.cumulative;
        hdr.rla_ack.window = summary.window;
        hdr.rla_ack.echo_time_us = 0;
        hdr.rla_ack.children = summary.children;
        hdr.rla_ack.sack = 0;
    } // apply
} // write_minima

// As assist/assist.p4 and assist/rla/rla.p4, after the packet was routed.
control assist_feedback(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".feedback")
    counter(32, CounterType.packets) feedback;

    find_row() row;
    all_ports() ports;
    compare_with_last() last;

    action set_assist(port_bitmap_t switch_ports) {
        meta.assist = 1;
        meta.switch_ports = (merged_ports_t)switch_ports;
    }

    action no_assist() {
        meta.assist = 0;
    }

    @name(".assist")
    table assist {
        actions = { set_assist; no_assist; }
        default_action = no_assist;
    }

    // A host speaks for itself alone.
    action is_own() {
    }

    #define ONLY(NUMBER) (NUMBER, 32w1 << NUMBER) : is_own();
    table own_child {
        key = {
            hdr.rla_ack.number         : exact @name("number");
            hdr.rla_ack.children[31:0] : exact @name("children");
        }
        actions = { is_own; NoAction; }
        const default_action = NoAction();
        const entries = {
            ONLY(0) ONLY(1) ONLY(2) ONLY(3) ONLY(4) ONLY(5) ONLY(6) ONLY(7)
            ONLY(8) ONLY(9) ONLY(10) ONLY(11) ONLY(12) ONLY(13) ONLY(14) ONLY(15)
            ONLY(16) ONLY(17) ONLY(18) ONLY(19) ONLY(20) ONLY(21) ONLY(22) ONLY(23)
            ONLY(24) ONLY(25) ONLY(26) ONLY(27) ONLY(28) ONLY(29) ONLY(30) ONLY(31)
        }
    }

    apply {
        bit<1> is_data = 0;
        bit<1> known;
        said_t said = { 0, 0, 0, act_t.none, 0, 0, 0, 0, 0 };
        bit<32> session = meta.assisted.session;
        ipv4_address_t sender = hdr.ipv4.destination;
        if (IS_MULTICAST(hdr.ipv4.destination)) {
            is_data = 1;
            sender = hdr.ipv4.source;
        }
        assist.apply();
        row.apply(meta, said, is_data, session, sender, known);
        if (is_data == 0 && meta.assist == 1 && meta.ingress_port <= 8) {
            bit<1> from_switch = 0;
            if ((meta.switch_ports & ((merged_ports_t)meta.ingress_bit)) != 0) {
                from_switch = 1;
            }
            bit<1> is_host = 0;
            if (meta.assisted.kind == assisted_t.rla_ack) {
                if (own_child.apply().hit) {
                    is_host = 1;
                }
            }
            bit<1> passes = 0;
            if (meta.assisted.kind == assisted_t.rla_abort) {
                if (from_switch == 0 && known == 1) {
                    said.act = act_t.unsays;
                }
            } else if (FLAG_OF(hdr, RLA_BIT_MERGED) == 1 && from_switch == 0) {
                meta.drop_reason = drop_reason_t.forged_feedback;
            } else {
                passes = FLAG_OF(hdr, RLA_BIT_PASS);
                said.is_summary = FLAG_OF(hdr, RLA_BIT_MERGED);
                said.children = hdr.rla_ack.children[31:0];
                said.cumulative = hdr.rla_ack.cumulative;
                said.window = hdr.rla_ack.window;
                if (hdr.rla_ack.number >= 32 || hdr.rla_ack.children[127:32] != 0
                        || (said.is_summary == 1 && (FLAG_OF(hdr, RLA_BIT_MERGE) == 0 || said.children == 0))
                        || (said.is_summary == 0 && FLAG_OF(hdr, RLA_BIT_MERGE) == 1 && is_host == 0)) {
                    meta.merge.outcome = feedback_t.malformed;
                } else if (known == 0 || said.end - said.cumulative > SACK_BITS) {
                    meta.merge.outcome = feedback_t.out_of_range;
                } else if (FLAG_OF(hdr, RLA_BIT_MERGE) == 0) {
                    said.act = act_t.unsays;
                    meta.merge.outcome = feedback_t.hole;
                } else if (hdr.rla_ack.sack == 0) {
                    said.act = act_t.says;
                    meta.merge.outcome = feedback_t.absorbed;
                    if (passes == 1) {
                        meta.merge.outcome = feedback_t.sample;
                    }
                }
            }

            if (said.act != act_t.none) {
                found_t found = { 0, 0, 0, 0 };
                part_t mine;
                part_t others;
                ports.apply(meta, said, found, mine, others);
                if (meta.assisted.kind == assisted_t.rla_abort) {
                    // passes
                } else if (found.shared_port == 1
                           || (said.act == act_t.says && (others.children & said.children) != 0)) {
                    meta.merge.outcome = feedback_t.shared_port;
                } else if (found.stale == 1) {
                    meta.merge.outcome = feedback_t.stale;
                } else if (others.children == 0) {
                    if (meta.merge.outcome == feedback_t.absorbed) {
                        meta.merge.outcome = feedback_t.alone;
                    }
                } else {
                    bit<1> advanced;
                    bit<1> emit;
                    join_parts.apply(others, mine);
                    meta.summary.children = (children_t)others.children;
                    meta.summary.cumulative = said.end - others.behind;
                    meta.summary.window = others.window;
                    last.apply(meta, said, others.children, meta.summary.cumulative, found.again, passes, advanced, emit);
                    if (passes == 1) {
                        if (advanced == 1) {
                            meta.summary_to = hdr.ethernet.destination;
                            clone_preserving_field_list(CloneType.I2E, (bit<32>)standard_metadata.egress_spec,
                                                        FIELDS_SUMMARY);
                        }
                    } else if (emit == 1) {
                        write_minima.apply(hdr, meta.summary);
                        meta.merged = 1;
                        meta.merge.outcome = feedback_t.summary;
                    } else {
                        mark_to_drop(standard_metadata);
                    }
                }
            }
            if (meta.merge.outcome != feedback_t.none) {
                feedback.count((bit<32>)(bit<8>)meta.merge.outcome);
            }
        }
    } // apply
} // assist_feedback

#endif
