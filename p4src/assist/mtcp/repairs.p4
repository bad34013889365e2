#ifndef CANOPY_ASSIST_MTCP_REPAIRS_P4
#define CANOPY_ASSIST_MTCP_REPAIRS_P4

#include "../../include/checksum.p4"
#include "../merging.p4"
#include "slots.p4"

// A port that asked for the packet of a repair that is addressed to somebody else gets a copy of it, once.
control serve_port(inout other_port_t other, inout metadata_t meta) {
    apply {
        if (WANTS_GENERATION_OF(other.wants) == meta.merge.generation && (WANTED_OF(other.wants) & meta.repaired) != 0) {
            meta.copies = meta.copies | (port_bitmap_t)other.port_bit;
            other.wants = meta.merge.generation ++ 48w0 ++ SERVED_AT_OF(other.wants)
                          ++ (WANTED_OF(other.wants) & ~meta.repaired) ++ (SERVED_OF(other.wants) | meta.repaired)
                          ++ SERVED_BEFORE_OF(other.wants);
        }
    } // apply
} // serve_port

#define SERVE_PORT(P) \
    if (meta.merge.waiting[P:P] == 1) { \
        mtcp_wants.read(other.wants, CELL(meta.merge.slot, P)); \
        other.port_bit = MERGED_BIT(P); \
        serve_port.apply(other, meta); \
        if (meta.copies[P:P] == 1) { \
            mtcp_wants.write(CELL(meta.merge.slot, P), other.wants); \
        } \
    }

// A repair on its way down to one child: the others that asked for this packet get it, too.
control copy_repair(in headers_t hdr, inout other_port_t other, inout metadata_t meta,
                    in standard_metadata_t standard_metadata) {
    apply {
        find_slot.apply(meta.assisted.session, hdr.ipv4.source, meta);
        port_t place = (port_t)standard_metadata.egress_spec - 1;
        if (meta.merge.owned == 1 && place < MERGED_PORTS && MORE_FRAGMENTS_OF(hdr.ipv4) == 0) {
            meta.merge.generation = GENERATION_OF(meta.merge.state);
            meta.merge.cell = CELL(meta.merge.slot, (bit<32>)place);
            meta.repaired = 1;
            if (meta.assisted.value[8:8] == 1) {
                meta.repaired = meta.repaired << 256;
            }
            meta.repaired = meta.repaired << meta.assisted.value[7:0];

            mtcp_nacked_t asked;
            mtcp_nacked.read(asked, meta.merge.slot);
            mtcp_nacked.write(meta.merge.slot, NACKED_GENERATION_OF(asked) ++ NACKED_AT_OF(asked)
                             ++ (NACKED_OF(asked) & ~meta.repaired) ++ (NACKED_BEFORE_OF(asked) & ~meta.repaired));
            mtcp_wants.read(other.wants, meta.merge.cell);
            other.port_bit = 0;
            serve_port.apply(other, meta);
            mtcp_wants.write(meta.merge.cell, other.wants);
            mtcp_addressed.write(meta.merge.cell, meta.merge.generation ++ meta.assisted.time_us);

            merged_ports_t own = MERGED_BIT((bit<8>)place);
            meta.merge.waiting = PORTS_OF(meta.merge.state) & ~meta.merge.ingress_bit & ~own;
            FOR_ALL_PORTS(SERVE_PORT)
            if (meta.copies != 0) {
                meta.copies = meta.copies | (port_bitmap_t)own;
                meta.repair_port = (port_t)standard_metadata.egress_spec;
            }
        }
    } // apply
} // copy_repair

// In egress, a copy of a repair: it goes to the child behind its port that was heard last. A switch below copies it again.
// The checksums follow (RFC 1624, equation 3).
control address_copy(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        mtcp_address_t address;
        mtcp_addresses.read(address, CELL(meta.merge.slot, (bit<32>)(standard_metadata.egress_port - 1)));
        if (ADDRESS_GENERATION_OF(address) != meta.merge.generation) {
            mark_to_drop(standard_metadata);
        } else {
            ipv4_address_t new = ADDRESS_IP_OF(address);
            ipv4_address_t gone = ~hdr.ipv4.destination;
            bit<32> change = (bit<32>)new[31:16] + (bit<32>)new[15:0] + (bit<32>)gone[31:16] + (bit<32>)gone[15:0];
            bit<32> sum = (bit<32>)(~hdr.ipv4.checksum) + change;
            sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
            hdr.ipv4.checksum = ~FOLDED(sum);
            if (hdr.udp.checksum != 0) {
                sum = (bit<32>)(~hdr.udp.checksum) + change + (bit<32>)ADDRESS_PORT_OF(address)
                      + (bit<32>)(~hdr.udp.destination_port);
                sum = (bit<32>)sum[15:0] + (bit<32>)sum[31:16];
                hdr.udp.checksum = ~FOLDED(sum);
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
            hdr.ethernet.destination = ADDRESS_MAC_OF(address);
            hdr.ipv4.destination = new;
            hdr.udp.destination_port = ADDRESS_PORT_OF(address);
        }
    } // apply
} // address_copy

#endif
