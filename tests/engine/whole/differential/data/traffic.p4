// A packet's ways through v1model's traffic manager: unicast, multicast, clones, resubmission, recirculation, truncation
// and drops, alone and together. A packet says what is to be done to it, and carries what was seen on the way.
#include <core.p4>
#include <v1model.p4>

// BMv2's PktInstanceType.
const bit<32> NORMAL = 0;
const bit<32> RECIRCULATED = 4;
const bit<32> REPLICATED = 5;
const bit<32> RESUBMITTED = 6;

const bit<32> MARK = 0x7472a5ed;    // begins what has been through the switch
const bit<9>  CPU_PORT = 510;

header order_t {
    bit<8>  at_ingress;     // bits: 0 unicast, 1 multicast, 2 clone, 3 resubmit, 4 truncate, 5 drop at the end
    bit<8>  at_egress;      // bits: 0 clone, 1 recirculate, 2 truncate, 3 drop
    bit<9>  port;
    bit<7>  length;
    bit<16> group;
    bit<16> session;
}

header trace_t {
    bit<32> mark;
    bit<32> ingress_type;
    bit<32> egress_type;
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<16> egress_spec;
    bit<16> rid;
    bit<32> length;
    bit<16> kept;
    bit<16> lost;
    bit<8>  priority;
    bit<8>  passes;
}

@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
}

struct seen_t {
    bit<16> group;
    bit<9>  port;
    bit<8>  at_ingress;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    trace_t      trace;
    order_t      order;
}

struct metadata_t {
    @field_list(1, 2)
    bit<16> kept;
    bit<16> lost;
    @field_list(2)
    bit<8>  passes;
    bit<32> ingress_type;
    bit<16> egress_spec;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        // Not by instance_type: while BMv2 parses an ingress clone again, that is what the last packet left there.
        transition select(std.ingress_port, packet.lookahead<bit<32>>()) {
            (_, MARK): trace;
            (CPU_PORT, _): packet_out;
            default: order;
        }
    }
    state packet_out {
        packet.extract(hdr.packet_out);
        transition order;
    }
    state trace {
        packet.extract(hdr.trace);
        transition order;
    }
    state order {
        packet.extract(hdr.order);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) by_type;

    action again() {
        meta.passes = meta.passes + 1;
        resubmit_preserving_field_list(2);
    }
    table orders {
        key = { hdr.order.group: exact; hdr.order.at_ingress: ternary; }
        actions = { again; NoAction; }
        default_action = NoAction();
        size = 32;
    }

    apply {
        meta.ingress_type = std.instance_type;
        by_type.count(std.instance_type & 7);
        if (!hdr.order.isValid()) {
            mark_to_drop(std);
            exit;
        }
        if (std.instance_type == NORMAL) {
            meta.kept = hdr.order.group + 1;
            meta.lost = 0x5555;
        }
        std.priority = (bit<3>) hdr.order.length;
        if (hdr.order.at_ingress[6:6] == 1) {
            digest<seen_t>(1, { hdr.order.group, std.ingress_port, hdr.order.at_ingress });
        }
        if (hdr.order.at_ingress[0:0] == 1) {
            std.egress_spec = hdr.order.port;
        }
        // A packet has copies on its first way only: BMv2's queues have room for 64.
        if (hdr.order.at_ingress[1:1] == 1 && !hdr.trace.isValid()) {
            std.mcast_grp = hdr.order.group;
        }
        if (hdr.order.at_ingress[2:2] == 1 && !hdr.trace.isValid()) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>) hdr.order.session, 1);
        }
        if (hdr.order.at_ingress[3:3] == 1 && std.instance_type != RESUBMITTED && std.instance_type != RECIRCULATED) {
            orders.apply();
        }
        if (hdr.order.at_ingress[4:4] == 1) {
            truncate((bit<32>) hdr.order.length);
        }
        if (hdr.order.at_ingress[5:5] == 1) {
            mark_to_drop(std);
        }
        if (hdr.packet_out.isValid()) {
            std.egress_spec = (bit<9>) hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        }
        meta.egress_spec = (bit<16>) std.egress_spec;
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>) std.ingress_port;
        }
        if (hdr.order.isValid() && hdr.order.at_egress[0:0] == 1 && !hdr.trace.isValid()
            && (std.instance_type == NORMAL || std.instance_type == REPLICATED)) {
            clone_preserving_field_list(CloneType.E2E, (bit<32>) hdr.order.session, 2);
        }
        if (!hdr.trace.isValid()) {
            hdr.trace.setValid();
            hdr.trace.mark = MARK;
            hdr.trace.passes = 0;
        }
        hdr.trace.passes = hdr.trace.passes + meta.passes + 1;
        hdr.trace.ingress_type = meta.ingress_type;
        hdr.trace.egress_type = std.instance_type;
        hdr.trace.ingress_port = (bit<16>) std.ingress_port;
        hdr.trace.egress_port = (bit<16>) std.egress_port;
        hdr.trace.egress_spec = meta.egress_spec;
        hdr.trace.rid = std.egress_rid;
        hdr.trace.length = std.packet_length;
        hdr.trace.kept = meta.kept;
        hdr.trace.lost = meta.lost;
        hdr.trace.priority = (bit<8>) std.priority;
        if (hdr.order.at_egress[1:1] == 1 && hdr.trace.passes < 3) {
            meta.kept = meta.kept + 1;
            recirculate_preserving_field_list(1);
        }
        if (hdr.order.at_egress[2:2] == 1) {
            truncate((bit<32>) hdr.order.length);
        }
        if (hdr.order.at_egress[3:3] == 1) {
            mark_to_drop(std);
        }
    }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.trace);
        packet.emit(hdr.order);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
