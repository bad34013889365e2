//! Ternary and range match with priorities, by tuple-space search (Srinivasan, Suri, Varghese, SIGCOMM 1999).
//!
//! Entries with one mask share a tuple, which is a hash map. Tuples whose masks agree in the key's first word share a
//! stage, where that word alone says which of them can hold a match: most packets are looked up in each stage and in a
//! few tuples only. A stage or tuple whose best priority has been beaten is passed over. Ranges do not hash: they are
//! checked on the candidates of a bucket.

use ahash::AHashMap;

use super::key::{EntryKey, RangeKey};
use super::map::Map;

/// Entries that agree in mask and masked value, best first.
#[derive(Debug)]
struct Candidate {
    priority: i32,
    /// Older wins among equals.
    age: u64,
    entry: u32,
    ranges: Box<[RangeKey]>,
}

/// The best candidate, which is the only one in most buckets, beside the others.
#[derive(Debug, Default)]
struct Bucket {
    best: Option<Candidate>,
    others: Vec<Candidate>,
}

impl Bucket {
    fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.best.iter().chain(&self.others)
    }

    fn insert(&mut self, candidate: Candidate) {
        let at = self.iter().take_while(|c| c.priority >= candidate.priority).count();
        match at.checked_sub(1) {
            Some(at) => self.others.insert(at.min(self.others.len()), candidate),
            None => {
                if let Some(second) = self.best.replace(candidate) {
                    self.others.insert(0, second);
                }
            }
        }
    }

    /// Returns whether there was such a candidate.
    fn remove(&mut self, priority: i32, ranges: &[RangeKey]) -> bool {
        let is_it = |c: &Candidate| c.priority == priority && *c.ranges == *ranges;
        if self.best.as_ref().is_some_and(is_it) {
            self.best = (!self.others.is_empty()).then(|| self.others.remove(0));
            return true;
        }
        let before = self.others.len();
        self.others.retain(|c| !is_it(c));
        self.others.len() < before
    }
}

#[derive(Debug)]
struct Tuple {
    mask: Box<[u64]>,
    best: i32,
    map: Map<u32>,
    buckets: Vec<Bucket>,
    free: Vec<u32>,
}

impl Tuple {
    fn new(words: usize, mask: Box<[u64]>) -> Self {
        Self { mask, best: i32::MIN, map: Map::new(words), buckets: Vec::new(), free: Vec::new() }
    }

    fn bucket(&self, key: &[u64]) -> Option<&Bucket> {
        self.buckets.get(self.map.get(key)? as usize)
    }

    fn insert(&mut self, key: &[u64], candidate: Candidate) {
        let bucket = match self.map.get(key) {
            Some(bucket) => bucket,
            None => {
                let bucket = self.free.pop().unwrap_or_else(|| {
                    self.buckets.push(Bucket::default());
                    self.buckets.len() as u32 - 1
                });
                self.map.insert(key, bucket);
                bucket
            }
        };
        self.best = self.best.max(candidate.priority);
        if let Some(bucket) = self.buckets.get_mut(bucket as usize) {
            bucket.insert(candidate);
        }
    }

    /// Returns whether there was such an entry.
    fn remove(&mut self, key: &EntryKey, priority: i32) -> bool {
        let Some(at) = self.map.get(&key.value) else { return false };
        let Some(bucket) = self.buckets.get_mut(at as usize) else { return false };
        let removed = bucket.remove(priority, &key.ranges);
        if bucket.best.is_none() {
            self.map.remove(&key.value);
            self.free.push(at);
        }
        if priority == self.best {
            let firsts = self.buckets.iter().filter_map(|bucket| bucket.best.as_ref());
            self.best = firsts.map(|candidate| candidate.priority).max().unwrap_or(i32::MIN);
        }
        removed
    }
}

/// A tuple and the number of its entries that have a given first word.
type Share = (u32, u32);

/// Tuples that agree in the first word of their masks.
#[derive(Debug)]
struct Stage {
    mask: u64,
    best: i32,
    /// They keep their places.
    tuples: Vec<Tuple>,
    /// By masked first word, the tuples with such entries.
    shares: AHashMap<u64, Vec<Share>>,
}

impl Stage {
    fn new(mask: u64) -> Self {
        Self { mask, best: i32::MIN, tuples: Vec::new(), shares: AHashMap::new() }
    }

    fn place(&self, mask: &[u64]) -> Option<usize> {
        self.tuples.iter().position(|tuple| *tuple.mask == *mask)
    }

    fn insert(&mut self, words: usize, key: &EntryKey, candidate: Candidate) {
        let at = match self.place(&key.mask) {
            Some(at) => at,
            None => {
                let tuple = Tuple::new(words, key.mask.clone());
                match self.tuples.iter().position(|tuple| tuple.map.is_empty()) {
                    Some(unused) => {
                        if let Some(place) = self.tuples.get_mut(unused) {
                            *place = tuple;
                        }
                        unused
                    }
                    None => {
                        self.tuples.push(tuple);
                        self.tuples.len() - 1
                    }
                }
            }
        };
        self.best = self.best.max(candidate.priority);
        if let Some(tuple) = self.tuples.get_mut(at) {
            tuple.insert(&key.value, candidate);
        }
        let shares = self.shares.entry(first(&key.value)).or_default();
        match shares.iter_mut().find(|(tuple, _)| *tuple as usize == at) {
            Some((_, count)) => *count += 1,
            None => shares.push((at as u32, 1)),
        }
    }

    fn remove(&mut self, key: &EntryKey, priority: i32) {
        let Some(at) = self.place(&key.mask) else { return };
        if !self.tuples.get_mut(at).is_some_and(|tuple| tuple.remove(key, priority)) {
            return;
        }
        self.best = self.tuples.iter().map(|tuple| tuple.best).max().unwrap_or(i32::MIN);
        if let Some(shares) = self.shares.get_mut(&first(&key.value)) {
            shares.iter_mut().filter(|(tuple, _)| *tuple as usize == at).for_each(|(_, count)| *count -= 1);
            shares.retain(|(_, count)| *count > 0);
            if shares.is_empty() {
                self.shares.remove(&first(&key.value));
            }
        }
    }
}

#[inline]
fn first(words: &[u64]) -> u64 {
    words.first().copied().unwrap_or(0)
}

#[derive(Debug)]
pub(crate) struct Ternary {
    words: usize,
    /// Best priority first.
    stages: Vec<Stage>,
    next_age: u64,
    masked: Box<[u64]>,
    /// In all stages.
    tuples: usize,
}

impl Ternary {
    pub(crate) fn new(words: usize) -> Self {
        Self { words, stages: Vec::new(), next_age: 0, masked: vec![0; words].into(), tuples: 0 }
    }

    /// How many tuples there are to be searched.
    #[inline]
    pub(crate) fn tuples(&self) -> usize {
        self.tuples
    }

    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<u32> {
        let mut best: Option<&Candidate> = None;
        for stage in &self.stages {
            if best.is_some_and(|found| found.priority > stage.best) {
                break;
            }
            let Some(shares) = stage.shares.get(&(first(key) & stage.mask)) else { continue };
            for (tuple, _) in shares {
                let Some(tuple) = stage.tuples.get(*tuple as usize) else { continue };
                if best.is_some_and(|found| found.priority > tuple.best) {
                    continue;
                }
                for ((masked, &word), &mask) in self.masked.iter_mut().zip(key).zip(&tuple.mask) {
                    *masked = word & mask;
                }
                let Some(bucket) = tuple.bucket(&self.masked) else { continue };
                let found = bucket.iter().find(|c| c.ranges.iter().all(|range| range.contains(key)));
                let wins = |c: &&Candidate| best.is_none_or(|b| (c.priority, b.age) > (b.priority, c.age));
                best = found.filter(wins).or(best);
            }
        }
        best.map(|candidate| candidate.entry)
    }

    fn stage_of(&self, mask: &[u64]) -> Option<usize> {
        self.stages.iter().position(|stage| stage.mask == first(mask))
    }

    pub(crate) fn find(&self, key: &EntryKey, priority: i32) -> Option<u32> {
        let stage = self.stages.get(self.stage_of(&key.mask)?)?;
        let bucket = stage.tuples.get(stage.place(&key.mask)?)?.bucket(&key.value)?;
        bucket.iter().find(|c| c.priority == priority && c.ranges == key.ranges).map(|c| c.entry)
    }

    pub(crate) fn insert(&mut self, key: EntryKey, priority: i32, entry: u32) {
        let at = self.stage_of(&key.mask).unwrap_or_else(|| {
            self.stages.push(Stage::new(first(&key.mask)));
            self.stages.len() - 1
        });
        let candidate = Candidate { priority, age: self.next_age, entry, ranges: key.ranges.clone() };
        self.next_age += 1;
        if let Some(stage) = self.stages.get_mut(at) {
            stage.insert(self.words, &key, candidate);
        }
        self.changed();
    }

    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i32) {
        let Some(at) = self.stage_of(&key.mask) else { return };
        if let Some(stage) = self.stages.get_mut(at) {
            stage.remove(key, priority);
        }
        self.stages.retain(|stage| !stage.shares.is_empty());
        self.changed();
    }

    /// After a change.
    fn changed(&mut self) {
        self.stages.sort_by_key(|stage| std::cmp::Reverse(stage.best));
        self.tuples = self.stages.iter().map(|stage| stage.tuples.len()).sum();
    }
}
