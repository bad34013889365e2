#ifndef CANOPY_FORWARDING_IPV4_P4
#define CANOPY_FORWARDING_IPV4_P4

#include "../include/checksum.p4"

// A host sends from its own address (RFC 2827), so that nobody joins, leaves or reports in another's name. Ports that the
// table does not know may send from any: those to other switches, and all before the controller has said so.
control check_source(in headers_t hdr, inout metadata_t meta) {
    action permit() {
    }

    action deny() {
        meta.drop_reason = drop_reason_t.spoofed_source;
    }

    @name(".source_guard")
    table source_guard {
        key = {
            meta.ingress_port : exact @name("port");
            hdr.ipv4.source   : lpm   @name("source");
        }
        actions = { permit; deny; }
        const default_action = permit();
        size = 4096;    // as many as ipv4_lpm has: a shared port has many hosts
    }

    apply {
        if (meta.from_cpu == 0) {
            source_guard.apply();
        }
    } // apply
} // check_source

// What RFC 1812 5.2.2 and 5.3.7 ask of a router before it forwards, in that order. The first fault names the reason.
control check_ipv4(inout headers_t hdr, inout metadata_t meta, in standard_metadata_t standard_metadata) {
    apply {
        bit<16> header_length = (bit<16>)hdr.ipv4.ihl << 2;
        bit<32> frame_length = (bit<32>)hdr.ipv4.total_length + (bit<32>)ETHERNET_BYTES;
        if (meta.from_cpu == 1) {
            frame_length = frame_length + PACKET_OUT_BYTES;
        }
        bit<8> source_net = NET_OF(hdr.ipv4.source);
        bit<8> destination_net = NET_OF(hdr.ipv4.destination);

        if (hdr.ipv4.version != 4) {
            meta.drop_reason = drop_reason_t.ipv4_version;
        } else if (hdr.ipv4.ihl < 5) {
            meta.drop_reason = drop_reason_t.ipv4_header;
        } else if (hdr.ipv4.total_length < header_length || standard_metadata.packet_length < frame_length) {
            meta.drop_reason = drop_reason_t.ipv4_length;
        } else if (standard_metadata.checksum_error == 1) {
            if (hdr.igmp.isValid()) {
                meta.drop_reason = drop_reason_t.igmp_checksum;
            } else if (IS_FEEDBACK(hdr)) {
                meta.drop_reason = drop_reason_t.udp_checksum;
            } else {
                meta.drop_reason = drop_reason_t.ipv4_checksum;
            }
        } else if (source_net >= NET_MULTICAST || source_net == NET_LOOPBACK || destination_net >= NET_RESERVED
                   || destination_net == NET_LOOPBACK || destination_net == NET_THIS
                   || (source_net == NET_THIS && !hdr.igmp.isValid())) {   // 0.0.0.0 may report: RFC 3376 4.2.13
            meta.drop_reason = drop_reason_t.martian;
        } else {
            check_source.apply(hdr, meta);
        }
    } // apply
} // check_ipv4

// One hop: TTL and, with it, the header's checksum (RFC 1624, equation 3: m - m' is 0x0100).
control decrement_ttl(inout ipv4_t ipv4) {
    apply {
        bit<32> sum = (bit<32>)(~ipv4.checksum) + 32w0xfeff;
        ipv4.checksum = ~FOLDED(sum);
        ipv4.ttl = ipv4.ttl - 1;
    } // apply
} // decrement_ttl

#endif
