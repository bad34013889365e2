//! Numbers of any width and the bits of a packet.

pub(crate) mod bits;
pub(crate) mod bytes;
pub(crate) mod int;
mod wide;

pub(crate) use int::Int;
pub(crate) use wide::{Wide192, Wide576, Widest};

/// Words of the widest value, 2,048 bits.
pub(crate) const MAX_VALUE_WORDS: usize = 32;

/// Words of 64 bits that hold `bits` bits; a field of no bits still has one, so that it has a place.
pub(crate) fn words_for(bits: u32) -> u32 {
    bits.div_ceil(64).max(1)
}

/// The low `bits` bits set, for up to 64.
pub(crate) fn mask64(bits: u32) -> u64 {
    match bits {
        0 => 0,
        1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}

/// The bits of word `index` (least significant first) that a value of `bits` bits uses.
pub(crate) fn word_mask(bits: u32, index: u32) -> u64 {
    mask64(bits.saturating_sub(index.saturating_mul(64)))
}
