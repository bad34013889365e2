// Each packet says what is to be done with it: clones, resubmission, recirculation, multicast, registers, meters, ...
#include <core.p4>
#include <v1model.p4>

// Values of command_t.op.
const bit<8> FORWARD = 0;
const bit<8> MULTICAST = 1;
const bit<8> CLONE_INGRESS = 2;
const bit<8> CLONE_EGRESS = 3;
const bit<8> RESUBMIT = 4;
const bit<8> RECIRCULATE = 5;
const bit<8> TRUNCATE = 6;
const bit<8> DIGEST = 7;
const bit<8> REGISTER_ADD = 8;
const bit<8> METER = 9;
const bit<8> RANDOM = 10;
const bit<8> LOG = 11;
const bit<8> ASSERT = 12;
const bit<8> DROP = 13;
const bit<8> QUEUE = 14;
const bit<8> COUNT = 15;
const bit<8> DROP_EGRESS = 16;
const bit<8> HASH = 17;
const bit<8> EXIT = 18;
const bit<8> STORM = 19;

header command_t {
    bit<8>  op;
    bit<8>  port;       // egress port
    bit<16> argument;   // group, session, index, number of passes, length, ...
    bit<32> result;
}

struct headers_t {
    command_t command;
}

struct message_t {
    bit<8>  op;
    bit<16> argument;
    bit<48> time;
}

struct metadata_t {
    @field_list(1)
    bit<16> passes;
    @field_list(1)
    bit<32> kept;
    bit<32> lost;
    bit<2>  colour;
    message_t message;
}

parser CommandParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.command);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control CommandIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<32>>(16) cells;
    register<bit<100>>(4) wide_cells;
    counter(8, CounterType.packets_and_bytes) counts;
    meter(4, MeterType.packets) rates;

    apply {
        standard.egress_spec = (bit<9>)hdr.command.port;
        if (standard.parser_error != error.NoError) {
            mark_to_drop(standard);
        } else if (hdr.command.op == MULTICAST) {
            standard.mcast_grp = hdr.command.argument;
        } else if (hdr.command.op == CLONE_INGRESS) {
            meta.kept = 0xabcd;
            meta.lost = 0xabcd;
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.command.argument, 1);
            hdr.command.result = 1;
        } else if (hdr.command.op == RESUBMIT) {
            // The argument is how often.
            if (meta.passes < hdr.command.argument) {
                meta.passes = meta.passes + 1;
                meta.lost = 7;
                resubmit_preserving_field_list(1);
            }
            hdr.command.result = (bit<32>)meta.passes;
        } else if (hdr.command.op == DIGEST) {
            meta.message = { hdr.command.op, hdr.command.argument, standard.ingress_global_timestamp };
            digest(1, meta.message);
        } else if (hdr.command.op == REGISTER_ADD) {
            bit<32> value;
            cells.read(value, (bit<32>)hdr.command.argument);
            value = value + hdr.command.result;
            cells.write((bit<32>)hdr.command.argument, value);
            hdr.command.result = value;
            bit<100> wide;
            wide_cells.read(wide, 1);
            wide = wide + 100w0x8000000000000000000000001;
            wide_cells.write(1, wide);
        } else if (hdr.command.op == METER) {
            rates.execute_meter<bit<2>>((bit<32>)hdr.command.argument, meta.colour);
            hdr.command.result = (bit<32>)meta.colour;
        } else if (hdr.command.op == RANDOM) {
            random(hdr.command.result, 10, 20);
        } else if (hdr.command.op == LOG) {
            log_msg("argument {} from port {}", { hdr.command.argument, standard.ingress_port });
        } else if (hdr.command.op == ASSERT) {
            assert(hdr.command.argument != 0);
        } else if (hdr.command.op == DROP) {
            mark_to_drop(standard);
        } else if (hdr.command.op == COUNT) {
            counts.count((bit<32>)hdr.command.argument);
        } else if (hdr.command.op == HASH) {
            hash(hdr.command.result, HashAlgorithm.crc32, 32w100, { hdr.command.argument, hdr.command.port }, 32w1000);
        } else if (hdr.command.op == EXIT) {
            hdr.command.result = 1;
            exit;
        }
        if (hdr.command.op == EXIT) {
            hdr.command.result = 2;
        }
    }
}

control CommandEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.command.op == MULTICAST) {
            hdr.command.result = (bit<32>)(standard.egress_rid ++ standard.instance_type[15:0]);
        } else if (hdr.command.op == CLONE_INGRESS && standard.instance_type == 1) {
            // What came with the clone.
            hdr.command.result = meta.kept + meta.lost;
        } else if (hdr.command.op == CLONE_EGRESS) {
            if (standard.instance_type == 2) {
                hdr.command.result = hdr.command.result + meta.kept + meta.lost;
            } else {
                meta.kept = 0x100;
                meta.lost = 0x100;
                hdr.command.result = 5;
                clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.command.argument, 1);
            }
        } else if (hdr.command.op == RECIRCULATE) {
            if (hdr.command.argument > 0) {
                hdr.command.argument = hdr.command.argument - 1;
                meta.passes = meta.passes + 1;
                recirculate_preserving_field_list(1);
            }
            hdr.command.result = (bit<32>)meta.passes;
        } else if (hdr.command.op == TRUNCATE) {
            truncate((bit<32>)hdr.command.argument);
        } else if (hdr.command.op == QUEUE) {
            hdr.command.result = standard.deq_timedelta + (bit<32>)(standard.enq_qdepth ++ 8w0)
                + (bit<32>)standard.deq_qdepth;
        } else if (hdr.command.op == STORM) {
            // Each copy makes more copies.
            clone(CloneType.E2E, (bit<32>)hdr.command.argument);
        } else if (hdr.command.op == DROP_EGRESS) {
            mark_to_drop(standard);
        }
    }
}

control CommandDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.command);
    }
}

V1Switch(CommandParser(), NoChecksum(), CommandIngress(), CommandEgress(), NoChecksum(), CommandDeparser()) main;
