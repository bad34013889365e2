// What a parser can do: stacks, loops, unions, variable lengths, lookahead, advance, verify, checksums, and keys of several
// parts with masks and ranges. The deparser writes what was found, errors included.
#include <core.p4>
#include <v1model.p4>

error { BadVersion }

header first_t {
    bit<8>  kind;
    bit<4>  version;
    bit<4>  count;
}

header label_t {
    bit<20> value;
    bit<3>  class;
    bit<1>  bottom;
    bit<8>  ttl;
}

header option_t {
    bit<8> kind;
    bit<8> length;
    varbit<64> data;
}

header short_t {
    bit<8>  kind;
    bit<16> value;
}

header long_t {
    bit<8>  kind;
    bit<40> value;
}

header_union choice_t {
    short_t small;
    long_t  large;
}

header ip_t {
    bit<4>  version;
    bit<4>  words;
    bit<8>  tos;
    bit<16> length;
    bit<32> src;
    bit<32> dst;
    bit<16> checksum;
}

header odd_t {
    bit<3>  a;
    bit<13> b;
    bit<33> c;
    bit<7>  d;
}

header trace_t {
    bit<8>  path;
    bit<8>  error_code;
    bit<8>  checksum_error;
    bit<8>  labels;
    bit<32> peeked;
    bit<32> packet_length;
    bit<32> last_label;
}

struct headers_t {
    trace_t    trace;
    first_t    first;
    label_t[4] labels;
    choice_t   choice;
    choice_t[3] choices;
    option_t   option;
    ip_t       ip;
    odd_t      odd;
}

struct metadata_t {
    bit<8>  path;
    bit<32> peeked;
    bit<32> last_label;
}

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.kind, hdr.first.version) {
            (1, _): label;
            (2, 4): choice;
            (2, 6): choices;
            (3, _): option;
            (4 &&& 0xfc, 0 &&& 1): ip;
            (8..15, 1..3): odd;
            (16, _): skip;
            (17, _): versioned;
            (_, 15): reject;
            default: accept;
        }
    }
    state label {
        packet.extract(hdr.labels.next);
        meta.last_label = (bit<32>) hdr.labels.last.value;
        transition select(hdr.labels.last.bottom) {
            0: label;
            1: after_labels;
        }
    }
    state after_labels {
        meta.path = 1;
        transition select(packet.lookahead<bit<4>>()) {
            4: ip;
            5: odd;
            default: accept;
        }
    }
    state choice {
        transition select(packet.lookahead<bit<8>>()) {
            1: small;
            2: large;
            default: accept;
        }
    }
    state small {
        packet.extract(hdr.choice.small);
        transition ip;
    }
    state large {
        packet.extract(hdr.choice.large);
        transition accept;
    }
    state choices {
        transition select(packet.lookahead<bit<8>>()) {
            1: small_of_several;
            2: large_of_several;
            default: accept;
        }
    }
    state small_of_several {
        packet.extract(hdr.choices.next.small);
        transition choices;
    }
    state large_of_several {
        packet.extract(hdr.choices.next.large);
        transition choices;
    }
    state option {
        meta.path = 3;
        bit<16> head = packet.lookahead<bit<16>>();
        packet.extract(hdr.option, (bit<32>) (head[7:0] << 3));
        transition select(hdr.option.kind) {
            0: accept;
            1: ip;
            default: odd;
        }
    }
    state ip {
        packet.extract(hdr.ip);
        meta.path = meta.path + 4;
        transition select(hdr.ip.version, hdr.ip.words, hdr.ip.dst) {
            (4, 5, 0x0a000000 &&& 0xff000000): odd;
            (4, _, _): accept;
            (6, 1..4, _): odd;
        }
    }
    state odd {
        packet.extract(hdr.odd);
        transition accept;
    }
    state skip {
        packet.advance((bit<32>) hdr.first.count << 3);
        meta.peeked = packet.lookahead<bit<32>>();
        transition odd;
    }
    state versioned {
        verify(hdr.first.version == 2, error.BadVersion);
        meta.path = 17;
        transition ip;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid(), { hdr.ip.version, hdr.ip.words, hdr.ip.tos, hdr.ip.length, hdr.ip.src, hdr.ip.dst },
            hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control Pipe(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        hdr.trace.setValid();
        hdr.trace.path = meta.path;
        hdr.trace.error_code = 0;
        if (std.parser_error == error.PacketTooShort) {
            hdr.trace.error_code = 1;
        } else if (std.parser_error == error.NoMatch) {
            hdr.trace.error_code = 2;
        } else if (std.parser_error == error.StackOutOfBounds) {
            hdr.trace.error_code = 3;
        } else if (std.parser_error == error.HeaderTooShort) {
            hdr.trace.error_code = 4;
        } else if (std.parser_error == error.ParserInvalidArgument) {
            hdr.trace.error_code = 5;
        } else if (std.parser_error == error.BadVersion) {
            hdr.trace.error_code = 6;
        } else if (std.parser_error != error.NoError) {
            hdr.trace.error_code = 7;
        }
        hdr.trace.checksum_error = (bit<8>) std.checksum_error;
        hdr.trace.peeked = meta.peeked;
        hdr.trace.packet_length = std.packet_length;
        hdr.trace.last_label = meta.last_label;
        hdr.trace.labels = 0;
        if (hdr.labels[0].isValid()) {
            hdr.trace.labels = hdr.trace.labels | 1;
            if (hdr.labels[0].class == 1) {
                hdr.labels.pop_front(1);
            } else if (hdr.labels[0].class == 2) {
                hdr.labels.push_front(2);
                hdr.labels[0].setValid();
                hdr.labels[0].value = 7;
                hdr.labels[0].class = 0;
                hdr.labels[0].bottom = 0;
                hdr.labels[0].ttl = 64;
            } else if (hdr.labels[0].class == 3) {
                hdr.labels.pop_front(3);
            } else if (hdr.labels[0].class == 4) {
                hdr.labels[2] = hdr.labels[0];
                hdr.labels[1].setInvalid();
            }
        }
        if (hdr.labels[3].isValid()) {
            hdr.trace.labels = hdr.trace.labels | 8;
        }
        if (hdr.choice.small.isValid()) {
            if (hdr.choice.small.value == 1) {
                hdr.choice.large.setValid();
                hdr.choice.large.kind = 9;
                hdr.choice.large.value = 0x1234567890;
            }
        } else if (hdr.choice.large.isValid() && hdr.choice.large.value == 2) {
            hdr.choice.large.setInvalid();
        }
        if (hdr.ip.isValid() && hdr.ip.tos == 1) {
            hdr.ip.dst = hdr.ip.src;
        }
        if (hdr.odd.isValid()) {
            hdr.odd.c = hdr.odd.c + (bit<33>) hdr.odd.b;
        }
        if (hdr.option.isValid() && hdr.option.kind == 2) {
            hdr.option.setInvalid();
        }
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ip.isValid() && hdr.ip.tos != 2,
            { hdr.ip.version, hdr.ip.words, hdr.ip.tos, hdr.ip.length, hdr.ip.src, hdr.ip.dst },
            hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.trace);
        packet.emit(hdr.first);
        packet.emit(hdr.labels);
        packet.emit(hdr.choice);
        packet.emit(hdr.choices);
        packet.emit(hdr.option);
        packet.emit(hdr.ip);
        packet.emit(hdr.odd);
    }
}

V1Switch(Parse(), Verify(), Pipe(), Leave(), Compute(), Deparse()) main;
