#ifndef CANOPY_MULTICAST_IGMP_UNKNOWN_P4
#define CANOPY_MULTICAST_IGMP_UNKNOWN_P4

#include "../include/metadata.p4"

// Digest: a join of a group that has no slot: the controller may give it one and replay the report (packet-out, mode receive).
struct unknown_group {
    ipv4_address_t source;      // 0: any source
    ipv4_address_t group;
    bit<16>        port;
    time_us_t      timestamp;
}

// Hosts repeat reports, and a malicious one sends them for 100,000 groups. Each (source, group) hashes to one of the
// port's own places, and a place sends one digest per window: a port bounds its own digests and nobody else's.
control tell_unknown_group(in metadata_t meta) {
    @name(".unknown_reports")
    counter(MAX_PORTS + 1, CounterType.packets) unknown_reports;    // index: port

    // The number of the window in which a place last sent, plus one: 0 is never.
    @name(".unknown_told")
    register<bit<32>>(MAX_PORTS * UNKNOWN_PER_PORT) unknown_told;

    apply {
        unknown_reports.count((bit<32>)meta.ingress_port);

        bit<32> place;
        hash(place, HashAlgorithm.crc32, 32w0, { meta.source, meta.group }, (bit<32>)UNKNOWN_PER_PORT);
        place = place + ((bit<32>)(meta.ingress_port - 1)) * UNKNOWN_PER_PORT;
        bit<32> window = (bit<32>)(meta.now >> UNKNOWN_WINDOW_SHIFT) + 1;
        bit<32> told;
        unknown_told.read(told, place);
        if (told != window) {
            unknown_told.write(place, window);
            digest<unknown_group>(1, { meta.source, meta.group, (bit<16>)meta.ingress_port, meta.now });
        }
    } // apply
} // tell_unknown_group

#endif
