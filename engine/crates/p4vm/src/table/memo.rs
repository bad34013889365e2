//! What the latest keys hit, in one look: packets of one flow have one key (an exact-match cache, as Open vSwitch has
//! before its tuples: Pfaff et al., NSDI 2015, 4.2).
//!
//! A set has two places; a new key takes the place of the older one. Where a key belongs is said by a
//! hash keyed at random, so that nobody can send keys that drive each other out. A change of the table ends all that is
//! remembered. There are as many sets as the table asks for, and a set of keys of up to three words is in one cache
//! line: with many flows what is waited for is memory.

use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::Hit;

const WAYS: usize = 2;

/// Two for each of the table's entries, within these bounds: at most, room for the keys of some ten thousand flows.
const SETS: (usize, usize) = (16, 1 << 14);

/// A cache line.
const LINE_WORDS: usize = 8;
const LINE_BYTES: usize = 64;

/// A place's last word is {generation, call, entry}.
const CALL: u32 = 24;
const GENERATION: u32 = 48;
const ID: u64 = (1 << CALL) - 1;
/// Instead of an entry: the key hits none; of a call: the entry says what it runs.
const NONE: u64 = ID;

#[derive(Debug)]
pub(crate) struct Memo {
    /// Words of a place, and of a set.
    place: usize,
    set: usize,
    sets: usize,
    /// The sets, from `start` on, where a cache line begins.
    words: Vec<u64>,
    start: usize,
    generation: u16,
    hasher: RandomState,
}

impl Memo {
    pub(crate) fn new(words: usize) -> Self {
        let place = words + 1;
        let needed = WAYS * place;
        let set = if needed <= LINE_WORDS { needed.next_power_of_two() } else { needed.next_multiple_of(LINE_WORDS) };
        Self { place, set, sets: SETS.0, words: Vec::new(), start: 0, generation: 1, hasher: RandomState::new() }
    }

    /// The table changed, and has so many entries now.
    pub(crate) fn forget(&mut self, entries: usize) {
        let sets = (2 * entries).next_power_of_two().clamp(SETS.0, SETS.1);
        self.generation = self.generation.wrapping_add(1);
        if sets != self.sets || self.generation == 0 {
            self.words = Vec::new();
            self.sets = sets;
            self.generation = 1;
        }
    }

    /// What is remembered of a key: the entry that it hits, or that it hits none.
    #[inline]
    pub(crate) fn get(&self, key: &[u64]) -> Option<Option<Hit>> {
        let set = self.words.get(self.at(key)..)?.get(..WAYS * self.place)?;
        let (newer, older) = set.split_at_checked(self.place)?;
        let ((&first, a), (&second, b)) = (newer.split_last()?, older.split_last()?);
        // Both places are compared without a branch, which would be foreseen wrongly as often as a key is in the second,
        // and only when its memory has come.
        let differs = |last: u64, kept: &[u64]| {
            let of_another_time = (last >> GENERATION) ^ u64::from(self.generation);
            kept.iter().zip(key).fold(of_another_time, |differs, (kept, word)| differs | (kept ^ word))
        };
        let (a, b) = (differs(first, a), differs(second, b));
        let in_first = u64::from(a == 0).wrapping_neg();
        ((a == 0) | (b == 0)).then(|| hit(first & in_first | second & !in_first))
    }

    /// Remembers what a key hits that `get` did not know.
    pub(crate) fn put(&mut self, key: &[u64], found: Option<Hit>) {
        let Some(word) = word(self.generation, found) else { return };
        if self.words.is_empty() {
            self.words = vec![0; self.sets * self.set + LINE_WORDS];
            self.start = (self.words.as_ptr() as usize).wrapping_neg() % LINE_BYTES / size_of::<u64>();
        }
        let at = self.at(key);
        let Some((newer, older)) =
            self.words.get_mut(at..at + WAYS * self.place).map(|set| set.split_at_mut(self.place))
        else {
            return;
        };
        older.copy_from_slice(newer);
        if let Some((last, kept)) = newer.split_last_mut() {
            kept.copy_from_slice(key);
            *last = word;
        }
    }

    #[inline]
    fn at(&self, key: &[u64]) -> usize {
        let mut hasher = self.hasher.build_hasher();
        key.iter().for_each(|&word| hasher.write_u64(word));
        self.start + (hasher.finish() as usize & (self.sets - 1)) * self.set
    }
}

/// What is remembered, in a place's last word. None: there are too many entries or calls for a word.
pub(super) fn word(generation: u16, found: Option<Hit>) -> Option<u64> {
    let (entry, call) = found.map_or((NONE, NONE), |hit| {
        let call = if hit.call == Hit::ENTRY_SAYS { NONE } else { u64::from(hit.call) };
        (u64::from(hit.entry), call)
    });
    let fits = entry <= ID && call <= ID && (found.is_none() || entry != NONE);
    fits.then_some(u64::from(generation) << GENERATION | call << CALL | entry)
}

/// When a word was written.
#[inline]
pub(super) fn generation(word: u64) -> u16 {
    (word >> GENERATION) as u16
}

#[inline]
pub(super) fn hit(word: u64) -> Option<Hit> {
    let (entry, call) = (word & ID, word >> CALL & ID);
    let call = if call == NONE { Hit::ENTRY_SAYS } else { call as u32 };
    (entry != NONE).then_some(Hit { entry: entry as u32, call })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u64; 2] = [7, 9];

    fn remembered(entry: u32, call: u32) -> Option<Option<Hit>> {
        let mut memo = Memo::new(2);
        memo.put(&KEY, Some(Hit { entry, call }));
        memo.get(&KEY)
    }

    #[test]
    fn what_fits_a_word_is_remembered() {
        let of = |entry, call| Some(Some(Hit { entry, call }));
        assert_eq!(remembered(0, 0), of(0, 0));
        assert_eq!(remembered(5, Hit::ENTRY_SAYS), of(5, Hit::ENTRY_SAYS));
        assert_eq!(remembered((1 << 24) - 2, (1 << 24) - 2), of((1 << 24) - 2, (1 << 24) - 2));
        assert_eq!(remembered((1 << 24) - 1, 0), None);
        assert_eq!(remembered(1 << 24, 0), None);
        assert_eq!(remembered(0, 1 << 24), None);
    }

    #[test]
    fn a_miss_is_remembered_until_the_table_changes() {
        let mut memo = Memo::new(2);
        assert_eq!(memo.get(&KEY), None);
        memo.put(&KEY, None);
        assert_eq!(memo.get(&KEY), Some(None));
        memo.forget(1);
        assert_eq!(memo.get(&KEY), None);
    }

    #[test]
    fn changes_beyond_a_generations_width_bring_nothing_back() {
        let mut memo = Memo::new(2);
        memo.put(&KEY, None);
        for _ in 0..=u16::MAX {
            memo.forget(1);
            assert_eq!(memo.get(&KEY), None);
        }
    }

    #[test]
    fn a_set_is_in_one_cache_line() {
        for words in 1..=3 {
            let mut memo = Memo::new(words);
            memo.put(&[1; 3][..words], None);
            let address = memo.words.as_ptr() as usize + memo.at(&[1; 3][..words]) * 8;
            assert!(address % 64 + WAYS * memo.place * 8 <= 64, "{words} words");
        }
    }

    #[test]
    fn sets_are_as_many_as_the_table_asks_for() {
        let mut memo = Memo::new(1);
        for (entries, sets) in [(0, 16), (100, 256), (10_000, 1 << 14), (1 << 20, 1 << 14)] {
            memo.forget(entries);
            assert_eq!(memo.sets, sets);
        }
    }
}
