// Joins ports as a table says. A test program for the engine: every packet leaves as it came, but one of EtherType 0x88b5
// carries the queueing metadata of its last switch.
#include <core.p4>
#include <v1model.p4>

const bit<16> ETHERTYPE_REPORT = 0x88b5;    // IEEE 802: local experimental EtherType 1
const bit<9>  CPU_PORT = 510;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ethertype;
}

header report_t {
    bit<32> enq_timestamp;  // us
    bit<32> deq_timedelta;  // us
    bit<24> enq_qdepth;
    bit<24> deq_qdepth;
    bit<16> egress_rid;
}

@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    ethernet_t   ethernet;
    report_t     report;
}

struct seen_t {
    bit<16> port;
    bit<48> source;
}

struct metadata_t {
    seen_t seen;
}

parser parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            CPU_PORT: parse_packet_out;
            default: parse_ethernet;
        }
    }
    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_REPORT: parse_report;
            default: accept;
        }
    }
    state parse_report {
        packet.extract(hdr.report);
        transition accept;
    }
} // parse

control check_nothing(inout headers_t hdr, inout metadata_t meta) {
    apply { }
} // check_nothing

control ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @name(".arrivals")
    counter(512, CounterType.packets_and_bytes) arrivals;

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action replicate(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    // Forward and tell the control plane.
    action tell(bit<9> port) {
        standard_metadata.egress_spec = port;
        meta.seen.port = (bit<16>)standard_metadata.ingress_port;
        meta.seen.source = hdr.ethernet.source;
        digest<seen_t>(1, meta.seen);
    }

    @name(".crossbar")
    table crossbar {
        key = { standard_metadata.ingress_port : exact @name("ingress_port"); }
        actions = { forward; replicate; tell; @defaultonly drop; }
        default_action = drop;
        size = 512;
        support_timeout = true;
    }

    apply {
        arrivals.count((bit<32>)standard_metadata.ingress_port);
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = (bit<9>)hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            crossbar.apply();
        }
    } // apply
} // ingress

control egress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = (bit<16>)standard_metadata.ingress_port;
        } else if (hdr.report.isValid()) {
            hdr.report.enq_timestamp = standard_metadata.enq_timestamp;
            hdr.report.deq_timedelta = standard_metadata.deq_timedelta;
            hdr.report.enq_qdepth = (bit<24>)standard_metadata.enq_qdepth;
            hdr.report.deq_qdepth = (bit<24>)standard_metadata.deq_qdepth;
            hdr.report.egress_rid = standard_metadata.egress_rid;
        }
    } // apply
} // egress

control compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
} // compute

control deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.report);
    } // apply
} // deparse

V1Switch(parse(), check_nothing(), ingress(), egress(), compute(), deparse()) main;
