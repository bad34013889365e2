#ifndef CANOPY_HOPS_HOPS_P4
#define CANOPY_HOPS_HOPS_P4

#include "halfsiphash.p4"

// Feedback that only neighbours can make: from hop to hop it has a counter and a tag under the key of the port, which the
// controller gives to both ends. A switch checks the tag, may merge what it says, and makes another one. docs/security.md says
// what that keeps out. A counter of 0 says that nobody vouches for the packet: then it passes as it is, and is never merged.

// Who sends by a port must count up. Sessions and endpoints of one port have rows, so that two programs of a host need not
// agree with each other.
#define HOP_ROW(port, hdr) \
    ((((bit<32>)port) << HOP_ROWS_LOG) \
     | (((bit<32>)hdr.udp.source_port + hdr.canopy.session + (bit<32>)hdr.ipv4.source[7:0]) & (HOP_ROWS - 1)))
@name(".hop_heard")
register<hop_counter_t>(MAX_PORTS * HOP_ROWS) hop_heard;      // the last counter that was right
@name(".hop_sent")
register<hop_counter_t>(MAX_PORTS) hop_sent;            // the last counter that was given

// What the tag is of, in parts of eight words and three words more: counter, addresses, the common header and the protocol's
// own fields, and zeros where these are fewer.
control load_message(in headers_t hdr, inout metadata_t meta) {
    @hidden @name(".load_head")
    action load_head() {
        meta.mac.parts = 2;
        meta.mac.part0 = 8w0 ++ hdr.hop.counter ++ hdr.ipv4.source ++ hdr.ipv4.destination
                         ++ hdr.udp.source_port ++ hdr.udp.destination_port
                         ++ hdr.canopy.version ++ hdr.canopy.protocol ++ hdr.canopy.type ++ hdr.canopy.flags
                         ++ hdr.canopy.session ++ 32w0;
        meta.mac.last = 0;
    }

    @hidden @name(".load_arbor_report")
    action load_arbor_report() {
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.arbor_report.receiver);
        meta.mac.part1 = hdr.arbor_report.cwnd ++ hdr.arbor_report.rtt_us ++ hdr.arbor_report.rate ++ hdr.arbor_report.seq
                         ++ hdr.arbor_report.time_comp_us ++ 64w0;
    }

    @hidden @name(".load_arbor_blocks")
    action load_arbor_blocks() {
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.arbor_blocks.receiver);
        meta.mac.part1 = hdr.arbor_blocks.seq ++ hdr.arbor_blocks.delivered ++ hdr.arbor_blocks.reserved8
                         ++ hdr.arbor_blocks.count ++ hdr.arbor_blocks.reserved ++ hdr.arbor_blocks.block
                         ++ hdr.arbor_blocks.packets ++ hdr.arbor_blocks.need_reserved ++ 96w0;
    }

    @hidden @name(".load_tfmcc_report")
    action load_tfmcc_report() {
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.tfmcc_report.receiver);
        meta.mac.part1 = hdr.tfmcc_report.round ++ hdr.tfmcc_report.rate ++ hdr.tfmcc_report.rtt ++ hdr.tfmcc_report.far_rtt
                         ++ hdr.tfmcc_report.loss_rate ++ hdr.tfmcc_report.receive_rate ++ hdr.tfmcc_report.stands_for
                         ++ hdr.tfmcc_report.echo_time_us ++ hdr.tfmcc_report.held_us ++ hdr.tfmcc_report.time_us;
    }

    @hidden @name(".load_vlmcc_challenge")
    action load_vlmcc_challenge() {
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.vlmcc_challenge.receiver);
        meta.mac.part1 = hdr.vlmcc_challenge.rate ++ hdr.vlmcc_challenge.cwnd ++ hdr.vlmcc_challenge.rtt_us
                         ++ hdr.vlmcc_challenge.base_rtt_us ++ hdr.vlmcc_challenge.seq ++ hdr.vlmcc_challenge.time_comp_us
                         ++ 32w0;
    }

    @hidden @name(".load_mtcp")
    action load_mtcp() {
        meta.mac.parts = 5;
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.feedback.cumulative);
        meta.mac.part1 = hdr.feedback.held_us ++ hdr.feedback.echo_time_us ++ hdr.feedback.repair_echo_us
                         ++ hdr.feedback.min_cwnd ++ hdr.feedback.max_twnd ++ hdr.feedback.window;
        meta.mac.part2 = hdr.feedback.queue_us ++ hdr.feedback.bound_us ++ hdr.feedback.number ++ hdr.feedback.repeats
                         ++ hdr.feedback.children ++ hdr.feedback.holders[127:96];
        meta.mac.part3 = hdr.feedback.holders[95:0] ++ hdr.feedback.sack[511:352];
        meta.mac.part4 = hdr.feedback.sack[351:96];
        meta.mac.last = hdr.feedback.sack[95:0];
    }

    @hidden @name(".load_rla_ack")
    action load_rla_ack() {
        meta.mac.parts = 4;
        meta.mac.part0 = meta.mac.part0 | (224w0 ++ hdr.rla_ack.cumulative);
        meta.mac.part1 = hdr.rla_ack.window ++ hdr.rla_ack.echo_time_us ++ hdr.rla_ack.number ++ hdr.rla_ack.reserved
                         ++ hdr.rla_ack.children;
        meta.mac.part2 = hdr.rla_ack.sack[511:256];
        meta.mac.part3 = hdr.rla_ack.sack[255:0];
    }

    apply {
        load_head();
        if (hdr.feedback.isValid()) {
            load_mtcp();
        } else if (hdr.rla_ack.isValid()) {
            load_rla_ack();
        } else if (hdr.arbor_report.isValid()) {
            load_arbor_report();
        } else if (hdr.arbor_blocks.isValid()) {
            load_arbor_blocks();
        } else if (hdr.tfmcc_report.isValid()) {
            load_tfmcc_report();
        } else {
            load_vlmcc_challenge();
        }
    } // apply
} // load_message

// On arrival. Wrong or old tags are dropped; `meta.vouches`: it is right, and the packet gets another one when it leaves.
control check_hop(inout headers_t hdr, inout metadata_t meta) {
    bit<1> known = 0;
    bit<1> is_switch = 0;

    // key: of what comes in by the port; is_switch: there is a switch behind it, which may send summaries.
    action set_hop_key(bit<64> key, bit<1> from_switch) {
        known = 1;
        is_switch = from_switch;
        meta.mac.key = key;
    }

    action no_hop_key() {
    }

    @name(".hop_in")
    table hop_in {
        key = { meta.ingress_port : exact @name("port"); }
        actions = { set_hop_key; no_hop_key; }
        const default_action = no_hop_key();
        size = MAX_PORTS;
    }

    apply {
        bit<1> is_summary = 0;
        if (meta.assisted.kind == assisted_t.mtcp_feedback) {
            is_summary = FLAG_OF(hdr, MTCP_BIT_MERGED);
        } else if (meta.assisted.kind == assisted_t.rla_ack) {
            is_summary = FLAG_OF(hdr, RLA_BIT_MERGED);
        }
        hop_in.apply();
        port_t place = meta.ingress_port - 1;
        hop_counter_t last;
        if (known == 1 && hdr.hop.counter != 0 && place < MAX_PORTS) {
            load_message.apply(hdr, meta);
            make_tag.apply(meta);
            bit<32> row = HOP_ROW(place, hdr);
            hop_heard.read(last, row);
            if (meta.mac.tag != hdr.hop.tag) {
                meta.drop_reason = drop_reason_t.hop_tag;
            } else if (hdr.hop.counter <= last) {
                meta.drop_reason = drop_reason_t.hop_replay;
            } else {
                hop_heard.write(row, hdr.hop.counter);
                meta.vouches = 1;
            }
        } else {
            meta.assisted.kind = assisted_t.none;
        }
        if (meta.drop_reason == drop_reason_t.none
                && (IS_MULTICAST(hdr.ipv4.destination)
                    || (is_summary == 1 && (meta.vouches == 0 || is_switch == 0)))) {
            meta.drop_reason = drop_reason_t.forged_feedback;
        }
        if (meta.drop_reason != drop_reason_t.none) {
            meta.copies = 0;
        }
    } // apply
} // check_hop

// In egress: the next hop's counter and tag.
control sign_hop(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    bit<1> known = 0;
    hop_counter_t begin = 0;

    // key: of what goes out by the port; since: what is counted from, above all that was counted before a restart.
    action set_hop_out(bit<64> key, hop_counter_t since) {
        known = 1;
        begin = since;
        meta.mac.key = key;
    }

    action no_hop_out() {
    }

    @name(".hop_out")
    table hop_out {
        key = { standard_metadata.egress_port : exact @name("port"); }
        actions = { set_hop_out; no_hop_out; }
        const default_action = no_hop_out();
        size = MAX_PORTS;
    }

    apply {
        hdr.udp.checksum = 0;       // what a tag is of needs none, and it would be another one at every hop
        hdr.hop.counter = 0;
        hdr.hop.tag = 0;
        if (meta.vouches == 1) {
            hop_out.apply();
            bit<32> place = (bit<32>)(standard_metadata.egress_port - 1);
            if (known == 1 && place < MAX_PORTS) {
                hop_counter_t last;
                hop_sent.read(last, place);
                if (last < begin) {
                    last = begin;
                }
                last = last + 1;
                hop_sent.write(place, last);
                hdr.hop.counter = last;
                load_message.apply(hdr, meta);
                make_tag.apply(meta);
                hdr.hop.tag = meta.mac.tag;
            }
        }
    } // apply
} // sign_hop

#endif
