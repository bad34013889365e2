#ifndef CANOPY_RLA_SUMMARY_P4
#define CANOPY_RLA_SUMMARY_P4

#include "metadata.p4"
#include "ttl.p4"

// An acknowledgment becomes a summary. It echoes nothing: round trip times are taken from what passes as it is.
control write_ack_summary(inout headers_t hdr, inout metadata_t meta) {
    apply {
        hdr.canopy.flags = RLA_FLAG_MERGE | RLA_FLAG_MERGED;
        hdr.rla_ack.cumulative = meta.summary.cumulative;
        hdr.rla_ack.window = meta.summary.window;
        hdr.rla_ack.echo_time_us = 0;
        hdr.rla_ack.children = meta.summary.children;
        hdr.rla_ack.sack = meta.summary.sack;
        meta.merged = 1;
    } // apply
} // write_ack_summary

// In egress: the clone of an acknowledgment that passed as it is, when there was news of others, too.
control write_cloned_summary(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.rla_ack.isValid()) {
            hdr.ethernet.source = meta.switch_mac;
            hdr.ethernet.destination = meta.summary_to;
            decrement_ttl.apply(hdr.ipv4);
            write_ack_summary.apply(hdr, meta);
        } else {
            mark_to_drop(standard_metadata);    // it came by packet-out
        }
    } // apply
} // write_cloned_summary

#endif
