// A parser that uses everything: stacks, varbit, lookahead, advance, value sets, verify, unions, masks.
#include <core.p4>
#include <v1model.p4>

error {
    BadVersion
}

header start_t {
    bit<8> kind;    // 1 stack, 2 options, 3 lookahead, 4 value set, 5 verify, 6 union, 7 skip, 0x80-0x8f mask, 8 loop
    bit<8> count;
}

header label_t {
    bit<7>  value;
    bit<1>  bottom;
}

header options_t {
    bit<4>       version;
    bit<4>       words;     // length of what follows
    varbit<96>   data;
}

header short_t {
    bit<8> tag;
    bit<8> value;
}

header long_t {
    bit<8>  tag;
    bit<24> value;
}

header_union value_t {
    short_t short;
    long_t  long;
}

header result_t {
    bit<32> parser_error;
    bit<8>  note;
    bit<8>  labels;
}

struct headers_t {
    result_t   result;
    start_t    start;
    label_t[4] labels;
    options_t  options;
    value_t    value;
}

struct metadata_t {
    bit<8> note;
    bit<8> labels;
}

parser AllParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<8>>(4) known_counts;

    state start {
        packet.extract(hdr.start);
        transition select(hdr.start.kind) {
            1: labels;
            2: options;
            3: look;
            4: by_set;
            5: checked;
            6: union_value;
            7: skip;
            8: loop;
            0x80 &&& 0xf0: masked;
            default: accept;
        }
    }
    state labels {
        packet.extract(hdr.labels.next);
        meta.labels = meta.labels + 1;
        transition select(hdr.labels.last.bottom) {
            0: labels;
            1: accept;
        }
    }
    state options {
        bit<8> first = packet.lookahead<bit<8>>();
        packet.extract(hdr.options, (bit<32>)(first[3:0]) << 5);
        transition accept;
    }
    state look {
        meta.note = packet.lookahead<bit<16>>()[7:0];
        transition accept;
    }
    state by_set {
        transition select(hdr.start.count) {
            known_counts: known;
            default: accept;
        }
    }
    state known {
        meta.note = 0x77;
        transition accept;
    }
    state checked {
        verify(hdr.start.count == 4, error.BadVersion);
        meta.note = 0x55;
        transition accept;
    }
    state union_value {
        transition select(hdr.start.count) {
            1: short_value;
            2: long_value;
            default: accept;
        }
    }
    state short_value {
        packet.extract(hdr.value.short);
        transition accept;
    }
    state long_value {
        packet.extract(hdr.value.long);
        transition accept;
    }
    state skip {
        packet.advance((bit<32>)hdr.start.count * 8);
        transition accept;
    }
    state masked {
        meta.note = hdr.start.kind;
        transition accept;
    }
    state loop {
        transition select(hdr.start.count) {
            0: accept;
            default: loop;
        }
    }
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ParsingIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = 1;
        hdr.result.setValid();
        if (standard.parser_error == error.NoError) {
            hdr.result.parser_error = 0;
        } else if (standard.parser_error == error.PacketTooShort) {
            hdr.result.parser_error = 1;
        } else if (standard.parser_error == error.StackOutOfBounds) {
            hdr.result.parser_error = 3;
        } else if (standard.parser_error == error.HeaderTooShort) {
            hdr.result.parser_error = 4;
        } else if (standard.parser_error == error.BadVersion) {
            hdr.result.parser_error = 100;
        } else {
            hdr.result.parser_error = 255;
        }
        hdr.result.note = meta.note;
        hdr.result.labels = meta.labels;
        if (hdr.start.kind == 1 && hdr.start.count == 1) {
            hdr.labels.pop_front(1);
        } else if (hdr.start.kind == 1 && hdr.start.count == 2) {
            hdr.labels.push_front(1);
            hdr.labels[0].setValid();
            hdr.labels[0].value = 0x7f;
            hdr.labels[0].bottom = 0;
        } else if (hdr.value.short.isValid()) {
            hdr.value.long.setValid();
            hdr.value.long.tag = 9;
            hdr.value.long.value = 0x123456;
        }
    }
}

control ParsingEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {}
}

control AllDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(AllParser(), NoChecksum(), ParsingIngress(), ParsingEgress(), NoChecksum(), AllDeparser()) main;
