// One table for each kind of match; the packet's answer says which entry of which table was hit.
#include <core.p4>
#include <v1model.p4>

header key_t {
    bit<8>   kind;      // 0 exact, 1 lpm, 2 ternary, 3 range, 4 optional, 5 selector, 6 const, 7 wide lpm, 8 profile
    bit<32>  a;
    bit<16>  b;
    bit<9>   c;
    bit<7>   padding;
    bit<128> wide;
    bit<32>  answer;
}

struct headers_t {
    key_t key;
}

struct metadata_t {
    bit<2> colour;
}

parser KeyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control MatchingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    direct_counter(CounterType.packets_and_bytes) exact_counter;
    direct_meter<bit<2>>(MeterType.bytes) lpm_meter;

    action answer(bit<32> value) {
        hdr.key.answer = value;
    }
    action add_wide(bit<128> value) {
        hdr.key.wide = hdr.key.wide + value;
    }
    action answer_and_count(bit<32> value) {
        hdr.key.answer = value;
        exact_counter.count();
    }
    action answer_and_measure(bit<32> value) {
        hdr.key.answer = value;
        lpm_meter.read(meta.colour);
    }
    action nothing() {}

    table exact_table {
        key = { hdr.key.a : exact; hdr.key.b : exact; hdr.key.c : exact; }
        actions = { answer_and_count; nothing; }
        default_action = nothing();
        counters = exact_counter;
        size = 8;
        support_timeout = true;
    }
    table lpm_table {
        key = { hdr.key.b : exact; hdr.key.a : lpm; }
        actions = { answer_and_measure; nothing; }
        default_action = nothing();
        meters = lpm_meter;
    }
    table ternary_table {
        key = { hdr.key.a : ternary; hdr.key.b : ternary; hdr.key.c : exact; }
        actions = { answer; nothing; }
        default_action = answer(0xffff);
    }
    table range_table {
        key = { hdr.key.a : range; hdr.key.b : range; hdr.key.c : ternary; }
        actions = { answer; nothing; }
        const default_action = nothing();
    }
    table optional_table {
        key = { hdr.key.a : optional; hdr.key.b : optional; }
        actions = { answer; }
    }
    table selector_table {
        key = { hdr.key.a : exact; hdr.key.b : selector; hdr.key.c : selector; }
        actions = { answer; nothing; }
        @name("spread") implementation = action_selector(HashAlgorithm.crc16, 16, 16);
    }
    table profile_table {
        key = { hdr.key.a : exact; }
        actions = { answer; add_wide; nothing; }
        @name("shared") implementation = action_profile(4);
    }
    table const_table {
        key = { hdr.key.a : ternary; hdr.key.b : exact; }
        actions = { answer; nothing; }
        const default_action = nothing();
        const entries = {
            (0x11, 1) : answer(100);
            (0x10 &&& 0xf0, 1) : answer(101);
            (_, 1) : answer(102);
        }
    }
    table wide_table {
        key = { hdr.key.wide : lpm; }
        actions = { answer; add_wide; }
    }

    apply {
        standard.egress_spec = 1;
        if (hdr.key.kind == 0) {
            exact_table.apply();
        } else if (hdr.key.kind == 1) {
            lpm_table.apply();
        } else if (hdr.key.kind == 2) {
            if (ternary_table.apply().hit) {
                hdr.key.padding = 1;
            }
        } else if (hdr.key.kind == 3) {
            range_table.apply();
        } else if (hdr.key.kind == 4) {
            optional_table.apply();
        } else if (hdr.key.kind == 5) {
            selector_table.apply();
        } else if (hdr.key.kind == 6) {
            switch (const_table.apply().action_run) {
                answer: { hdr.key.padding = 2; }
                nothing: { hdr.key.padding = 3; }
            }
        } else if (hdr.key.kind == 7) {
            wide_table.apply();
        } else {
            profile_table.apply();
        }
    }
}

control MatchingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control KeyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.key);
    }
}

V1Switch(KeyParser(), NoChecksum(), MatchingIngress(), MatchingEgress(), NoChecksum(), KeyDeparser()) main;
