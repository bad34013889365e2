//! Random early detection (Floyd and Jacobson 1993) with ns-2's rules (queue/red.cc): gentle, wait and byte mode, and an
//! average that decays over idle time as if small packets had come. As in the paper, but not in ns-2, the count of packets
//! since the last drop starts over with every drop, those that no probability decides among them.

use crate::config::{Limit, RedConfig};
use crate::discipline::{Offer, Refusal};
use crate::fifo::{has_room, Fifo, Waiting};
use crate::random::Stream;
use crate::stats::{Reason, Stats};

/// A FIFO that RED guards.
#[derive(Clone, Debug)]
pub(crate) struct RedQueue<T> {
    pub fifo: Fifo<T>,
    pub red: Red,
}

impl<T> RedQueue<T> {
    pub fn new(config: RedConfig, seed: u64) -> Self {
        Self { fifo: Fifo::default(), red: Red::new(config, seed) }
    }

    pub fn offer(&mut self, mut packet: Waiting<T>, offer: &Offer, stats: &mut Stats) -> Result<(), Refusal<T>> {
        let packets = self.fifo.packets().saturating_sub(offer.due_packets);
        let bytes = self.fifo.bytes().saturating_sub(offer.due_bytes);
        let limit = self.red.config.limit;
        let queued = match limit {
            Limit::Packets(_) => packets,
            Limit::Bytes(_) => bytes,
        };
        let verdict = self.red.arrive(packet.len, queued, offer.idle_ns, offer.rate_bps, packet.ecn.is_capable());
        let refused = match verdict {
            Verdict::Forced => Reason::RedForced,
            Verdict::Early => Reason::RedEarly,
            _ if !has_room(limit, packets, bytes, packet.len) => {
                self.red.restart_count();
                Reason::QueueFull
            }
            verdict => {
                packet.marked = verdict == Verdict::Mark;
                stats.marked_packets += u64::from(packet.marked);
                self.fifo.push(packet);
                return Ok(());
            }
        };
        Err((packet.item, refused))
    }
}

/// What RED says of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Accept,
    Mark,
    /// Chosen at random.
    Early,
    /// The average is too high for any packet.
    Forced,
}

#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    average: f64,
    /// Packets and bytes since the last drop or mark.
    count: u64,
    count_bytes: u64,
    /// Whether the average was above the minimum at the last arrival.
    above_min: bool,
    draw: Stream,
}

impl Red {
    pub fn new(config: RedConfig, seed: u64) -> Self {
        Self { config, average: 0.0, count: 0, count_bytes: 0, above_min: false, draw: Stream::new(seed, "red") }
    }

    pub fn average(&self) -> f64 {
        self.average
    }

    /// Changes the parameters; average and stream go on.
    pub fn set_config(&mut self, config: RedConfig) {
        self.config = config;
    }

    /// Decides about a packet of `len` bytes that finds `queued` (packets or bytes) waiting after an idle period of
    /// `idle_ns` on a link of `rate_bps`.
    pub fn arrive(&mut self, len: u32, queued: u64, idle_ns: u64, rate_bps: Option<u64>, ecn_capable: bool) -> Verdict {
        self.update_average(queued, self.idle_packets(idle_ns, rate_bps));
        self.count += 1;
        self.count_bytes += u64::from(len);
        if self.average < self.config.min_threshold || queued <= 1 {
            self.above_min = false;
            return Verdict::Accept;
        }
        let ceiling = if self.config.gentle { 2.0 * self.config.max_threshold } else { self.config.max_threshold };
        if self.average >= ceiling {
            self.restart_count();
            return Verdict::Forced;
        }
        if !self.above_min {
            self.above_min = true;
            self.count = 1;
            self.count_bytes = u64::from(len);
            return Verdict::Accept;
        }
        let probability = self.spread(self.base_probability(), len);
        if !self.draw.chance(probability) {
            return Verdict::Accept;
        }
        self.restart_count();
        if self.config.ecn && ecn_capable && self.average < self.config.max_threshold {
            Verdict::Mark
        } else {
            Verdict::Early
        }
    }

    /// A packet is dropped or marked: the next is so much the farther away.
    fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    /// Packets of the mean size that an idle period had room for.
    fn idle_packets(&self, idle_ns: u64, rate_bps: Option<u64>) -> u64 {
        let Some(rate) = rate_bps else { return if idle_ns > 0 { u64::MAX } else { 0 } };
        let ns_bits = u128::from(idle_ns) * u128::from(rate);
        let packets = ns_bits / (u128::from(self.config.mean_packet_bytes) * 8 * 1_000_000_000);
        u64::try_from(packets).unwrap_or(u64::MAX)
    }

    fn update_average(&mut self, queued: u64, idle_packets: u64) {
        let keep = 1.0 - self.config.weight;
        self.average *= power(keep, idle_packets);
        self.average = self.average * keep + self.config.weight * queued as f64;
    }

    fn base_probability(&self) -> f64 {
        let RedConfig { min_threshold: min, max_threshold: max, max_p, .. } = self.config;
        if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else {
            // Only gentle mode gets here: from max_p at max to 1 at twice max.
            (max_p + (1.0 - max_p) * (self.average - max) / max).min(1.0)
        }
    }

    /// Makes the distance between drops uniform instead of geometric (section 7 of the paper).
    fn spread(&self, base: f64, len: u32) -> f64 {
        let bytes = matches!(self.config.limit, Limit::Bytes(_));
        let mean = f64::from(self.config.mean_packet_bytes);
        let count = if bytes { self.count_bytes as f64 / mean } else { self.count as f64 };
        let expected = count * base;
        let mut probability = if self.config.wait {
            match expected {
                e if e < 1.0 => 0.0,
                e if e < 2.0 => base / (2.0 - e),
                _ => 1.0,
            }
        } else if expected < 1.0 {
            base / (1.0 - expected)
        } else {
            1.0
        };
        if bytes && probability < 1.0 {
            probability *= f64::from(len) / mean;
        }
        probability.min(1.0)
    }
}

/// `base` to the `exponent` by squaring: std's powi may differ between machines.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(change: impl FnOnce(&mut RedConfig)) -> Red {
        let mut config = RedConfig::new(Limit::Packets(100), 5.0, 15.0);
        change(&mut config);
        Red::new(config, 1)
    }

    #[test]
    fn probability_follows_the_paper_and_gentle() {
        let mut red = red(|_| ());
        for (average, expected) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)] {
            red.average = average;
            assert!((red.base_probability() - expected).abs() < 1e-12, "{average}");
        }
    }

    #[test]
    fn drops_are_uniform_between_one_and_two_intervals_with_wait() {
        // p = 0.05, and ns-2 counts the arriving packet: uniform on 20..=39 with wait and on 1..=19 without.
        for (wait, low, high, mean) in [(true, 20, 39, 29.5), (false, 1, 19, 10.0)] {
            let mut red = red(|c| {
                c.wait = wait;
                c.weight = 1.0;
            });
            let (mut gap, mut gaps) = (0, Vec::new());
            for _ in 0..200_000 {
                gap += 1;
                if red.arrive(1000, 10, 0, Some(1_000_000), false) == Verdict::Early {
                    gaps.push(gap);
                    gap = 0;
                }
            }
            gaps.remove(0); // the first arrival above the minimum is never dropped
            assert!(gaps.iter().all(|g| (low..=high).contains(g)));
            let observed = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
            assert!((observed / mean - 1.0).abs() < 0.02, "{observed} for {mean}");
        }
    }

    #[test]
    fn idle_time_decays_the_average_by_packets_of_the_mean_size() {
        let mut red = red(|c| c.weight = 0.01);
        red.average = 10.0;
        red.arrive(1000, 0, 4_000_000, Some(10_000_000), false); // 4 ms at 10 Mbit/s: 10 packets of 500 bytes
        let expected = (0..11).fold(10.0, |average: f64, _| average * 0.99);
        assert!((red.average - expected).abs() < 1e-12);
    }

    #[test]
    fn above_the_ceiling_every_packet_goes() {
        for (gentle, average, verdict) in
            [(false, 15.0, Verdict::Forced), (true, 31.0, Verdict::Forced), (true, 15.0, Verdict::Accept)]
        {
            let mut red = red(|c| {
                c.gentle = gentle;
                c.weight = 1e-9;
            });
            red.average = average;
            assert_eq!(red.arrive(1000, 20, 0, Some(1_000_000), false), verdict);
        }
    }

    #[test]
    fn the_count_starts_over_with_every_drop() {
        // p = 0.05 with wait: no drop can come within 20 packets of the last one, whatever dropped that.
        for forced in [true, false] {
            for seed in 0..50 {
                let config = RedConfig { weight: 1.0, ..RedConfig::new(Limit::Packets(40), 5.0, 15.0) };
                let mut red = Red::new(config, seed);
                let arrive = |red: &mut Red, queued| red.arrive(1000, queued, 0, Some(1_000_000), false);
                (0..19).for_each(|_| assert_eq!(arrive(&mut red, 10), Verdict::Accept));
                match forced {
                    true => assert_eq!(arrive(&mut red, 31), Verdict::Forced),
                    false => red.restart_count(), // what the queue does when it is full
                }
                (0..19).for_each(|_| assert_eq!(arrive(&mut red, 10), Verdict::Accept));
            }
        }
    }

    #[test]
    fn ecn_marks_what_it_would_drop_early() {
        let mut red = red(|c| {
            c.ecn = true;
            c.weight = 1.0;
        });
        let seen: Vec<Verdict> = (0..100)
            .map(|n| red.arrive(1000, 10, 0, Some(1_000_000), n < 50))
            .filter(|v| *v != Verdict::Accept)
            .collect();
        assert_eq!(seen.first(), Some(&Verdict::Mark));
        assert_eq!(seen.last(), Some(&Verdict::Early));
    }

    #[test]
    fn power_is_repeated_multiplication() {
        assert_eq!(power(0.5, 0), 1.0);
        assert_eq!(power(0.5, 5), 0.03125);
        assert_eq!(power(0.998, u64::MAX), 0.0);
    }
}
