// Externs that compute or remember: registers of all widths, counters, meters, hashes and checksums over fields and
// payload.
#include <core.p4>
#include <v1model.p4>

header request_t {
    bit<8>  operation;
    bit<8>  index;
    bit<16> small;
    bit<48> medium;
    bit<128> large;
    bit<13> odd;
    bit<3>  rest;
    bit<16> sum;
    bit<16> payload_sum;
}

header answer_t {
    bit<16> crc16;
    bit<32> crc32;
    bit<16> csum16;
    bit<16> xor16;
    bit<32> identity;
    bit<16> bounded;
    bit<16> small;
    bit<48> medium;
    bit<128> large;
    bit<13> odd;
    bit<3>  rest;
    bit<8>  packet_color;
    bit<8>  byte_color;
    bit<8>  direct_color;
}

struct headers_t {
    request_t request;
    answer_t  answer;
}

struct metadata_t {
    bit<8> direct_color;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.request);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum_with_payload(hdr.request.isValid(), { hdr.request.small, hdr.request.medium },
            hdr.request.payload_sum, HashAlgorithm.csum16);
    }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<16>>(8) smalls;
    register<bit<48>>(8) mediums;
    register<bit<128>>(8) larges;
    register<bit<13>>(8) odds;
    counter(16, CounterType.packets_and_bytes) requests;
    counter(16, CounterType.bytes) octets;
    meter(8, MeterType.packets) packet_meter;
    meter(8, MeterType.bytes) byte_meter;
    direct_meter<bit<8>>(MeterType.bytes) direct_byte_meter;

    action metered() {
        direct_byte_meter.read(meta.direct_color);
    }
    table requesters {
        key = { hdr.request.index: ternary; std.ingress_port: exact; }
        actions = { metered; NoAction; }
        meters = direct_byte_meter;
        default_action = NoAction();
        size = 64;
    }

    apply {
        std.egress_spec = 1;
        if (!hdr.request.isValid()) {
            mark_to_drop(std);
            exit;
        }
        bit<32> index = (bit<32>) hdr.request.index & 7;
        requests.count((bit<32>) hdr.request.operation & 15);
        octets.count((bit<32>) (hdr.request.operation >> 4));
        hdr.answer.setValid();
        hash(hdr.answer.crc16, HashAlgorithm.crc16, 16w0, { hdr.request.small, hdr.request.medium }, 32w0x10000);
        hash(hdr.answer.crc32, HashAlgorithm.crc32, 32w0, { hdr.request.large, hdr.request.odd, hdr.request.rest },
            64w0x100000000);
        hash(hdr.answer.csum16, HashAlgorithm.csum16, 16w0, { hdr.request.small, hdr.request.large }, 32w0x10000);
        hash(hdr.answer.xor16, HashAlgorithm.xor16, 16w0, { hdr.request.small, hdr.request.medium }, 32w0x10000);
        hash(hdr.answer.identity, HashAlgorithm.identity, 32w0, { hdr.request.small, hdr.request.small },
            64w0x100000000);
        hash(hdr.answer.bounded, HashAlgorithm.crc32, 16w100, { hdr.request.medium, hdr.request.large }, 32w1000);
        @atomic {
            smalls.read(hdr.answer.small, index);
            mediums.read(hdr.answer.medium, index);
            larges.read(hdr.answer.large, index);
            odds.read(hdr.answer.odd, index);
            if (hdr.request.operation[0:0] == 1) {
                smalls.write(index, hdr.answer.small + hdr.request.small);
                mediums.write(index, hdr.request.medium);
                larges.write(index, hdr.answer.large ^ hdr.request.large);
                odds.write(index, hdr.request.odd);
            }
        }
        hdr.answer.rest = (bit<3>) std.checksum_error;
        packet_meter.execute_meter<bit<8>>(index, hdr.answer.packet_color);
        byte_meter.execute_meter<bit<8>>(index, hdr.answer.byte_color);
        meta.direct_color = 0xff;
        requesters.apply();
        hdr.answer.direct_color = meta.direct_color;
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.request.isValid() && hdr.request.operation[1:1] == 1,
            { hdr.request.small, hdr.request.medium, hdr.request.large, hdr.request.odd, hdr.request.rest },
            hdr.request.sum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.request.isValid() && hdr.request.operation[2:2] == 1,
            { hdr.request.small, hdr.request.medium }, hdr.request.payload_sum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.answer);
        packet.emit(hdr.request);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
