//! Match-action tables: entries, and one index per kind of match.

mod entry;
mod exact;
pub(crate) mod key;
mod lpm;
mod map;
mod memo;
pub(crate) mod profile;
mod ternary;
mod trie;

pub(crate) use entry::{Entry, EntryRef, TableState};

use crate::ir::{KeyLayout, Lookup};
use key::EntryKey;

/// Finds entries by packet key (on the path) and by entry key (for the control plane).
#[derive(Debug)]
pub(crate) enum Index {
    None,
    Exact(exact::Exact),
    Lpm(lpm::Lpm),
    Ternary(ternary::Ternary),
}

impl Index {
    pub(crate) fn new(lookup: Lookup, layout: &KeyLayout) -> Self {
        match lookup {
            Lookup::None => Self::None,
            Lookup::Exact => Self::Exact(exact::Exact::new(layout.words)),
            Lookup::Lpm(field) => Self::Lpm(lpm::Lpm::new(layout, field)),
            Lookup::Ternary => Self::Ternary(ternary::Ternary::new(layout.words)),
        }
    }

    /// The entry that a packet's key hits.
    #[inline]
    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Exact(index) => index.lookup(key),
            Self::Lpm(index) => index.lookup(key),
            Self::Ternary(index) => index.lookup(key),
        }
    }

    /// The entry with exactly this key and priority.
    pub(crate) fn find(&self, key: &EntryKey, priority: i32) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Exact(index) => index.lookup(&key.value),
            Self::Lpm(index) => index.find(key),
            Self::Ternary(index) => index.find(key, priority),
        }
    }

    /// The caller has made sure that there is none yet.
    pub(crate) fn insert(&mut self, key: EntryKey, priority: i32, entry: u32) {
        match self {
            Self::None => {}
            Self::Exact(index) => index.insert(&key.value, entry),
            Self::Lpm(index) => index.insert(&key, entry),
            Self::Ternary(index) => index.insert(key, priority, entry),
        }
    }

    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i32) {
        match self {
            Self::None => {}
            Self::Exact(index) => index.remove(&key.value),
            Self::Lpm(index) => index.remove(key),
            Self::Ternary(index) => index.remove(key, priority),
        }
    }
}

#[cfg(test)]
mod tests;
