//! Sets of the header vector's words.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(Vec<u64>);

impl Words {
    /// Room for `words` of them; others are never in the set.
    pub(super) fn none(words: usize) -> Self {
        Self(vec![0; words.div_ceil(64)])
    }

    /// Words of this set, which a copy costs.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn has(&self, word: usize) -> bool {
        self.0.get(word / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, word: usize) {
        if let Some(bits) = self.0.get_mut(word / 64) {
            *bits |= 1 << (word % 64);
        }
    }

    pub(super) fn remove(&mut self, word: usize) {
        if let Some(bits) = self.0.get_mut(word / 64) {
            *bits &= !(1 << (word % 64));
        }
    }

    pub(super) fn add_all(&mut self, words: Range<usize>) {
        words.for_each(|word| self.add(word));
    }

    pub(super) fn remove_all(&mut self, words: Range<usize>) {
        words.for_each(|word| self.remove(word));
    }

    /// Adds another set's.
    pub(super) fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(bits, other)| *bits |= other);
    }
}
