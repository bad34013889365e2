// Every kind of P4Runtime entity in one program, each with an effect on packets that a test can see.
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<3> reason;
    bit<4> padding;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

struct learned_t {
    bit<48> src;
    bit<9>  port;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
}

struct metadata_t {
    @field_list(1)
    bit<3> reason;
    bit<2> color;
    bit<2> cell_color;
    bit<1> special;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    value_set<bit<16>>(2) special_types;

    state start {
        transition select(std.ingress_port) {
            CPU_PORT: packet_out;
            default: ethernet;
        }
    }
    state packet_out {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            special_types: special;
            default: accept;
        }
    }
    state special {
        meta.special = 1;
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(512, CounterType.packets_and_bytes) port_counter;
    meter(4, MeterType.packets) cell_meter;
    register<bit<32>>(4) memory;
    direct_counter(CounterType.packets_and_bytes) l2_counter;
    direct_meter<bit<2>>(MeterType.packets) acl_meter;
    action_selector(HashAlgorithm.crc16, 16, 14) spread;
    action_profile(8) next_hops;

    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action flood(bit<16> group) {
        std.mcast_grp = group;
    }
    action to_cpu(bit<3> reason) {
        meta.reason = reason;
        std.egress_spec = CPU_PORT;
    }
    action mirror(bit<9> port) {
        std.egress_spec = port;
        clone_preserving_field_list(CloneType.I2E, 5, 1);
    }
    action learn() {
        digest<learned_t>(1, { hdr.ethernet.src, std.ingress_port });
    }
    action known() { }
    action pass() {
        acl_meter.read(meta.color);
    }
    action deny() {
        acl_meter.read(meta.color);
        mark_to_drop(std);
        exit;
    }
    action set_dst(bit<48> dst) {
        hdr.ethernet.dst = dst;
    }

    table sources {
        key = { hdr.ethernet.src: exact; }
        actions = { known; learn; }
        default_action = learn();
        support_timeout = true;
        size = 16;
    }
    table l2 {
        key = { hdr.ethernet.dst: exact; }
        actions = { forward; flood; to_cpu; mirror; @tableonly drop; @defaultonly NoAction; }
        default_action = NoAction();
        counters = l2_counter;
        size = 64;
    }
    table acl {
        key = {
            hdr.ethernet.src: ternary;
            hdr.ethernet.type: optional;
            std.ingress_port: range;
        }
        actions = { pass; deny; }
        default_action = pass();
        meters = acl_meter;
        size = 64;
    }
    table routes {
        key = {
            hdr.ethernet.dst: lpm;
            hdr.ethernet.src: selector;
        }
        actions = { forward; flood; drop; }
        implementation = spread;
        size = 64;
    }
    table hops {
        key = { hdr.ethernet.dst: lpm; }
        actions = { set_dst; }
        implementation = next_hops;
        size = 64;
    }
    table fixed {
        key = { hdr.ethernet.type: ternary; }
        actions = { drop; known; }
        const entries = {
            0xdead: drop();
            0xde00 &&& 0xff00: known();
        }
        const default_action = known();
    }
    table keyless {
        actions = { known; forward; }
        default_action = known();
    }

    apply {
        mark_to_drop(std);
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.ethernet.isValid()) {
            sources.apply();
            keyless.apply();
            hops.apply();
            routes.apply();
            l2.apply();
            fixed.apply();
            acl.apply();
            if (meta.special == 1) {
                std.egress_spec = 7;
            }
            cell_meter.execute_meter<bit<2>>(2, meta.cell_color);
            memory.write(1, (bit<32>) meta.color);
            port_counter.count((bit<32>) std.ingress_port);
        }
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
            hdr.packet_in.reason = meta.reason;
            hdr.packet_in.padding = 0;
        }
    }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
