//! The Internet checksum's sum (RFC 1071).

/// Adds 16-bit words, of which an odd octet at the end is the first half; the carries are folded in later.
///
/// The words are read as the processor has them, several at once: in which order their octets stand changes that of the
/// folded sum alone (RFC 1071, section 2, B).
pub fn sum(octets: &[u8], start: u64) -> u64 {
    let (words, tail) = octets.as_chunks::<4>();
    let mut last = [0; 4];
    last.iter_mut().zip(tail).for_each(|(last, octet)| *last = *octet);
    let add = |sum, word: &[u8; 4]| sum + u64::from(u32::from_ne_bytes(*word));
    start + u64::from(u16::from_be(fold(words.iter().chain([&last]).fold(0, add))))
}

/// The sum in 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_sum_of_rfc_1071() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0)), 0xddf2);
        assert_eq!(fold(sum(&[0x12], 0)), 0x1200);
        assert_eq!(fold(sum(&[], 0)), 0);
        assert_eq!(fold(sum(&[0xff, 0xff], 1)), 1);
    }

    proptest! {
        #![proptest_config(crate::seeded(200))]

        #[test]
        fn several_words_at_once_make_the_same_sum(octets in prop::collection::vec(any::<u8>(), 0..200), start: u32) {
            let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
            let one_by_one: u64 = octets.chunks(2).map(word).sum();
            prop_assert_eq!(fold(sum(&octets, start.into())), fold(u64::from(start) + one_by_one));
        }
    }
}
