//! Match-action tables: entries, and one index per kind of match.

mod calls;
mod entry;
mod exact;
mod flows;
pub(crate) mod key;
mod lpm;
mod map;
mod memo;
pub(crate) mod profile;
mod ternary;
mod trie;

pub(crate) use entry::{Entry, EntryRef, TableState, Target};
pub(crate) use flows::Flows;

use crate::ir::{KeyLayout, Lookup};
use key::EntryKey;
use memo::Memo;

/// What a key hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    pub entry: u32,
    /// What the entry runs, where that is all that the packet needs of it.
    pub call: u32,
}

impl Hit {
    /// Instead of a call.
    pub(crate) const ENTRY_SAYS: u32 = u32::MAX;
}

/// Finds entries by packet key (on the path) and by entry key (for the control plane).
#[derive(Debug)]
pub(crate) struct Index {
    search: Search,
    /// What the entries run, by their place; not of exact matches, which have it beside them.
    calls: Vec<u32>,
    entries: usize,
    memo: Memo,
}

/// By the kind of match.
#[derive(Debug)]
enum Search {
    None,
    Exact(exact::Exact),
    Lpm(lpm::Lpm),
    Ternary(ternary::Ternary),
}

/// From so many prefixes on, what a key hits is remembered (ours: fewer cost no more than the look). Tests always do.
const MANY_PREFIXES: usize = if cfg!(test) { 1 } else { 17 };

/// The same of tuples.
const MANY_TUPLES: usize = if cfg!(test) { 1 } else { 9 };

impl Index {
    pub(crate) fn new(lookup: Lookup, layout: &KeyLayout) -> Self {
        let search = match lookup {
            Lookup::None => Search::None,
            Lookup::Exact => Search::Exact(exact::Exact::new(layout.words)),
            Lookup::Lpm(field) => Search::Lpm(lpm::Lpm::new(layout, field)),
            Lookup::Ternary => Search::Ternary(ternary::Ternary::new(layout.words)),
        };
        Self { search, calls: Vec::new(), entries: 0, memo: Memo::new(layout.words) }
    }

    /// What a packet's key hits.
    #[inline]
    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<Hit> {
        let (entry, remembers) = match &mut self.search {
            Search::None => return None,
            Search::Exact(index) => return index.lookup(key),
            Search::Lpm(index) if self.entries < MANY_PREFIXES => (index.lookup(key), false),
            Search::Ternary(index) if index.tuples() < MANY_TUPLES => (index.lookup(key), false),
            search => {
                if let Some(known) = self.memo.get(key) {
                    return known;
                }
                let entry = match search {
                    Search::Lpm(index) => index.lookup(key),
                    Search::Ternary(index) => index.lookup(key),
                    Search::None | Search::Exact(_) => None,
                };
                (entry, true)
            }
        };
        let hit = entry.map(|entry| Hit { entry, call: self.call(entry) });
        if remembers {
            self.memo.put(key, hit);
        }
        hit
    }

    fn call(&self, entry: u32) -> u32 {
        self.calls.get(entry as usize).copied().unwrap_or(Hit::ENTRY_SAYS)
    }

    /// The entry with exactly this key and priority.
    pub(crate) fn find(&self, key: &EntryKey, priority: i32) -> Option<u32> {
        match &self.search {
            Search::None => None,
            Search::Exact(index) => index.lookup(&key.value).map(|hit| hit.entry),
            Search::Lpm(index) => index.find(key),
            Search::Ternary(index) => index.find(key, priority),
        }
    }

    /// The caller has made sure that there is none yet.
    pub(crate) fn insert(&mut self, key: EntryKey, priority: i32, hit: Hit) {
        self.entries += 1;
        self.runs(&key, hit);
        match &mut self.search {
            Search::None | Search::Exact(_) => {}
            Search::Lpm(index) => index.insert(&key, hit.entry),
            Search::Ternary(index) => index.insert(key, priority, hit.entry),
        }
    }

    /// An entry runs something else from now on.
    pub(crate) fn runs(&mut self, key: &EntryKey, hit: Hit) {
        if let Search::Exact(index) = &mut self.search {
            return index.insert(&key.value, hit);
        }
        let at = hit.entry as usize;
        if self.calls.len() <= at {
            self.calls.resize(at + 1, Hit::ENTRY_SAYS);
        }
        if let Some(call) = self.calls.get_mut(at) {
            *call = hit.call;
        }
        self.memo.forget(self.entries);
    }

    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i32) {
        self.entries = self.entries.saturating_sub(1);
        match &mut self.search {
            Search::None => {}
            Search::Exact(index) => index.remove(&key.value),
            Search::Lpm(index) => index.remove(key),
            Search::Ternary(index) => index.remove(key, priority),
        }
        self.memo.forget(self.entries);
    }
}

#[cfg(test)]
mod tests;
