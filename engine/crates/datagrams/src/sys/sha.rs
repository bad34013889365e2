//! SHA-256 (FIPS 180-4) of two messages at a time, where the processor has instructions for it: each of them waits for the
//! one before, so that two messages take little longer than one.

use std::arch::x86_64::{
    __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi64, _mm_loadu_si128, _mm_set_epi32, _mm_set_epi64x,
    _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi32, _mm_shuffle_epi8,
};

const BLOCK: usize = 64;

/// FIPS 180-4, 4.2.2.
const K: [[i32; 4]; 16] = {
    const K: [u32; 64] = [
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
        0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
        0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
        0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
        0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
        0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
        0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    ];
    let mut rows = [[0; 4]; 16];
    let mut at = 0;
    while at < 64 {
        rows[at / 4][at % 4] = K[at] as i32;
        at += 1;
    }
    rows
};

/// Whether this processor can.
pub fn hashes_pairs() -> bool {
    is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1") && is_x86_feature_detected!("ssse3")
}

/// The first eight bytes of both hashes; both messages are of one length. Only where `hashes_pairs`, else it panics.
pub fn short_hashes_of_pair(one: &[u8], other: &[u8]) -> [[u8; 8]; 2] {
    assert!(hashes_pairs() && one.len() == other.len());
    // SAFETY: the processor has the instructions.
    unsafe { pair([one, other]) }
}

#[target_feature(enable = "sha,sse4.1,ssse3")]
unsafe fn pair(messages: [&[u8]; 2]) -> [[u8; 8]; 2] {
    // FIPS 180-4, 5.3.3: a, b, e, f and c, d, g, h, the first one in the highest place.
    let mut abef = [_mm_set_epi32(0x6a09e667, 0xbb67ae85_u32 as i32, 0x510e527f, 0x9b05688c_u32 as i32); 2];
    let mut cdgh = [_mm_set_epi32(0x3c6ef372, 0xa54ff53a_u32 as i32, 0x1f83d9ab, 0x5be0cd19); 2];
    let length = messages[0].len();
    let (first, second) = (messages[0].chunks_exact(BLOCK), messages[1].chunks_exact(BLOCK));
    let ends = [first.remainder(), second.remainder()];
    for blocks in first.zip(second) {
        // SAFETY: as the caller's; the blocks are whole.
        unsafe { compress(&mut abef, &mut cdgh, [blocks.0, blocks.1]) };
    }
    // 5.1.1: a one, zeros, and the length in bits.
    let mut padded = [[0; 2 * BLOCK]; 2];
    let end = if ends[0].len() < BLOCK - 8 { BLOCK } else { 2 * BLOCK };
    for (padded, rest) in padded.iter_mut().zip(ends) {
        padded[..rest.len()].copy_from_slice(rest);
        padded[rest.len()] = 0x80;
        padded[end - 8..end].copy_from_slice(&(8 * length as u64).to_be_bytes());
    }
    for at in (0..end).step_by(BLOCK) {
        let blocks = [&padded[0][at..at + BLOCK], &padded[1][at..at + BLOCK]];
        // SAFETY: likewise.
        unsafe { compress(&mut abef, &mut cdgh, blocks) };
    }
    abef.map(|state| (_mm_extract_epi64::<1>(state) as u64).to_be_bytes())
}

/// One block of each (6.2.2).
#[target_feature(enable = "sha,sse4.1,ssse3")]
unsafe fn compress(abef: &mut [__m128i; 2], cdgh: &mut [__m128i; 2], blocks: [&[u8]; 2]) {
    let swapped = _mm_set_epi64x(0x0c0d0e0f_08090a0b, 0x04050607_00010203); // to this processor's order of bytes
    let before = (*abef, *cdgh);
    let mut words = [[swapped; 4]; 2]; // of the message schedule, the last sixteen
    for (words, block) in words.iter_mut().zip(blocks) {
        assert!(block.len() == BLOCK);
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(BLOCK / 4)) {
            // SAFETY: of sixteen bytes.
            let bytes = unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()) };
            *word = _mm_shuffle_epi8(bytes, swapped);
        }
    }
    // Four groups of four rounds each time, so that words stay in registers.
    for (quarter, rows) in K.chunks_exact(4).enumerate() {
        for (group, k) in rows.iter().enumerate() {
            let k = _mm_set_epi32(k[3], k[2], k[1], k[0]);
            for (lane, w) in words.iter_mut().enumerate() {
                if quarter > 0 {
                    let last = w[(group + 3) % 4];
                    let sum = _mm_add_epi32(
                        _mm_sha256msg1_epu32(w[group], w[(group + 1) % 4]),
                        _mm_alignr_epi8::<4>(last, w[(group + 2) % 4]),
                    );
                    w[group] = _mm_sha256msg2_epu32(sum, last);
                }
                let wk = _mm_add_epi32(w[group], k);
                cdgh[lane] = _mm_sha256rnds2_epu32(cdgh[lane], abef[lane], wk);
                abef[lane] = _mm_sha256rnds2_epu32(abef[lane], cdgh[lane], _mm_shuffle_epi32::<0x0e>(wk));
            }
        }
    }
    for lane in 0..2 {
        abef[lane] = _mm_add_epi32(abef[lane], before.0[lane]);
        cdgh[lane] = _mm_add_epi32(cdgh[lane], before.1[lane]);
    }
}

#[cfg(test)]
mod tests {
    use ring::digest::{digest, SHA256};

    use super::{hashes_pairs, short_hashes_of_pair};

    #[test]
    fn two_messages_have_their_hashes() {
        if !hashes_pairs() {
            return;
        }
        let bytes: Vec<u8> = (0..6000_u32).map(|number| (number * number / 7) as u8).collect();
        for length in (0..300).chain([1400, 1436, 3000]) {
            let messages = [&bytes[..length], &bytes[3000..3000 + length]];
            let found = short_hashes_of_pair(messages[0], messages[1]);
            for (message, found) in messages.iter().zip(found) {
                assert_eq!(digest(&SHA256, message).as_ref()[..8], found, "{length} bytes");
            }
        }
    }
}
