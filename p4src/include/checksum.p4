#ifndef CANOPY_INCLUDE_CHECKSUM_P4
#define CANOPY_INCLUDE_CHECKSUM_P4

#include "metadata.p4"

// A sum of two 16-bit words in ones' complement: the carry comes in again.
#define FOLDED(sum) (sum[15:0] + sum[31:16])

// All of a packet that its UDP checksum covers (RFC 768), up to its protocol's own fields.
#define UDP_FIELDS \
      hdr.ipv4.source, hdr.ipv4.destination, 8w0, hdr.ipv4.protocol, hdr.udp.length, \
      hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length, \
      hdr.canopy.version, hdr.canopy.protocol, hdr.canopy.type, hdr.canopy.flags, hdr.canopy.session
#define FEEDBACK_FIELDS \
    { UDP_FIELDS, \
      hdr.feedback.cumulative, hdr.feedback.held_us, hdr.feedback.echo_time_us, hdr.feedback.repair_echo_us, \
      hdr.feedback.min_cwnd, hdr.feedback.max_twnd, hdr.feedback.window, hdr.feedback.queue_us, \
      hdr.feedback.bound_us, hdr.feedback.number, hdr.feedback.repeats, hdr.feedback.children, \
      hdr.feedback.holders, hdr.feedback.sack }
#define RLA_ACK_FIELDS \
    { UDP_FIELDS, hdr.rla_ack.cumulative, hdr.rla_ack.window, hdr.rla_ack.echo_time_us, hdr.rla_ack.number, \
      hdr.rla_ack.reserved, hdr.rla_ack.children, hdr.rla_ack.sack }
#define TFMCC_REPORT_FIELDS \
    { UDP_FIELDS, hdr.tfmcc_report.receiver, hdr.tfmcc_report.round, hdr.tfmcc_report.rate, hdr.tfmcc_report.rtt, \
      hdr.tfmcc_report.far_rtt, hdr.tfmcc_report.loss_rate, hdr.tfmcc_report.receive_rate, \
      hdr.tfmcc_report.stands_for, hdr.tfmcc_report.echo_time_us, hdr.tfmcc_report.held_us, hdr.tfmcc_report.time_us }
#define VLMCC_CHALLENGE_FIELDS \
    { UDP_FIELDS, hdr.vlmcc_challenge.receiver, hdr.vlmcc_challenge.rate, hdr.vlmcc_challenge.cwnd, \
      hdr.vlmcc_challenge.rtt_us, hdr.vlmcc_challenge.base_rtt_us, hdr.vlmcc_challenge.seq, \
      hdr.vlmcc_challenge.time_comp_us }
#define ARBOR_REPORT_FIELDS \
    { UDP_FIELDS, hdr.arbor_report.receiver, hdr.arbor_report.cwnd, hdr.arbor_report.rtt_us, hdr.arbor_report.rate, \
      hdr.arbor_report.seq, hdr.arbor_report.time_comp_us }
#define ARBOR_BLOCKS_FIELDS \
    { UDP_FIELDS, hdr.arbor_blocks.receiver, hdr.arbor_blocks.seq, hdr.arbor_blocks.delivered, \
      hdr.arbor_blocks.reserved8, hdr.arbor_blocks.count, hdr.arbor_blocks.reserved, hdr.arbor_blocks.block, \
      hdr.arbor_blocks.packets, hdr.arbor_blocks.need_reserved }
#define ARBOR_JOIN_FIELDS \
    { UDP_FIELDS, hdr.arbor_join.receiver, hdr.arbor_join.stands_for, hdr.arbor_join.time_us, hdr.arbor_join.time_comp_us }
// Of these the UDP checksum is verified.
#define IS_FEEDBACK(hdr) \
    (hdr.feedback.isValid() || hdr.rla_ack.isValid() || hdr.tfmcc_report.isValid() || hdr.vlmcc_challenge.isValid() \
     || hdr.arbor_report.isValid() || hdr.arbor_blocks.isValid() || hdr.arbor_join.isValid())

// All set the same standard_metadata.checksum_error. A later pass of a report was verified in the first one.
control canopy_verify_checksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(
            hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source,
              hdr.ipv4.destination, hdr.ipv4_options.options },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        verify_checksum_with_payload(
            hdr.igmp.isValid() && meta.cursor.passes == 0,
            { hdr.igmp.type, hdr.igmp.code, hdr.igmp.body },
            hdr.igmp.checksum, HashAlgorithm.csum16);
        // What is merged gets a checksum of ours: damage must not be hidden by it, nor silence others. 0 means that there is
        // none, and a sum that is 0 is sent as 0xffff (RFC 768), which no calculation gives.
        verify_checksum(
            hdr.feedback.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            FEEDBACK_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.rla_ack.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            RLA_ACK_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.tfmcc_report.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            TFMCC_REPORT_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.vlmcc_challenge.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            VLMCC_CHALLENGE_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.arbor_report.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            ARBOR_REPORT_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.arbor_blocks.isValid() && !hdr.hop.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            ARBOR_BLOCKS_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        verify_checksum(
            hdr.arbor_join.isValid() && hdr.udp.checksum != 0 && hdr.udp.checksum != 0xffff,
            ARBOR_JOIN_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

// Only a report of our own is summed afresh; a forwarded packet's checksum is adjusted with its TTL (forwarding/ipv4.p4).
control canopy_update_checksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(
            hdr.record.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.tos, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source,
              hdr.ipv4.destination, hdr.router_alert.option },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum(
            hdr.record.isValid(),
            { hdr.igmp.type, hdr.igmp.code, hdr.igmp.body, hdr.record.type, hdr.record.auxiliary_length,
              hdr.record.number_of_sources, hdr.record.group, hdr.source.address },
            hdr.igmp.checksum, HashAlgorithm.csum16);
        // A sum of 0 should leave as 0xffff (RFC 768); as it is, one summary in 65,536 is protected by Ethernet only.
        update_checksum(
            meta.merged == 1 && hdr.feedback.isValid() && !hdr.hop.isValid(),
            FEEDBACK_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(
            meta.merged == 1 && hdr.rla_ack.isValid() && !hdr.hop.isValid(),
            RLA_ACK_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(
            meta.merged == 1 && hdr.tfmcc_report.isValid() && !hdr.hop.isValid(),
            TFMCC_REPORT_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
        update_checksum(
            meta.merged == 1 && hdr.arbor_join.isValid(),
            ARBOR_JOIN_FIELDS,
            hdr.udp.checksum, HashAlgorithm.csum16);
    }
}

#endif
