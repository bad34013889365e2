//! Exact match: one hash look-up.

use super::map::Map;
use super::Hit;

#[derive(Debug)]
pub(crate) struct Exact(Map<Hit>);

impl Exact {
    pub(crate) fn new(words: usize) -> Self {
        Self(Map::new(words))
    }

    #[inline]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<Hit> {
        self.0.get(key)
    }

    pub(crate) fn insert(&mut self, key: &[u64], hit: Hit) {
        self.0.insert(key, hit);
    }

    pub(crate) fn remove(&mut self, key: &[u64]) {
        self.0.remove(key);
    }
}
