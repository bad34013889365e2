//! Longest prefix match: a trie of the prefixes, and where the key has exact fields too, one trie for each of their
//! values. A few prefixes are looked at one by one, the longest first, which waits for less memory.

use super::key::EntryKey;
use super::map::Map;
use super::trie::{Long, Node, Short};
use crate::ir::{KeyLayout, Part};
use crate::value::{mask64, word_mask, words_for};

#[derive(Debug)]
pub(crate) struct Lpm {
    part: Part,
    /// The key's other fields; empty where there are none.
    others: Box<[u64]>,
    /// The trie for each of their values, by its index.
    values: Map<u32>,
    tries: Vec<Node>,
    free: Vec<u32>,
    masked: Box<[u64]>,
    /// All prefixes, while there have not been more than a few.
    few: Option<Few>,
}

/// So many are looked at one by one (ours: a trie's nodes are as long to wait for).
const MOST: usize = 8;

/// Prefixes, the longest first.
#[derive(Debug, Default)]
struct Few {
    /// Of each, by word of the key: mask and value.
    keys: Vec<[u64; 2]>,
    /// Their lengths and entries.
    entries: Vec<(u32, u32)>,
}

impl Few {
    #[inline]
    fn lookup(&self, key: &[u64]) -> Option<u32> {
        let found = self.keys.chunks_exact(key.len().max(1)).zip(&self.entries).find(|(prefix, _)| {
            prefix.iter().zip(key).fold(0, |differs, ([mask, value], word)| differs | (word & mask ^ value)) == 0
        });
        found.map(|(_, &(_, entry))| entry)
    }

    fn insert(&mut self, key: &EntryKey, entry: u32) {
        let at = self.entries.partition_point(|&(length, _)| length >= key.prefix);
        let words = key.mask.iter().zip(&key.value).map(|(&mask, &value)| [mask, value]);
        let from = at * key.mask.len();
        self.keys.splice(from..from, words);
        self.entries.insert(at, (key.prefix, entry));
    }

    fn remove(&mut self, key: &EntryKey) {
        let words = key.mask.len().max(1);
        let same = |prefix: &[[u64; 2]]| {
            prefix.iter().zip(key.mask.iter().zip(&key.value)).all(|(prefix, (mask, value))| *prefix == [*mask, *value])
        };
        if let Some(at) = self.keys.chunks_exact(words).position(same) {
            self.keys.drain(at * words..(at + 1) * words);
            self.entries.remove(at);
        }
    }
}

/// Where the prefix's field lies in a key.
enum Field<'a> {
    Short(Short),
    Long(Long<'a>),
}

#[inline]
fn field(part: Part, key: &[u64]) -> Field<'_> {
    let words = key.get(part.word as usize..).unwrap_or_default();
    if part.bits > 64 {
        return Field::Long(Long { words, bits: part.bits });
    }
    let value = words.first().copied().unwrap_or(0) >> part.shift & mask64(part.bits);
    Field::Short(Short(value.checked_shl(64 - part.bits).unwrap_or(0)))
}

impl Lpm {
    pub(crate) fn new(layout: &KeyLayout, index: u32) -> Self {
        let part = layout.parts.get(index as usize).copied().unwrap_or_default();
        let mut others = vec![0; layout.words];
        for (i, other) in layout.parts.iter().enumerate().filter(|(i, _)| *i != index as usize) {
            let full: Vec<u64> = (0..words_for(other.bits)).map(|word| word_mask(other.bits, word)).collect();
            layout.put(i, &full, &mut others);
        }
        let alone = layout.parts.len() == 1;
        let others = if alone { Box::default() } else { others.into_boxed_slice() };
        let tries = if alone { vec![Node::default()] } else { Vec::new() };
        let (values, masked) = (Map::new(layout.words), vec![0; layout.words].into());
        Self { part, others, values, tries, free: Vec::new(), masked, few: Some(Few::default()) }
    }

    #[inline]
    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<u32> {
        if let Some(few) = &self.few {
            return few.lookup(key);
        }
        let trie = if self.others.is_empty() {
            self.tries.first()?
        } else {
            for ((masked, &word), &mask) in self.masked.iter_mut().zip(key).zip(&self.others) {
                *masked = word & mask;
            }
            self.tries.get(self.values.get(&self.masked)? as usize)?
        };
        match field(self.part, key) {
            Field::Short(address) => trie.longest(address),
            Field::Long(address) => trie.longest(address),
        }
    }

    /// The values of the other fields.
    fn others_of(&self, key: &EntryKey) -> Vec<u64> {
        key.value.iter().zip(&self.others).map(|(word, mask)| word & mask).collect()
    }

    fn index_of(&self, key: &EntryKey) -> Option<u32> {
        if self.others.is_empty() {
            Some(0)
        } else {
            self.values.get(&self.others_of(key))
        }
    }

    pub(crate) fn find(&self, key: &EntryKey) -> Option<u32> {
        let trie = self.tries.get(self.index_of(key)? as usize)?;
        match field(self.part, &key.value) {
            Field::Short(address) => trie.find(address, key.prefix),
            Field::Long(address) => trie.find(address, key.prefix),
        }
    }

    pub(crate) fn insert(&mut self, key: &EntryKey, entry: u32) {
        match &mut self.few {
            Some(few) if few.entries.len() < MOST => few.insert(key, entry),
            few => *few = None,
        }
        let index = match self.index_of(key) {
            Some(index) => index,
            None => {
                let index = self.free.pop().unwrap_or_else(|| {
                    self.tries.push(Node::default());
                    self.tries.len() as u32 - 1
                });
                let others = self.others_of(key);
                self.values.insert(&others, index);
                index
            }
        };
        let Some(trie) = self.tries.get_mut(index as usize) else { return };
        match field(self.part, &key.value) {
            Field::Short(address) => trie.insert(address, key.prefix, entry),
            Field::Long(address) => trie.insert(address, key.prefix, entry),
        }
    }

    pub(crate) fn remove(&mut self, key: &EntryKey) {
        if let Some(few) = &mut self.few {
            few.remove(key);
        }
        let Some(index) = self.index_of(key) else { return };
        let Some(trie) = self.tries.get_mut(index as usize) else { return };
        match field(self.part, &key.value) {
            Field::Short(address) => trie.remove(address, key.prefix),
            Field::Long(address) => trie.remove(address, key.prefix),
        }
        if trie.is_empty() && !self.others.is_empty() {
            let others = self.others_of(key);
            self.values.remove(&others);
            self.free.push(index);
        }
    }
}
