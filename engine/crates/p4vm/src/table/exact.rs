//! Exact match: one hash look-up.

use super::map::Map;

#[derive(Debug)]
pub(crate) struct Exact(Map);

impl Exact {
    pub(crate) fn new(words: usize) -> Self {
        Self(Map::new(words))
    }

    #[inline]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<u32> {
        self.0.get(key)
    }

    pub(crate) fn insert(&mut self, key: &[u64], entry: u32) {
        self.0.insert(key, entry);
    }

    pub(crate) fn remove(&mut self, key: &[u64]) {
        self.0.remove(key);
    }
}
