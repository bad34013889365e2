//! How often something may happen: so often in a second, with a burst (a token bucket).

/// A rate and what may come at once. The default is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// 0: no limit.
    pub per_second: u32,
    pub burst: u32,
}

/// What is left of a rate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bucket {
    /// Of 2^-32 of an event, spent so far.
    spent: u64,
    last_ns: u64,
}

/// One event in units of a bucket.
const EVENT: u64 = 1 << 32;

impl Bucket {
    /// Whether one more may happen now; it counts then.
    pub fn take(&mut self, rate: Rate, now_ns: u64) -> bool {
        if rate.per_second == 0 {
            return true;
        }
        let since = now_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(now_ns);
        // 2^32 / 10^9 units a nanosecond and event a second; half a minute fills any bucket.
        let back = u128::from(since) * u128::from(rate.per_second) * u128::from(EVENT) / 1_000_000_000;
        self.spent = self.spent.saturating_sub(u64::try_from(back).unwrap_or(u64::MAX));
        let room = self.spent <= u64::from(rate.burst.max(1) - 1) * EVENT;
        if room {
            self.spent += EVENT;
        }
        room
    }
}

/// Buckets by key, in a table that does not grow: of two keys in one place the later one begins afresh.
#[derive(Debug)]
pub(crate) struct KeyBuckets {
    places: Box<[(u64, Bucket)]>,
}

impl KeyBuckets {
    pub(crate) fn new(places: usize) -> Self {
        Self { places: vec![(0, Bucket::default()); places].into() }
    }

    pub(crate) fn take(&mut self, key: u64, rate: Rate, now_ns: u64) -> bool {
        let at = key as usize % self.places.len().max(1);
        let Some((held, bucket)) = self.places.get_mut(at) else { return true };
        if *held != key {
            (*held, *bucket) = (key, Bucket::default());
        }
        bucket.take(rate, now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn count(bucket: &mut Bucket, rate: Rate, times: impl Iterator<Item = u64>) -> usize {
        times.filter(|&now| bucket.take(rate, now)).count()
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let rate = Rate { per_second: 100, burst: 20 };
        let mut bucket = Bucket::default();
        assert_eq!(count(&mut bucket, rate, (0..1000).map(|_| SECOND)), 20);
        // A thousand tries in each of ten seconds.
        let tries = (0..10_000).map(|try_| SECOND + try_ * SECOND / 1000);
        let taken = count(&mut bucket, rate, tries);
        assert!((995..=1000).contains(&taken), "{taken}");
        // After a silence no more than the burst again.
        assert_eq!(count(&mut bucket, rate, (0..1000).map(|_| 1000 * SECOND)), 20);
    }

    #[test]
    fn no_rate_is_no_limit_and_time_that_goes_back_gives_nothing() {
        let mut bucket = Bucket::default();
        assert_eq!(count(&mut bucket, Rate::default(), 0..1000), 1000);
        let rate = Rate { per_second: 1, burst: 1 };
        assert!(bucket.take(rate, u64::MAX));
        assert!(!bucket.take(rate, 0));
        assert!(!bucket.take(rate, u64::MAX));
    }

    #[test]
    fn keys_do_not_share() {
        let rate = Rate { per_second: 1, burst: 2 };
        let mut buckets = KeyBuckets::new(8);
        for key in 0..8 {
            assert_eq!((0..5).filter(|_| buckets.take(key, rate, 0)).count(), 2);
        }
        // Its place is taken by another, which then begins afresh too.
        assert!(buckets.take(8, rate, 0));
        assert!(buckets.take(0, rate, 0));
    }
}
