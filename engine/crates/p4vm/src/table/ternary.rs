//! Ternary and range match with priorities, by tuple-space search (Srinivasan, Suri, Varghese, SIGCOMM 1999).
//!
//! Entries with one mask share a hash map; maps are tried by their best priority, and the search ends when no other can
//! win. Ranges do not hash: they are checked on the candidates of a bucket.

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

#[derive(Debug)]
struct Tuple {
    mask: Box<[u64]>,
    best: i32,
    map: Map,
    buckets: Vec<Vec<Candidate>>,
    free: Vec<u32>,
}

impl Tuple {
    fn bucket(&self, key: &[u64]) -> Option<&Vec<Candidate>> {
        self.buckets.get(self.map.get(key)? as usize)
    }

    fn update_best(&mut self) {
        let firsts = self.buckets.iter().filter_map(|bucket| bucket.first());
        self.best = firsts.map(|candidate| candidate.priority).max().unwrap_or(i32::MIN);
    }
}

#[derive(Debug)]
pub(crate) struct Ternary {
    words: usize,
    /// Best priority first.
    tuples: Vec<Tuple>,
    next_age: u64,
    masked: Box<[u64]>,
}

impl Ternary {
    pub(crate) fn new(words: usize) -> Self {
        Self { words, tuples: Vec::new(), next_age: 0, masked: vec![0; words].into() }
    }

    pub(crate) fn lookup(&mut self, key: &[u64]) -> Option<u32> {
        let mut best: Option<&Candidate> = None;
        for tuple in &self.tuples {
            if best.is_some_and(|found| found.priority > tuple.best) {
                break;
            }
            for ((masked, &word), &mask) in self.masked.iter_mut().zip(key).zip(&tuple.mask) {
                *masked = word & mask;
            }
            let Some(bucket) = tuple.bucket(&self.masked) else { continue };
            let Some(found) = bucket.iter().find(|c| c.ranges.iter().all(|range| range.contains(key))) else {
                continue;
            };
            let wins = best.is_none_or(|b| (found.priority, b.age) > (b.priority, found.age));
            if wins {
                best = Some(found);
            }
        }
        best.map(|candidate| candidate.entry)
    }

    pub(crate) fn find(&self, key: &EntryKey, priority: i32) -> Option<u32> {
        let tuple = self.tuples.iter().find(|tuple| tuple.mask == key.mask)?;
        let bucket = tuple.bucket(&key.value)?;
        bucket.iter().find(|c| c.priority == priority && c.ranges == key.ranges).map(|c| c.entry)
    }

    pub(crate) fn insert(&mut self, key: EntryKey, priority: i32, entry: u32) {
        let at = match self.tuples.iter().position(|tuple| tuple.mask == key.mask) {
            Some(at) => at,
            None => {
                let map = Map::new(self.words);
                self.tuples.push(Tuple { mask: key.mask, best: i32::MIN, map, buckets: Vec::new(), free: Vec::new() });
                self.tuples.len() - 1
            }
        };
        let Some(tuple) = self.tuples.get_mut(at) else { return };
        let bucket = match tuple.map.get(&key.value) {
            Some(bucket) => bucket,
            None => {
                let bucket = tuple.free.pop().unwrap_or_else(|| {
                    tuple.buckets.push(Vec::new());
                    tuple.buckets.len() as u32 - 1
                });
                tuple.map.insert(&key.value, bucket);
                bucket
            }
        };
        if let Some(bucket) = tuple.buckets.get_mut(bucket as usize) {
            let at = bucket.partition_point(|c| c.priority >= priority);
            bucket.insert(at, Candidate { priority, age: self.next_age, entry, ranges: key.ranges });
            self.next_age += 1;
        }
        tuple.best = tuple.best.max(priority);
        self.sort();
    }

    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i32) {
        let Some(tuple) = self.tuples.iter_mut().find(|tuple| tuple.mask == key.mask) else { return };
        let Some(at) = tuple.map.get(&key.value) else { return };
        let Some(bucket) = tuple.buckets.get_mut(at as usize) else { return };
        bucket.retain(|c| c.priority != priority || c.ranges != key.ranges);
        if bucket.is_empty() {
            tuple.map.remove(&key.value);
            tuple.free.push(at);
        }
        if priority == tuple.best {
            tuple.update_best();
        }
        self.tuples.retain(|tuple| !tuple.map.is_empty());
        self.sort();
    }

    fn sort(&mut self) {
        self.tuples.sort_by_key(|tuple| std::cmp::Reverse(tuple.best));
    }
}
