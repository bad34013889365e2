//! PIE (RFC 8033): packets are dropped, or marked, at random when they arrive, with a probability that a PI controller
//! sets from the queue's delay. The delay is what the head has waited (timestamps: section 4.2's alternative to the
//! estimate of the departure rate).

use crate::config::PieConfig;
use crate::discipline::{Offer, Refusal};
use crate::fifo::{has_room, Fifo, Waiting};
use crate::pi::{Pi, Update};
use crate::random::Stream;
use crate::stats::{Reason, Stats};

/// MEAN_PKTSIZE: with no more than two such packets waiting, nothing is dropped (section 4.1).
const MEAN_PACKET_BYTES: u64 = 1024;
/// Below it, a queue of less than half the target loses nothing (section 4.1).
const SAFE_PROBABILITY: f64 = 0.2;
/// MARK_ECNTH: above it, what could be marked is dropped (section 5.1).
const MARK_LIMIT: f64 = 0.1;
/// What is left of the probability at each update of an idle queue (section 4.2).
const DECAY: f64 = 0.98;
/// From this probability on, an update adds no more than `MOST_CHANGE` (section 5.5).
const CAP_FROM: f64 = 0.1;
const MOST_CHANGE: f64 = 0.02;
/// The controller's gain by the probability (section 4.2): (below it, divided by).
const GAIN: [(f64, f64); 6] =
    [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)];

#[derive(Clone, Debug)]
pub(crate) struct PieQueue<T> {
    pub fifo: Fifo<T>,
    config: PieConfig,
    pi: Pi,
    probability: f64,
    burst_allowance_ns: u64,
    draw: Stream,
}

impl<T> PieQueue<T> {
    pub fn new(config: PieConfig, seed: u64) -> Self {
        Self {
            fifo: Fifo::default(),
            pi: Pi::new(config.pi),
            probability: 0.0,
            burst_allowance_ns: config.max_burst_ns,
            draw: Stream::new(seed, "pie"),
            config,
        }
    }

    /// Other parameters; probability and stream go on.
    pub fn set_config(&mut self, config: PieConfig) {
        self.pi.set_config(config.pi);
        self.burst_allowance_ns = self.burst_allowance_ns.min(config.max_burst_ns);
        self.config = config;
    }

    pub fn probability(&self) -> f64 {
        self.probability
    }

    pub fn offer(&mut self, mut packet: Waiting<T>, offer: &Offer, stats: &mut Stats) -> Result<(), Refusal<T>> {
        self.update(offer.now_ns);
        let packets = self.fifo.packets().saturating_sub(offer.due_packets);
        let bytes = self.fifo.bytes().saturating_sub(offer.due_bytes);
        if !has_room(self.config.limit, packets, bytes, packet.len) {
            return Err((packet.item, Reason::QueueFull));
        }
        if self.burst_allowance_ns == 0 && self.chooses(bytes) {
            if !(self.config.ecn && packet.ecn.is_capable() && self.probability <= MARK_LIMIT) {
                return Err((packet.item, Reason::Aqm));
            }
            packet.marked = true;
            stats.marked_packets += 1;
        }
        self.fifo.push(packet);
        Ok(())
    }

    pub fn pop(&mut self, now_ns: u64) -> Option<Waiting<T>> {
        self.update(now_ns);
        self.fifo.pop()
    }

    /// Whether a packet is to be dropped that finds so many bytes.
    fn chooses(&mut self, bytes: u64) -> bool {
        let is_short = self.pi.old_delay_s() < self.pi.target_s() / 2.0;
        if (is_short && self.probability < SAFE_PROBABILITY) || bytes <= 2 * MEAN_PACKET_BYTES {
            return false;
        }
        self.draw.chance(self.probability)
    }

    fn update(&mut self, now_ns: u64) {
        let Self { fifo, config, pi, probability, burst_allowance_ns, .. } = self;
        let half_target_s = pi.target_s() / 2.0;
        pi.catch_up(now_ns, fifo.head().map(|head| head.enq_time_ns), |update| {
            let before = (*probability, *burst_allowance_ns);
            *probability = next_probability(*probability, update);
            *burst_allowance_ns = burst_allowance_ns.saturating_sub(config.pi.update_ns);
            if *probability == 0.0 && update.delay_s < half_target_s && update.old_delay_s < half_target_s {
                *burst_allowance_ns = config.max_burst_ns;
            }
            // An idle queue, or one that cannot send for long: only time changes.
            let is_steady = update.delay_s == update.old_delay_s || *probability == 1.0;
            is_steady && before == (*probability, *burst_allowance_ns)
        });
    }
}

fn next_probability(probability: f64, update: Update) -> f64 {
    let divisor = GAIN.into_iter().find(|&(below, _)| probability < below).map_or(1.0, |(_, divisor)| divisor);
    let mut change = update.change / divisor;
    if probability >= CAP_FROM {
        change = change.min(MOST_CHANGE);
    }
    let mut next = probability + change;
    if update.delay_s == 0.0 && update.old_delay_s == 0.0 {
        next *= DECAY;
    }
    next.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limit;
    use crate::ecn::Ecn;

    const MS: u64 = 1_000_000;

    fn queue(change: impl FnOnce(&mut PieConfig)) -> PieQueue<()> {
        let mut config = PieConfig::new(Limit::Packets(1000));
        change(&mut config);
        PieQueue::new(config, 1)
    }

    fn push(queue: &mut PieQueue<()>, now_ns: u64, ecn: Ecn, stats: &mut Stats) -> Result<(), Reason> {
        let packet = Waiting { item: (), enq_time_ns: now_ns, len: 1000, enq_depth: 0, ecn, marked: false };
        let offer = Offer { now_ns, flow: 0, due_packets: 0, due_bytes: 0, idle_ns: 0, rate_bps: None };
        queue.offer(packet, &offer, stats).map_err(|(_, reason)| reason)
    }

    /// What of 100,000 packets a queue that stands at this probability and half its limit drops and marks.
    fn share(probability: f64, ecn: Ecn, change: impl FnOnce(&mut PieConfig)) -> (f64, f64) {
        let mut queue = queue(change);
        let mut stats = Stats::default();
        (0..10).for_each(|_| push(&mut queue, 0, ecn, &mut stats).expect("within the burst"));
        queue.burst_allowance_ns = 0;
        queue.probability = probability;
        queue.pi.catch_up(20 * MS, Some(0), |_| false); // the delay of half a target is behind it
        let mut dropped = 0;
        for _ in 0..100_000 {
            match push(&mut queue, 20 * MS, ecn, &mut stats) {
                Ok(()) => drop(queue.fifo.pop()),
                Err(reason) => {
                    assert_eq!(reason, Reason::Aqm);
                    dropped += 1;
                }
            }
        }
        (f64::from(dropped) / 1e5, stats.marked_packets as f64 / 1e5)
    }

    #[test]
    fn packets_are_dropped_with_the_probability_and_marked_while_it_is_small() {
        let near = |(dropped, marked): (f64, f64), expected: (f64, f64)| {
            assert!((dropped - expected.0).abs() < 0.005 && (marked - expected.1).abs() < 0.005, "{dropped} {marked}");
        };
        near(share(0.05, Ecn::NotEct, |_| ()), (0.05, 0.0));
        near(share(0.05, Ecn::Ect0, |_| ()), (0.0, 0.05));
        near(share(0.05, Ecn::Ect1, |_| ()), (0.0, 0.05));
        near(share(0.05, Ecn::Ect0, |config| config.ecn = false), (0.05, 0.0));
        near(share(0.3, Ecn::Ect0, |_| ()), (0.3, 0.0));
    }

    #[test]
    fn the_gain_follows_the_probability() {
        let update = Update { change: 0.01, delay_s: 0.02, old_delay_s: 0.02 };
        for (probability, divisor) in
            [(0.0, 2048.0), (5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.5, 1.0)]
        {
            let change = next_probability(probability, update) - probability;
            assert!((change - 0.01 / divisor).abs() < 1e-12, "{probability}");
        }
        let steep = Update { change: 0.5, ..update };
        assert_eq!(next_probability(0.1, steep), 0.1 + MOST_CHANGE);
        let idle = Update { change: -0.001, delay_s: 0.0, old_delay_s: 0.0 };
        assert!((next_probability(0.5, idle) - 0.499 * DECAY).abs() < 1e-12);
        assert_eq!(next_probability(0.0, idle), 0.0);
    }

    #[test]
    fn a_burst_passes_and_what_lasts_longer_does_not() {
        let mut queue = queue(|config| config.limit = Limit::Packets(100_000));
        let mut stats = Stats::default();
        let mut first = None;
        for ms in 0..1000u64 {
            for _ in 0..4 {
                if push(&mut queue, ms * MS, Ecn::NotEct, &mut stats).is_err() {
                    first.get_or_insert(ms);
                }
            }
            queue.pop(ms * MS);
        }
        let first = first.expect("a delay of seconds");
        assert!((150..250).contains(&first), "{first}");
        assert!(queue.probability > 0.5);
        // Idle, it forgets, and allows a burst again.
        while queue.fifo.pop().is_some() {}
        queue.update(3_600_000 * MS);
        assert_eq!((queue.probability, queue.burst_allowance_ns), (0.0, 150 * MS));
    }
}
