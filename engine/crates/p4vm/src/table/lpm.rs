//! Longest prefix match: one hash map per prefix length in use, tried from the longest.

use super::key::EntryKey;
use super::map::Map;

#[derive(Debug)]
struct Length {
    prefix: u32,
    mask: Box<[u64]>,
    map: Map,
}

#[derive(Debug)]
pub(crate) struct Lpm {
    words: usize,
    /// Longest first.
    lengths: Vec<Length>,
    masked: Box<[u64]>,
}

impl Lpm {
    pub(crate) fn new(words: usize) -> Self {
        Self { words, lengths: Vec::new(), masked: vec![0; words].into() }
    }

    #[inline]
    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<u32> {
        for length in &self.lengths {
            for ((masked, &word), &mask) in self.masked.iter_mut().zip(key).zip(&length.mask) {
                *masked = word & mask;
            }
            if let Some(entry) = length.map.get(&self.masked) {
                return Some(entry);
            }
        }
        None
    }

    pub(crate) fn find(&self, key: &EntryKey) -> Option<u32> {
        self.lengths.iter().find(|length| length.prefix == key.prefix)?.map.get(&key.value)
    }

    pub(crate) fn insert(&mut self, key: &EntryKey, entry: u32) {
        let at = self.lengths.partition_point(|length| length.prefix > key.prefix);
        if self.lengths.get(at).is_none_or(|length| length.prefix != key.prefix) {
            let map = Map::new(self.words);
            self.lengths.insert(at, Length { prefix: key.prefix, mask: key.mask.clone(), map });
        }
        if let Some(length) = self.lengths.get_mut(at) {
            length.map.insert(&key.value, entry);
        }
    }

    pub(crate) fn remove(&mut self, key: &EntryKey) {
        if let Some(length) = self.lengths.iter_mut().find(|length| length.prefix == key.prefix) {
            length.map.remove(&key.value);
        }
        self.lengths.retain(|length| !length.map.is_empty());
    }
}
