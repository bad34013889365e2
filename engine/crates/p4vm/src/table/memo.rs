//! What the latest keys hit, in one look: packets of one flow have one key (an exact-match cache, as Open vSwitch has
//! before its tuples: Pfaff et al., NSDI 2015, 4.2).
//!
//! A set has two places; a new key takes the place of the older one. Where a key belongs is said by a
//! hash keyed at random, so that nobody can send keys that drive each other out. A change of the table ends all that is
//! remembered.

use ahash::RandomState;

/// Two for each: room for the keys of some ten thousand flows. 32 bytes a place with keys of three words.
const SETS: usize = 1 << 14;

/// Where a place's last word has what the key hits, plus two; 1 is a miss, 0 that nothing is remembered.
const NONE: u64 = 1;
const SHIFT: u32 = 32;

#[derive(Debug)]
pub(crate) struct Memo {
    /// Of a place: the key, and its last word {generation, what it hits}.
    place: usize,
    words: Vec<u64>,
    generation: u32,
    hasher: RandomState,
}

impl Memo {
    pub(crate) fn new(words: usize) -> Self {
        Self { place: words + 1, words: Vec::new(), generation: 1, hasher: RandomState::new() }
    }

    /// The table changed.
    pub(crate) fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.words.clear();
            self.generation = 1;
        }
    }

    /// What is remembered of a key: the entry that it hits, or that it hits none.
    #[inline]
    pub(crate) fn get(&self, key: &[u64]) -> Option<Option<u32>> {
        let set = self.words.get(self.set(key)..)?.get(..2 * self.place)?;
        set.chunks_exact(self.place).find_map(|place| {
            let (last, kept) = place.split_last()?;
            let is_it = (last >> SHIFT) as u32 == self.generation && kept == key;
            is_it.then(|| (*last as u32).checked_sub(NONE as u32 + 1))
        })
    }

    /// Remembers what a key hits that `get` did not know.
    pub(crate) fn put(&mut self, key: &[u64], entry: Option<u32>) {
        if self.words.is_empty() {
            self.words.resize(2 * SETS * self.place, 0);
        }
        let at = self.set(key);
        let Some((newer, older)) = self.words.get_mut(at..at + 2 * self.place).map(|set| set.split_at_mut(self.place))
        else {
            return;
        };
        older.copy_from_slice(newer);
        let found = entry.map_or(NONE, |entry| u64::from(entry) + NONE + 1);
        if let Some((last, kept)) = newer.split_last_mut() {
            kept.copy_from_slice(key);
            *last = u64::from(self.generation) << SHIFT | found;
        }
    }

    #[inline]
    fn set(&self, key: &[u64]) -> usize {
        (self.hasher.hash_one(key) as usize & (SETS - 1)) * 2 * self.place
    }
}
