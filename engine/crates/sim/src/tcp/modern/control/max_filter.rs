//! The greatest of what was seen in the last rounds.

use std::collections::VecDeque;

/// A maximum over a window of rounds; it holds no more entries than the window has rounds.
#[derive(Debug)]
pub struct MaxFilter {
    rounds: u64,
    /// (Round, value), values falling.
    kept: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    pub fn new(rounds: u64) -> Self {
        Self { rounds, kept: VecDeque::new() }
    }

    /// A value of this round; rounds never decrease.
    pub fn update(&mut self, round: u64, value: f64) {
        while self.kept.back().is_some_and(|&(_, kept)| kept <= value) {
            self.kept.pop_back();
        }
        if self.kept.back().is_none_or(|&(last, _)| last != round) {
            self.kept.push_back((round, value));
        }
        self.expire(round);
    }

    /// Forgets what is older than the window, but keeps the last value there is.
    pub fn expire(&mut self, round: u64) {
        while self.kept.len() > 1 && self.kept.front().is_some_and(|&(first, _)| first + self.rounds <= round) {
            self.kept.pop_front();
        }
    }

    /// 0 before the first value.
    pub fn max(&self) -> f64 {
        self.kept.front().map_or(0.0, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::random::Stream;

    #[test]
    fn it_agrees_with_a_search_of_all() {
        let (mut stream, mut filter) = (Stream::new(1, "filter"), MaxFilter::new(10));
        let mut all: Vec<(u64, f64)> = Vec::new();
        let mut round = 0;
        for _ in 0..3_000 {
            round += u64::from(stream.chance(0.3));
            let value = stream.uniform();
            all.push((round, value));
            filter.update(round, value);
            let expected = all.iter().filter(|(r, _)| r + 10 > round).map(|&(_, v)| v).fold(0.0, f64::max);
            assert_eq!(filter.max(), expected);
            assert!(filter.kept.len() <= 10);
        }
    }
}
