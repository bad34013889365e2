//! Keys packed into words: how the fields of a key lie side by side.

use crate::value::{word_mask, words_for};

/// One field's place in a packed key: it lies within a word, or takes whole words when it is wider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub bits: u32,
    pub word: u32,
    pub shift: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyLayout {
    pub parts: Vec<Part>,
    pub words: usize,
}

impl KeyLayout {
    /// Fields of these widths, in order, none of them across a word's end.
    pub(crate) fn new(widths: impl IntoIterator<Item = u32>) -> Self {
        let (mut parts, mut word, mut shift) = (Vec::new(), 0u32, 0u32);
        for bits in widths {
            if shift > 0 && shift + bits > 64 {
                word += 1;
                shift = 0;
            }
            parts.push(Part { bits, word, shift });
            let end = shift + bits;
            word += end / 64;
            shift = end % 64;
        }
        Self { parts, words: (word + u32::from(shift > 0)) as usize }
    }

    /// Put a field's value (least significant word first) in its place.
    #[inline]
    pub(crate) fn put(&self, part: usize, value: &[u64], out: &mut [u64]) {
        let Some(part) = self.parts.get(part) else { return };
        for (slot, &word) in out.iter_mut().skip(part.word as usize).zip(value) {
            *slot |= word << part.shift;
        }
    }

    /// A field's value out of a packed key.
    pub(crate) fn get(&self, part: usize, key: &[u64]) -> Vec<u64> {
        let Some(part) = self.parts.get(part) else { return Vec::new() };
        let word = |i: u32| key.get((part.word + i) as usize).copied().unwrap_or(0) >> part.shift;
        (0..words_for(part.bits)).map(|i| word(i) & word_mask(part.bits, i)).collect()
    }
}
