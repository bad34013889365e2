// Every operator of P4_16 that BMv2 runs, at widths below, at and beyond a machine word, on signed and unsigned numbers.
#include <core.p4>
#include <v1model.p4>

header numbers_t {
    bit<8>   operation;
    bit<8>   shift;
    bit<1>   one;
    bit<7>   seven;
    bit<16>  a;
    bit<16>  b;
    int<16>  sa;
    int<16>  sb;
    bit<33>  odd_a;
    bit<33>  odd_b;
    bit<6>   six;
    bit<64>  word_a;
    bit<64>  word_b;
    int<64>  sword_a;
    int<64>  sword_b;
    bit<128> wide_a;
    bit<128> wide_b;
    int<72>  swide_a;
    int<72>  swide_b;
}

struct headers_t {
    numbers_t n;
}

struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.n);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action add() {
        hdr.n.a = hdr.n.a + hdr.n.b;
        hdr.n.sa = hdr.n.sa + hdr.n.sb;
        hdr.n.odd_a = hdr.n.odd_a + hdr.n.odd_b;
        hdr.n.word_a = hdr.n.word_a + hdr.n.word_b;
        hdr.n.sword_a = hdr.n.sword_a + hdr.n.sword_b;
        hdr.n.wide_a = hdr.n.wide_a + hdr.n.wide_b;
        hdr.n.swide_a = hdr.n.swide_a + hdr.n.swide_b;
    }
    action subtract() {
        hdr.n.a = hdr.n.a - hdr.n.b;
        hdr.n.sa = hdr.n.sa - hdr.n.sb;
        hdr.n.odd_a = hdr.n.odd_a - hdr.n.odd_b;
        hdr.n.word_a = hdr.n.word_a - hdr.n.word_b;
        hdr.n.sword_a = hdr.n.sword_a - hdr.n.sword_b;
        hdr.n.wide_a = hdr.n.wide_a - hdr.n.wide_b;
        hdr.n.swide_a = hdr.n.swide_a - hdr.n.swide_b;
    }
    action multiply() {
        hdr.n.a = hdr.n.a * hdr.n.b;
        hdr.n.sa = hdr.n.sa * hdr.n.sb;
        hdr.n.odd_a = hdr.n.odd_a * hdr.n.odd_b;
        hdr.n.word_a = hdr.n.word_a * hdr.n.word_b;
        hdr.n.sword_a = hdr.n.sword_a * hdr.n.sword_b;
        hdr.n.wide_a = hdr.n.wide_a * hdr.n.wide_b;
        hdr.n.swide_a = hdr.n.swide_a * hdr.n.swide_b;
    }
    action saturate() {
        hdr.n.a = hdr.n.a |+| hdr.n.b;
        hdr.n.sa = hdr.n.sa |+| hdr.n.sb;
        hdr.n.odd_a = hdr.n.odd_a |+| hdr.n.odd_b;
        hdr.n.word_a = hdr.n.word_a |+| hdr.n.word_b;
        hdr.n.sword_a = hdr.n.sword_a |+| hdr.n.sword_b;
        hdr.n.wide_a = hdr.n.wide_a |+| hdr.n.wide_b;
        hdr.n.swide_a = hdr.n.swide_a |+| hdr.n.swide_b;
    }
    action saturate_down() {
        hdr.n.a = hdr.n.a |-| hdr.n.b;
        hdr.n.sa = hdr.n.sa |-| hdr.n.sb;
        hdr.n.odd_a = hdr.n.odd_a |-| hdr.n.odd_b;
        hdr.n.word_a = hdr.n.word_a |-| hdr.n.word_b;
        hdr.n.sword_a = hdr.n.sword_a |-| hdr.n.sword_b;
        hdr.n.wide_a = hdr.n.wide_a |-| hdr.n.wide_b;
        hdr.n.swide_a = hdr.n.swide_a |-| hdr.n.swide_b;
    }
    action logic() {
        hdr.n.a = (hdr.n.a & hdr.n.b) | (~hdr.n.a ^ 0x0ff0);
        hdr.n.sa = (hdr.n.sa & hdr.n.sb) ^ ~hdr.n.sb;
        hdr.n.odd_a = ~hdr.n.odd_a | hdr.n.odd_b;
        hdr.n.word_a = ~hdr.n.word_a ^ hdr.n.word_b;
        hdr.n.sword_a = ~hdr.n.sword_a & hdr.n.sword_b;
        hdr.n.wide_a = ~(hdr.n.wide_a & hdr.n.wide_b);
        hdr.n.swide_a = ~(hdr.n.swide_a | hdr.n.swide_b);
    }
    action shift_left() {
        hdr.n.a = hdr.n.a << hdr.n.shift;
        hdr.n.sa = hdr.n.sa << hdr.n.shift;
        hdr.n.odd_a = hdr.n.odd_a << hdr.n.shift;
        hdr.n.word_a = hdr.n.word_a << hdr.n.shift;
        hdr.n.sword_a = hdr.n.sword_a << hdr.n.shift;
        hdr.n.wide_a = hdr.n.wide_a << hdr.n.shift;
        hdr.n.swide_a = hdr.n.swide_a << hdr.n.shift;
    }
    action shift_right() {
        hdr.n.a = hdr.n.a >> hdr.n.shift;
        hdr.n.sa = hdr.n.sa >> hdr.n.shift;
        hdr.n.odd_a = hdr.n.odd_a >> hdr.n.shift;
        hdr.n.word_a = hdr.n.word_a >> hdr.n.shift;
        hdr.n.sword_a = hdr.n.sword_a >> hdr.n.shift;
        hdr.n.wide_a = hdr.n.wide_a >> hdr.n.shift;
        hdr.n.swide_a = hdr.n.swide_a >> hdr.n.shift;
    }
    action negate() {
        hdr.n.a = -hdr.n.a;
        hdr.n.sa = -hdr.n.sa;
        hdr.n.odd_a = -hdr.n.odd_a;
        hdr.n.word_a = -hdr.n.word_a;
        hdr.n.sword_a = -hdr.n.sword_a;
        hdr.n.wide_a = -hdr.n.wide_a;
        hdr.n.swide_a = -hdr.n.swide_a;
    }
    action compare() {
        hdr.n.a = (bit<16>) ((hdr.n.a < hdr.n.b ? 1w1 : 0) ++ (hdr.n.a <= hdr.n.b ? 1w1 : 0)
            ++ (hdr.n.sa < hdr.n.sb ? 1w1 : 0) ++ (hdr.n.sa >= hdr.n.sb ? 1w1 : 0)
            ++ (hdr.n.odd_a > hdr.n.odd_b ? 1w1 : 0) ++ (hdr.n.word_a > hdr.n.word_b ? 1w1 : 0)
            ++ (hdr.n.sword_a > hdr.n.sword_b ? 1w1 : 0) ++ (hdr.n.wide_a >= hdr.n.wide_b ? 1w1 : 0)
            ++ (hdr.n.swide_a < hdr.n.swide_b ? 1w1 : 0) ++ (hdr.n.a == hdr.n.b ? 1w1 : 0)
            ++ (hdr.n.sword_a != hdr.n.sword_b ? 1w1 : 0));
    }
    action cast() {
        hdr.n.a = (bit<16>) hdr.n.word_a;
        hdr.n.odd_a = (bit<33>) hdr.n.b;
        hdr.n.word_a = (bit<64>) (bit<16>) hdr.n.sb;
        hdr.n.sword_a = (int<64>) hdr.n.sb;
        hdr.n.wide_a = (bit<128>) hdr.n.word_b;
        hdr.n.swide_a = (int<72>) hdr.n.sword_b;
        hdr.n.sa = (int<16>) hdr.n.swide_b;
        hdr.n.six = (bit<6>) hdr.n.seven;
    }
    action pieces() {
        hdr.n.a = hdr.n.word_a[43:28];
        hdr.n.b[11:4] = hdr.n.wide_b[104:97];
        hdr.n.wide_a = hdr.n.word_a ++ hdr.n.odd_a ++ hdr.n.a ++ hdr.n.seven ++ hdr.n.shift;
        hdr.n.word_b = hdr.n.wide_b[127:64];
        hdr.n.odd_a[32:32] = hdr.n.one;
        hdr.n.wide_b[70:60] = hdr.n.a[10:0];
        hdr.n.six = hdr.n.shift[2:0] ++ hdr.n.seven[6:4];
    }
    action choose() {
        hdr.n.a = hdr.n.one == 1 ? hdr.n.b : hdr.n.a + 1;
        hdr.n.wide_a = hdr.n.sa < 0 ? hdr.n.wide_b : hdr.n.wide_a;
        hdr.n.sa = hdr.n.sa < hdr.n.sb && hdr.n.one == 0 || hdr.n.a == 0 ? hdr.n.sb : hdr.n.sa;
    }
    action small() {
        hdr.n.one = hdr.n.one + 1;
        hdr.n.seven = hdr.n.seven * 3 - 1;
        hdr.n.six = hdr.n.six |-| 5;
        hdr.n.shift = hdr.n.shift |+| 17;
    }
    table operations {
        key = { hdr.n.operation: exact; }
        actions = {
            add; subtract; multiply; saturate; saturate_down; logic; shift_left; shift_right; negate; compare; cast;
            pieces; choose; small;
        }
        const entries = {
            0: add();
            1: subtract();
            2: multiply();
            3: saturate();
            4: saturate_down();
            5: logic();
            6: shift_left();
            7: shift_right();
            8: negate();
            9: compare();
            10: cast();
            11: pieces();
            12: choose();
            13: small();
        }
        const default_action = small();
    }

    apply {
        std.egress_spec = 1;
        if (hdr.n.isValid()) {
            hdr.n.operation = hdr.n.operation & 15;
            operations.apply();
        }
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
        packet.emit(hdr.n);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
