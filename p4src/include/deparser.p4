#ifndef CANOPY_INCLUDE_DEPARSER_P4
#define CANOPY_INCLUDE_DEPARSER_P4

#include "headers.p4"

control canopy_deparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.router_alert);
        packet.emit(hdr.igmp);
        packet.emit(hdr.record);
        packet.emit(hdr.source);
        packet.emit(hdr.udp);
        packet.emit(hdr.canopy);
        packet.emit(hdr.feedback);
        packet.emit(hdr.rla_ack);
        packet.emit(hdr.tfmcc_data);
        packet.emit(hdr.tfmcc_report);
        packet.emit(hdr.vlmcc_data);
        packet.emit(hdr.vlmcc_challenge);
        packet.emit(hdr.arbor_told_data);
        packet.emit(hdr.arbor_report);
        packet.emit(hdr.arbor_blocks);
        packet.emit(hdr.arbor_join);
        packet.emit(hdr.seal);
        packet.emit(hdr.hop);
    }
}

#endif
