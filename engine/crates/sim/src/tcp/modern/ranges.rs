//! Disjoint half-open ranges of numbers: what lies above a hole, at either end of a connection.

use std::collections::BTreeMap;

/// Ranges that neither overlap nor touch, by their starts. An insertion costs a logarithm, and what it merges.
#[derive(Clone, Debug, Default)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `start..end`, and tells `gap` of each part of it that was not there, in ascending order.
    pub fn insert(&mut self, start: u64, end: u64, mut gap: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let (mut low, mut high, mut covered) = (start, end, start);
        if let Some((&s, &e)) = self.0.range(..=start).next_back().filter(|(_, &e)| e >= start) {
            (low, high, covered) = (s, high.max(e), e);
        }
        // `low < end`, so the bounds are in order.
        while let Some((&s, &e)) = self.0.range(low + 1..=end).next() {
            if covered < s {
                gap(covered, s);
            }
            self.0.remove(&s);
            (high, covered) = (high.max(e), covered.max(e));
        }
        if covered < end {
            gap(covered, end);
        }
        self.0.insert(low, high);
    }

    /// Forgets all below `end`.
    pub fn remove_below(&mut self, end: u64) {
        while let Some(entry) = self.0.first_entry().filter(|entry| *entry.key() < end) {
            let rest = entry.remove();
            if rest > end {
                self.0.insert(end, rest);
            }
        }
    }

    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.0.first_key_value().map(|(&start, &end)| (start, end))
    }

    /// The range that has this number.
    pub fn around(&self, number: u64) -> Option<(u64, u64)> {
        self.0.range(..=number).next_back().map(|(&start, &end)| (start, end)).filter(|&(_, end)| number < end)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::random::Stream;

    fn gaps(ranges: &mut Ranges, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        ranges.insert(start, end, |s, e| found.push((s, e)));
        found
    }

    #[test]
    fn insertions_merge_and_report_what_is_new() {
        let mut ranges = Ranges::default();
        assert_eq!(gaps(&mut ranges, 10, 20), [(10, 20)]);
        assert_eq!(gaps(&mut ranges, 30, 40), [(30, 40)]);
        assert_eq!(gaps(&mut ranges, 12, 18), []);
        assert_eq!(gaps(&mut ranges, 5, 35), [(5, 10), (20, 30)]);
        assert_eq!(ranges.first(), Some((5, 40)));
        assert_eq!(gaps(&mut ranges, 40, 41), [(40, 41)]);
        assert_eq!(ranges.first(), Some((5, 41)));
        assert_eq!((ranges.around(4), ranges.around(5), ranges.around(41)), (None, Some((5, 41)), None));
        ranges.remove_below(7);
        assert_eq!(ranges.first(), Some((7, 41)));
        ranges.remove_below(41);
        assert!(ranges.is_empty());
    }

    #[test]
    fn random_insertions_agree_with_a_plain_set() {
        let mut stream = Stream::new(1, "ranges");
        for _ in 0..50 {
            let (mut ranges, mut plain) = (Ranges::default(), [false; 64]);
            for _ in 0..40 {
                let start = stream.next_u64() % 64;
                let end = (start + 1 + stream.next_u64() % 9).min(64);
                let mut new = Vec::new();
                ranges.insert(start, end, |s, e| new.extend(s..e));
                let expected: Vec<u64> = (start..end).filter(|&at| !plain[at as usize]).collect();
                assert_eq!(new, expected);
                (start..end).for_each(|at| plain[at as usize] = true);
                for at in 0..64 {
                    assert_eq!(ranges.around(at).is_some(), plain[at as usize]);
                }
            }
        }
    }
}
