//! The tag of feedback from one hop to the next: what p4src/hops/halfsiphash.p4 makes, too.

/// HalfSipHash-2-4 with 64 bits of output (Aumasson and Bernstein; SipHash: INDOCRYPT 2012), of words: each is the number
/// that the original reads, least byte first, and so are the halves of the key. None: the message is no whole words.
pub fn tag(key: u64, message: &[u8]) -> Option<u64> {
    if !message.len().is_multiple_of(4) {
        return None;
    }
    let (first, second) = ((key >> 32) as u32, key as u32);
    let mut state = [first, second ^ 0xee, first ^ 0x6c79_6765, second ^ 0x7465_6462];
    for word in message.chunks_exact(4) {
        absorb(&mut state, u32::from_be_bytes(word.try_into().expect("4 bytes")));
    }
    absorb(&mut state, (message.len() as u32) << 24);
    state[2] ^= 0xee;
    rounds(&mut state, 4);
    let high = state[1] ^ state[3];
    state[1] ^= 0xdd;
    rounds(&mut state, 4);
    Some(u64::from(high) << 32 | u64::from(state[1] ^ state[3]))
}

fn absorb(state: &mut [u32; 4], word: u32) {
    state[3] ^= word;
    rounds(state, 2);
    state[0] ^= word;
}

fn rounds([v0, v1, v2, v3]: &mut [u32; 4], count: usize) {
    for _ in 0..count {
        *v0 = v0.wrapping_add(*v1);
        *v1 = v1.rotate_left(5) ^ *v0;
        *v0 = v0.rotate_left(16);
        *v2 = v2.wrapping_add(*v3);
        *v3 = v3.rotate_left(8) ^ *v2;
        *v0 = v0.wrapping_add(*v3);
        *v3 = v3.rotate_left(7) ^ *v0;
        *v2 = v2.wrapping_add(*v1);
        *v1 = v1.rotate_left(13) ^ *v2;
        *v2 = v2.rotate_left(16);
    }
}

#[cfg(test)]
mod tests {
    use super::tag;

    /// Of the authors' `vectors_hsip64`: key 00 01 .. 07, messages of 0, 4 and 8 bytes 00 01 02 .. , all least byte first.
    #[test]
    fn the_authors_vectors() {
        let key = 0x0302_0100_0706_0504;
        let message: Vec<u8> = [0x0302_0100_u32, 0x0706_0504].iter().flat_map(|word| word.to_be_bytes()).collect();
        let expected = ["218d1f59b9b83cc8", "d5e78a175be52ea1", "edfee820bce4858c"];
        for (length, expected) in [0, 4, 8].into_iter().zip(expected) {
            let found = tag(key, &message[..length]).unwrap();
            let octets = [(found >> 32) as u32, found as u32].map(u32::to_le_bytes).concat();
            let text: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
            assert_eq!(text, expected, "{length}");
        }
        assert_eq!(tag(key, &message[..3]), None);
    }
}
