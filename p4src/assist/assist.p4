#ifndef CANOPY_ASSIST_P4
#define CANOPY_ASSIST_P4

#include "merging.p4"
#include "sessions.p4"
#include "suppressed.p4"
#include "mtcp/mtcp.p4"
#include "rla/rla.p4"
#include "tfmcc/tfmcc.p4"
#include "vlmcc/vlmcc.p4"
#include "arbor/arbor.p4"

// Packets of protocols that switches help, after they were routed: data on its way down tells how far a session is, and
// feedback on its way up is merged or suppressed. docs/assist.md has the rules and their reasons.
control assist_feedback(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    // index: feedback_t
    @name(".feedback")
    counter(32, CounterType.packets) feedback;

    // One for whoever scans ports: p4c would give each scan variables of its own, which every packet would carry.
    other_port_t other;

    // switch_ports: ports with a switch behind them; only they may bring summaries.
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

    apply {
        bit<1> to_group = 0;
        if (IS_MULTICAST(hdr.ipv4.destination)) {
            to_group = 1;
        }
        if (to_group == 1 && (meta.assisted.kind == assisted_t.mtcp_data || meta.assisted.kind == assisted_t.rla_data)) {
            note_data.apply(meta);      // whether it is needed or not: asking would take longer
        } else {
            port_t bit_number = meta.ingress_port - 1;
            meta.merge.ingress_bit = MERGED_BIT((bit<8>)bit_number);
            assist.apply();
            if (meta.assist == 0) {
                // passes
            } else if (meta.assisted.kind == assisted_t.arbor_told_data) {
                if (to_group == 1) {
                    note_round_trip.apply(hdr, meta);
                }
            } else if (bit_number < MERGED_PORTS && to_group == 1) {
                if (meta.assisted.kind == assisted_t.tfmcc_data) {
                    note_round.apply(hdr, meta);
                } else if (meta.assisted.kind == assisted_t.vlmcc_data) {
                    note_leader.apply(hdr, meta);
                }
            } else if (to_group == 0) {
                other = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
                // Of Arbor nothing is kept of single ports.
                if (meta.assisted.kind == assisted_t.arbor_report || meta.assisted.kind == assisted_t.arbor_blocks) {
                    filter_request.apply(hdr, meta, standard_metadata);
                } else if (meta.assisted.kind == assisted_t.arbor_join) {
                    assist_join.apply(hdr, meta, standard_metadata);
                } else if (bit_number >= MERGED_PORTS) {
                    // passes
                } else if (meta.assisted.kind == assisted_t.mtcp_feedback || meta.assisted.kind == assisted_t.mtcp_probe
                        || meta.assisted.kind == assisted_t.mtcp_abort || meta.assisted.kind == assisted_t.mtcp_repair) {
                    assist_mtcp.apply(hdr, other, meta, standard_metadata);
                } else if (meta.assisted.kind == assisted_t.rla_ack || meta.assisted.kind == assisted_t.rla_abort) {
                    assist_rla.apply(hdr, other, meta, standard_metadata);
                } else if (meta.assisted.kind == assisted_t.tfmcc_report || meta.assisted.kind == assisted_t.tfmcc_join_ack) {
                    suppress_report.apply(hdr, meta, standard_metadata);
                } else if (meta.assisted.kind == assisted_t.vlmcc_challenge) {
                    filter_challenge.apply(hdr, meta, standard_metadata);
                }
                if (meta.merge.outcome != feedback_t.none) {
                    feedback.count((bit<32>)(bit<8>)meta.merge.outcome);
                }
            }
        }
    } // apply
} // assist_feedback

#endif
