#ifndef CANOPY_RLA_AGGREGATE_P4
#define CANOPY_RLA_AGGREGATE_P4

#include "rla_state.p4"
#include "mtcp_summary.p4"

// One port joins the aggregate, unless it is silent or too far behind to be told. Bit i of `missing` is packet base + i; until
// all are added meta.summary.cumulative is that base.
control add_branch(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.ahead = other.sack[543:512] - meta.summary.cumulative;
        if ((bit<32>)meta.now - RLA_HEARD_OF(other.heard) <= RLA_SILENCE_US && other.ahead <= RLA_REACH) {
            meta.merge.others = 1;
            meta.summary.children = meta.summary.children | other.holders;
            if (RLA_WINDOW_OF(other.heard) < meta.summary.window) {
                meta.summary.window = RLA_WINDOW_OF(other.heard);
            }
            add_missing.apply(other, meta);
        }
    } // apply
} // add_branch

#define ADD_BRANCH(P) \
    if (meta.merge.waiting[P:P] == 1) { \
        rla_children.read(other.holders, (meta.merge.slot << 4) | P); \
        rla_times.read(other.heard, (meta.merge.slot << 4) | P); \
        rla_sacks.read(other.sack, (meta.merge.slot << 4) | P); \
        add_branch.apply(other, meta); \
    }

// The other ports. `passed`: how many packets from `cumulative` on have passed; the last RLA_REACH of all are looked at.
control aggregate_branches(in bit<32> cumulative, in bit<32> passed, inout other_port_t other, inout metadata_t meta) {
    apply {
        meta.merge.waiting = meta.merge.ports & ~meta.ingress_bit;
        meta.merge.others = 0;
        meta.merge.missing = 0;
        meta.summary.children = 0;
        meta.summary.window = 0xffffffff;
        meta.summary.cumulative = cumulative + passed - RLA_REACH;
        FOR_ALL_PORTS(ADD_BRANCH)
    } // apply
} // aggregate_branches

// The number of the lowest bit that is set, by bisection; of 513.
#define SKIP(BITS) \
    if (other.missing[BITS-1:0] == 0) { other.missing = other.missing >> BITS; other.ahead = other.ahead + BITS; }

// What nobody lacks, as the first packet that somebody lacks and a bitmap of those behind it.
control finish_aggregate(inout other_port_t other, inout metadata_t meta) {
    apply {
        other.missing = meta.merge.missing;
        other.ahead = 0;
        SKIP(256) SKIP(128) SKIP(64) SKIP(32) SKIP(16) SKIP(8) SKIP(4) SKIP(2) SKIP(1)
        if (other.missing[0:0] == 0) {
            other.ahead = RLA_REACH;
        }
        meta.summary.cumulative = meta.summary.cumulative + other.ahead;
        other.missing = ~meta.merge.missing;
        if (other.ahead[9:9] == 1) {
            other.missing = 0;
        } else {
            if (other.ahead[8:8] == 1) {
                other.missing = other.missing >> 256;
            }
            other.missing = other.missing >> other.ahead[7:0];
        }
        meta.summary.sack = other.missing[512:1];
    } // apply
} // finish_aggregate

// Whether the aggregate says something of somebody that the last summary did not. When a receiver says the same again a
// while after a summary, that may have been lost.
control compare_with_sent(inout other_port_t other, inout metadata_t meta) {
    apply {
        bit<48> sent_at;
        rla_sent_children.read(other.holders, meta.merge.slot);
        rla_sent_sacks.read(other.sack, meta.merge.slot);
        rla_sent_at.read(sent_at, meta.merge.slot);
        other.ahead = meta.summary.cumulative - other.sack[543:512];
        meta.merge.advanced = 0;
        if (sent_at == 0 || (meta.summary.children & ~other.holders) != 0 || (int<32>)other.ahead > 0
                || (other.ahead == 0 && (meta.summary.sack & ~other.sack[511:0]) != 0)) {
            meta.merge.advanced = 1;
        }
        meta.merge.emit = meta.merge.advanced;
        if (meta.merge.again == 1 && meta.now - sent_at >= FEEDBACK_PERIOD_US) {
            meta.merge.emit = 1;
        }
    } // apply
} // compare_with_sent

control note_sent(in metadata_t meta) {
    apply {
        rla_sent_children.write(meta.merge.slot, meta.summary.children);
        rla_sent_sacks.write(meta.merge.slot, meta.summary.cumulative ++ meta.summary.sack);
        rla_sent_at.write(meta.merge.slot, meta.now);
    } // apply
} // note_sent

#endif
