//! Big-endian byte strings of the control plane, to and from words (least significant first).

use super::{word_mask, words_for};

/// The value of `bytes` in words for `bits` bits; None when it does not fit.
pub(crate) fn to_words(bytes: &[u8], bits: u32) -> Option<Vec<u64>> {
    let mut words = vec![0u64; words_for(bits) as usize];
    for (i, &byte) in bytes.iter().rev().enumerate() {
        match words.get_mut(i / 8) {
            Some(word) => *word |= u64::from(byte) << (i % 8 * 8),
            None if byte != 0 => return None,
            None => {}
        }
    }
    let fits = words.iter().enumerate().all(|(i, &word)| word & !word_mask(bits, i as u32) == 0);
    fits.then_some(words)
}

/// The `bits` bits of `words`, in as many bytes as they need (at least one).
pub(crate) fn from_words(words: &[u64], bits: u32) -> Vec<u8> {
    let len = bits.div_ceil(8).max(1) as usize;
    (0..len).rev().map(|i| words.get(i / 8).map_or(0, |word| (word >> (i % 8 * 8)) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_strings_are_padded_and_long_ones_trimmed() {
        assert_eq!(to_words(&[1, 2], 32), Some(vec![0x102]));
        assert_eq!(to_words(&[0, 0, 0, 0, 1], 9), Some(vec![1]));
        assert_eq!(to_words(&[], 9), Some(vec![0]));
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        assert_eq!(to_words(&[2, 0], 9), None);
        assert_eq!(to_words(&[1; 17], 128), None);
        assert_eq!(to_words(&[1, 255], 9), Some(vec![511]));
    }

    #[test]
    fn wide_values_keep_their_order() {
        let bytes: Vec<u8> = (1..=16).collect();
        let words = to_words(&bytes, 128).unwrap();
        assert_eq!(words, [0x090a_0b0c_0d0e_0f10, 0x0102_0304_0506_0708]);
        assert_eq!(from_words(&words, 128), bytes);
    }
}
