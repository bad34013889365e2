// What the parser looks ahead at before it decides, and the kinds of packets that it decides by.

#ifndef CANOPY_INCLUDE_HEADS_P4
#define CANOPY_INCLUDE_HEADS_P4

#include "constants.p4"

// What is read ahead of a packet that is not taken apart, from UDP's header on.
struct packet_head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
}

struct data_head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
    bit<32> seq;
}

struct repair_head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
    bit<32> seq;
    bit<32> length_cwnd;
    bit<64> send_time_us;
    bit<64> offset;
    bit<64> repair_time_us;
}

struct probe_head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
    bit<64> time_us;
    bit<32> rtt_us;
}

struct join_ack_head_t {
    bit<64> udp;
    bit<32> kind;
    bit<32> session;
    bit<32> reason;
    bit<32> receiver;
    bit<64> echo_time_us;
}

#define UDP_LENGTH  packet.lookahead<bit<48>>()[15:0]
#define PACKET_VERSION packet.lookahead<bit<72>>()[7:0]
#define PACKET_KIND packet.lookahead<bit<96>>()[31:0]   // version, protocol, type, flags

// Packets of a type that have a flag, whatever their other flags are.
#define KIND(PROTOCOL, TYPE, FLAGS) \
    (CANOPY_VERSION ++ (bit<8>)protocol_t.PROTOCOL ++ (bit<8>)PROTOCOL##_type_t.TYPE ++ (bit<8>)(FLAGS)) \
    &&& (24w0xffffff ++ (bit<8>)(FLAGS))
// Likewise, sealed or not.
#define EITHER_KIND(PROTOCOL, TYPE, FLAGS) \
    (CANOPY_VERSION ++ (bit<8>)protocol_t.PROTOCOL ++ (bit<8>)PROTOCOL##_type_t.TYPE ++ (bit<8>)(FLAGS)) \
    &&& (EITHER_VERSION ++ 16w0xffff ++ (bit<8>)(FLAGS))
#define KIND_IS_HEADED(kind) kind[26:26]
#define VERSION_IS_HEADED(version) version[2:2]
// Version and lengths of feedback that has so many bytes with UDP's header, and of the same sealed.
#define EITHER_LENGTH(BYTES, NEXT) \
    (CANOPY_VERSION, BYTES, BYTES + IPV4_BYTES): NEXT; \
    (HEADED_VERSION, BYTES + SEAL_BYTES + HOP_BYTES, BYTES + SEAL_BYTES + HOP_BYTES + IPV4_BYTES): NEXT;

#endif
