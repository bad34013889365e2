//! What a receiver holds: everything below `next`, and islands above it, the newest first as SACK reports them.

/// Octets received, as 64-bit sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u64,
    /// Disjoint and non-adjacent half-open ranges above `next`, the most recently changed first (RFC 2018, section 4).
    islands: Vec<(u64, u64)>,
}

impl Reassembly {
    pub fn new(next: u64) -> Self {
        Self { next, islands: Vec::new() }
    }

    /// The first octet not received yet.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn islands(&self) -> &[(u64, u64)] {
        &self.islands
    }

    /// Adds the octets from `start` up to `end`; false when all of them were there already.
    pub fn insert(&mut self, start: u64, end: u64) -> bool {
        let start = start.max(self.next);
        if start >= end || self.islands.iter().any(|&(s, e)| s <= start && end <= e) {
            return false;
        }
        let (mut low, mut high) = (start, end);
        self.islands.retain(|&(s, e)| {
            let touches = s <= high && low <= e;
            if touches {
                low = low.min(s);
                high = high.max(e);
            }
            !touches
        });
        if low == self.next {
            self.next = high;
        } else {
            self.islands.insert(0, (low, high));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn islands_are_reported_newest_first_and_merge() {
        let mut held = Reassembly::new(0);
        assert!(held.insert(10, 20));
        assert!(held.insert(30, 40));
        assert!(held.insert(50, 60));
        assert_eq!(held.islands(), [(50, 60), (30, 40), (10, 20)]);
        assert!(held.insert(20, 30));
        assert_eq!(held.islands(), [(10, 40), (50, 60)]);
        assert!(!held.insert(15, 35));
        assert!(held.insert(0, 10));
        assert_eq!((held.next(), held.islands()), (40, &[(50, 60)][..]));
        assert!(!held.insert(0, 40));
        assert!(held.insert(35, 55));
        assert_eq!((held.next(), held.islands()), (60, &[][..]));
    }

    #[test]
    fn any_order_gives_the_same_end() {
        // A fixed permutation of 0..97: multiplication by a unit modulo a prime.
        let mut held = Reassembly::new(0);
        for i in 0..97u64 {
            let k = i * 35 % 97;
            assert!(held.insert(k * 10, k * 10 + 10));
        }
        assert_eq!((held.next(), held.islands().len()), (970, 0));
    }
}
