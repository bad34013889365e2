#ifndef CANOPY_ASSIST_SEND_BACK_P4
#define CANOPY_ASSIST_SEND_BACK_P4

#include "../include/metadata.p4"

// What a receiver asked the sender goes back to it as the sender's answer. Its checksum is made anew (`merged`).
control send_back(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        ipv4_address_t receiver = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = receiver;
        bit<16> port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = port;
        hdr.ethernet.destination = meta.assisted.neighbour;
        standard_metadata.egress_spec = meta.ingress_port;
        meta.merge.outcome = feedback_t.answered;
        meta.merged = 1;
    } // apply
} // send_back

#endif
