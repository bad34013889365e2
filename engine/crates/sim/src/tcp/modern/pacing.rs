//! Pacing: packets leave in small bursts at a rate, not as acknowledgments come (Linux's sk_pacing_rate).

use crate::time::{from_seconds, to_seconds, Nanos, MICROSECOND, MILLISECOND};

/// Of the window over the round trip time, in slow start and after (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio).
pub const SLOW_START_RATIO: f64 = 2.0;
const AVOIDANCE_RATIO: f64 = 1.2;
/// 64 KiB.
const MOST_BURST: f64 = 44.0;

/// What leaves together: so long at the rate, but so many packets at least.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    length: Nanos,
    least: f64,
}

impl Burst {
    /// sk_pacing_shift of 10, and tcp_min_tso_segs.
    pub const LINUX: Self = Self { length: MILLISECOND, least: 2.0 };
    /// 250 us, and no pairs (draft-briscoe-iccrg-prague-congestion-control; prague_burst_shift of 12).
    pub const PRAGUE: Self = Self { length: 250 * MICROSECOND, least: 1.0 };

    /// Packets that leave together at a rate.
    pub fn packets(self, rate: f64) -> f64 {
        (rate * to_seconds(self.length)).floor().clamp(self.least, MOST_BURST)
    }
}

#[derive(Debug)]
pub struct Pacer {
    burst: Burst,
    /// Packets a second; infinite: not paced.
    rate: f64,
    next_at: Nanos,
}

/// Packets a second of a window over a round trip time, as Linux paces congestion controls that have no rate.
pub fn window_rate(cwnd: f64, ssthresh: f64, srtt: Nanos) -> f64 {
    let ratio = if cwnd < ssthresh / 2.0 { SLOW_START_RATIO } else { AVOIDANCE_RATIO };
    ratio * cwnd / to_seconds(srtt.max(1))
}

impl Pacer {
    pub fn new(burst: Burst) -> Self {
        Self { burst, rate: f64::INFINITY, next_at: 0 }
    }

    /// `rate` in packets a second, above 0.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Packets a second; infinite when they are not paced.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Packets that may leave together now.
    pub fn allowance(&self, now: Nanos) -> u64 {
        match self.rate.is_infinite() {
            true => u64::MAX,
            false if now < self.next_at => 0,
            false => self.burst.packets(self.rate) as u64,
        }
    }

    /// When packets may leave again.
    pub fn next_at(&self) -> Nanos {
        self.next_at
    }

    /// `count` packets have left together; the next may when the rate has caught up with them.
    pub fn send(&mut self, now: Nanos, count: u64) {
        if self.rate.is_finite() {
            self.next_at = self.next_at.max(now) + from_seconds(count as f64 / self.rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    #[test]
    fn bursts_keep_the_rate() {
        for (rate, burst, least) in
            [100.0, 5_000.0, 80_000.0].into_iter().flat_map(|rate| [(rate, Burst::LINUX, 2), (rate, Burst::PRAGUE, 1)])
        {
            let mut pacer = Pacer::new(burst);
            pacer.set_rate(rate);
            let (mut now, mut sent) = (0, 0);
            while now < SECOND {
                let count = pacer.allowance(now);
                assert!((least..=44).contains(&count), "{count}");
                pacer.send(now, count);
                assert_eq!(pacer.allowance(pacer.next_at() - 1), 0);
                sent += count;
                now = pacer.next_at();
            }
            assert!((sent as f64 - rate).abs() <= 44.0, "{rate}: {sent}");
        }
    }

    #[test]
    fn linux_paces_twice_the_window_in_slow_start() {
        assert!((window_rate(10.0, f64::INFINITY, SECOND / 10) - 200.0).abs() < 1e-9);
        assert!((window_rate(10.0, 10.0, SECOND / 10) - 120.0).abs() < 1e-9);
    }
}
