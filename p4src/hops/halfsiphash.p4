#ifndef CANOPY_HOPS_HALFSIPHASH_P4
#define CANOPY_HOPS_HALFSIPHASH_P4

#include "../include/metadata.p4"

// HalfSipHash-2-4 with 64 bits of output (Aumasson, Bernstein, "SipHash", INDOCRYPT 2012; the variant with words of 32 bits is
// the authors' own). It takes words, not bytes: a number of a packet, and each half of the key, is the number that the
// original reads, least byte first, so that nothing need be turned round. docs/security.md has test vectors.

#define ROTATED(x, bits) (x << bits | x >> (32 - bits))
#define SIP_ROUND \
    meta.mac.v0 = meta.mac.v0 + meta.mac.v1; \
    meta.mac.v1 = ROTATED(meta.mac.v1, 5) ^ meta.mac.v0; \
    meta.mac.v0 = ROTATED(meta.mac.v0, 16); \
    meta.mac.v2 = meta.mac.v2 + meta.mac.v3; \
    meta.mac.v3 = ROTATED(meta.mac.v3, 8) ^ meta.mac.v2; \
    meta.mac.v0 = meta.mac.v0 + meta.mac.v3; \
    meta.mac.v3 = ROTATED(meta.mac.v3, 7) ^ meta.mac.v0; \
    meta.mac.v2 = meta.mac.v2 + meta.mac.v1; \
    meta.mac.v1 = ROTATED(meta.mac.v1, 13) ^ meta.mac.v2; \
    meta.mac.v2 = ROTATED(meta.mac.v2, 16);

// The tag of the message in meta.mac, with the key there, into meta.mac.tag. Each call of an action is a table for p4c, across
// which it moves nothing: in one piece it would put expressions into each other, and would not end. All calls are of one
// action, the same in ingress and egress, so that it is there once. It takes two words from the front of a part; behind a part
// there are zeros, and words of zeros are what the algorithm's last rounds take. What is left of a part is always looked at,
// though it is 0: else p4c would make another action of a call whose rest nobody needs.
control make_tag(inout metadata_t meta) {
    @hidden @name(".absorb")
    action absorb() {
        meta.mac.word = meta.mac.part[255:224];
        meta.mac.part = meta.mac.part << 32;
        meta.mac.v3 = meta.mac.v3 ^ meta.mac.word;
        SIP_ROUND
        SIP_ROUND
        meta.mac.v0 = meta.mac.v0 ^ meta.mac.word;
        meta.mac.word = meta.mac.part[255:224];
        meta.mac.part = meta.mac.part << 32;
        meta.mac.v3 = meta.mac.v3 ^ meta.mac.word;
        SIP_ROUND
        SIP_ROUND
        meta.mac.v0 = meta.mac.v0 ^ meta.mac.word;
    }

    @hidden @name(".begin_tag")
    action begin() {
        meta.mac.v0 = meta.mac.key[63:32];
        meta.mac.v1 = meta.mac.key[31:0] ^ 0xee;
        meta.mac.v2 = meta.mac.key[63:32] ^ 0x6c796765;
        meta.mac.v3 = meta.mac.key[31:0] ^ 0x74656462;
        meta.mac.part = meta.mac.part0;
    }

    apply {
        begin();
        absorb(); absorb(); absorb(); absorb();
        meta.mac.part = meta.mac.part | meta.mac.part1;
        absorb(); absorb(); absorb(); absorb();
        if (meta.mac.parts > 2) {
            meta.mac.part = meta.mac.part | meta.mac.part2;
            absorb(); absorb(); absorb(); absorb();
            meta.mac.part = meta.mac.part | meta.mac.part3;
            absorb(); absorb(); absorb(); absorb();
            if (meta.mac.parts > 4) {
                meta.mac.part = meta.mac.part | meta.mac.part4;
                absorb(); absorb(); absorb(); absorb();
            }
        }
        // At the end the number of bytes, in the last word's last one: 32 of each part, and 12.
        meta.mac.part = meta.mac.part | (meta.mac.last ++ ((meta.mac.parts << 29) + 0x0c000000) ++ 128w0);
        absorb(); absorb();
        meta.mac.v2 = meta.mac.v2 ^ 0xee;
        absorb();
        meta.mac.tag[63:32] = meta.mac.v1 ^ meta.mac.v3;
        meta.mac.v1 = meta.mac.v1 ^ 0xdd;
        absorb();
        meta.mac.tag[31:0] = meta.mac.v1 ^ meta.mac.v3 ^ meta.mac.part[31:0];
    } // apply
} // make_tag

#endif
