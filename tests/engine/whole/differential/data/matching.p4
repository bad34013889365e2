// Tables of every match kind and of mixtures, with profiles, selectors, defaults, and control flow that depends on them.
// What a table did is written into the packet.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<48> a;
    bit<32> b;
    bit<16> c;
    bit<7>  d;
    bit<9>  port;
    bit<128> wide;
    int<8>  sign;
}

header trace_t {
    bit<16> exact_one;
    bit<16> exact_many;
    bit<16> prefix;
    bit<16> prefix_and_exact;
    bit<16> ternary_one;
    bit<16> between;
    bit<16> maybe;
    bit<16> mixed;
    bit<16> member;
    bit<16> spread;
    bit<16> sliced;
    bit<16> fixed;
    bit<8>  flow;
}

struct headers_t {
    key_t   key;
    trace_t trace;
}

struct metadata_t {
    bit<16> mark;
    bit<33> odd;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) prefix_counter;
    direct_counter(CounterType.packets) mixed_counter;
    counter(16, CounterType.packets_and_bytes) by_port;
    action_selector(HashAlgorithm.crc16, 32, 16) groups;
    action_selector(HashAlgorithm.crc32, 32, 16) other_groups;
    action_profile(16) profile;

    action mark(bit<16> value) {
        meta.mark = value;
    }
    action mark_port(bit<16> value, bit<9> port) {
        meta.mark = value;
        std.egress_spec = port;
    }
    action mark_key(bit<16> value, bit<7> small, bit<128> large) {
        meta.mark = value ^ (bit<16>) small;
        hdr.key.wide = hdr.key.wide + large;
    }
    action drop() {
        mark_to_drop(std);
    }
    action leave() {
        hdr.trace.flow = 0xee;
        exit;
    }
    action nothing() { }

    table exact_one {
        key = { hdr.key.a: exact; }
        actions = { mark; mark_port; nothing; }
        default_action = nothing();
        size = 64;
    }
    table exact_many {
        key = { hdr.key.d: exact; hdr.key.port: exact; hdr.key.sign: exact; }
        actions = { mark; mark_key; drop; }
        default_action = mark(1);
        size = 64;
    }
    table prefix {
        key = { hdr.key.b: lpm; }
        actions = { mark; mark_port; }
        counters = prefix_counter;
        size = 64;
    }
    table prefix_and_exact {
        key = { hdr.key.c: exact; hdr.key.wide: lpm; std.ingress_port: exact; }
        actions = { mark; mark_key; nothing; }
        default_action = mark(2);
        size = 64;
    }
    table ternary_one {
        key = { hdr.key.wide: ternary; }
        actions = { mark; mark_key; }
        size = 64;
    }
    table between {
        key = { hdr.key.c: range; hdr.key.d: range; }
        actions = { mark; drop; }
        default_action = mark(3);
        size = 64;
    }
    table maybe {
        key = { hdr.key.b: optional; hdr.key.port: optional; }
        actions = { mark; mark_port; }
        size = 64;
    }
    table mixed {
        key = {
            hdr.key.a: ternary;
            hdr.key.b: lpm;
            hdr.key.c: exact;
            hdr.key.d: range;
            std.ingress_port: optional;
        }
        actions = { mark; mark_key; leave; @tableonly drop; @defaultonly nothing; }
        default_action = nothing();
        counters = mixed_counter;
        size = 64;
    }
    table member {
        key = { hdr.key.c: ternary; hdr.key.isValid(): exact; }
        actions = { mark; mark_port; nothing; }
        implementation = profile;
        size = 64;
    }
    table spread {
        key = { hdr.key.b: lpm; hdr.key.a: selector; hdr.key.d: selector; hdr.key.port: selector; }
        actions = { mark; mark_port; }
        implementation = groups;
        size = 64;
    }
    table spread_too {
        key = { hdr.key.d: exact; hdr.key.wide: selector; hdr.key.c: selector; }
        actions = { mark; mark_port; nothing; }
        implementation = other_groups;
        size = 64;
    }
    table sliced {
        key = { hdr.key.b[23:8]: exact @name("part_b"); hdr.key.a[19:4]: ternary @name("slice"); meta.odd: exact; }
        actions = { mark; nothing; }
        default_action = nothing();
        size = 64;
    }
    table fixed {
        key = { hdr.key.c: ternary; hdr.key.d: range; }
        actions = { mark; nothing; }
        const entries = {
            (0x0000 &&& 0x8000, 0..3): mark(0x100);
            (0x8000 &&& 0xc000, _): mark(0x101);
            (_, 64..127): mark(0x102);
        }
        default_action = nothing();
    }
    table keyless {
        actions = { mark; nothing; }
        default_action = mark(4);
    }

    apply {
        std.egress_spec = 1;
        if (!hdr.key.isValid()) {
            mark_to_drop(std);
            exit;
        }
        hdr.trace.setValid();
        hdr.trace.flow = 0;
        by_port.count((bit<32>) (std.ingress_port & 15));
        meta.odd = (bit<33>) hdr.key.b << 1;
        keyless.apply();
        exact_one.apply();
        hdr.trace.exact_one = meta.mark;
        if (exact_many.apply().hit) {
            hdr.trace.flow = hdr.trace.flow | 1;
        }
        hdr.trace.exact_many = meta.mark;
        prefix.apply();
        hdr.trace.prefix = meta.mark;
        if (!prefix_and_exact.apply().hit) {
            hdr.trace.flow = hdr.trace.flow | 2;
        }
        hdr.trace.prefix_and_exact = meta.mark;
        switch (ternary_one.apply().action_run) {
            mark: { hdr.trace.flow = hdr.trace.flow | 4; }
            mark_key: { between.apply(); }
            default: { hdr.trace.flow = hdr.trace.flow | 8; }
        }
        hdr.trace.ternary_one = meta.mark;
        hdr.trace.between = meta.mark;
        maybe.apply();
        hdr.trace.maybe = meta.mark;
        member.apply();
        hdr.trace.member = meta.mark;
        spread.apply();
        hdr.trace.spread = meta.mark;
        spread_too.apply();
        hdr.trace.between = meta.mark;
        sliced.apply();
        hdr.trace.sliced = meta.mark;
        fixed.apply();
        hdr.trace.fixed = meta.mark;
        mixed.apply();
        hdr.trace.mixed = meta.mark;
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.trace);
        packet.emit(hdr.key);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
