#ifndef CANOPY_FORWARDING_ARP_P4
#define CANOPY_FORWARDING_ARP_P4

#include "../include/metadata.p4"

// Proxy ARP: the switch answers every request for a unicast address with its own MAC address, so that hosts that
// believe in a single subnet send everything to it. A probe (RFC 5227: sender 0.0.0.0) and an announcement (sender is
// target) must not be answered: their senders would see a conflict.
control answer_arp(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.arp.hardware_type == ARP_HARDWARE_ETHERNET && hdr.arp.protocol_type == ETHERTYPE_IPV4
                && hdr.arp.hardware_length == 6 && hdr.arp.protocol_length == 4
                && hdr.arp.operation == ARP_REQUEST
                && hdr.arp.sender_ip != 0 && hdr.arp.sender_ip != hdr.arp.target_ip
                && CLASS_OF(hdr.arp.target_ip) != CLASS_D_E && NET_OF(hdr.arp.target_ip) != NET_THIS) {
            ipv4_address_t asked = hdr.arp.target_ip;
            hdr.ethernet.destination = hdr.arp.sender_mac;
            hdr.ethernet.source = meta.switch_mac;
            hdr.arp.operation = ARP_REPLY;
            hdr.arp.target_mac = hdr.arp.sender_mac;
            hdr.arp.target_ip = hdr.arp.sender_ip;
            hdr.arp.sender_mac = meta.switch_mac;
            hdr.arp.sender_ip = asked;
            standard_metadata.egress_spec = meta.ingress_port;
        } else {
            meta.drop_reason = drop_reason_t.arp_ignored;
        }
    } // apply
} // answer_arp

#endif
