#ifndef CANOPY_FORWARDING_PACKET_IO_P4
#define CANOPY_FORWARDING_PACKET_IO_P4

#include "../include/metadata.p4"

// A packet-out that leaves as it is. (Modes `receive` and `last` take the ordinary way.)
control send_packet_out(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.packet_out.mode == packet_out_mode_t.egress) {
            standard_metadata.egress_spec = hdr.packet_out.port;
        } else if (hdr.packet_out.mode == packet_out_mode_t.ports) {
            meta.copies = hdr.packet_out.ports;
        } else {
            meta.drop_reason = drop_reason_t.packet_out;
        }
    } // apply
} // send_packet_out

// In egress: a packet for the controller says where it came from and why it is sent.
control add_packet_in(inout headers_t hdr, in metadata_t meta) {
    apply {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = meta.ingress_port;
        hdr.packet_in.reason = meta.packet_in_reason;
    } // apply
} // add_packet_in

#endif
