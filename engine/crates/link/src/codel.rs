//! CoDel (RFC 8289, section 5): packets are dropped, or marked, when they leave, once each has waited longer than the
//! target for a whole interval; from then on ever faster, by the inverse of a square root, until the delay is below it.

use crate::config::CodelConfig;
use crate::discipline::{Offer, Refusal};
use crate::fifo::{has_room, Fifo, Waiting};
use crate::stats::{Reason, Stats};

/// A count that starts again within so many intervals of the last drop goes on from where it was (section 5.5).
const RECENT_INTERVALS: u64 = 16;

/// A FIFO that CoDel controls.
#[derive(Clone, Debug)]
pub(crate) struct CodelQueue<T> {
    pub fifo: Fifo<T>,
    pub config: CodelConfig,
    codel: Codel,
}

impl<T> CodelQueue<T> {
    pub fn new(config: CodelConfig) -> Self {
        Self { fifo: Fifo::default(), config, codel: Codel::default() }
    }

    pub fn offer(&mut self, packet: Waiting<T>, offer: &Offer) -> Result<(), Refusal<T>> {
        let packets = self.fifo.packets().saturating_sub(offer.due_packets);
        let bytes = self.fifo.bytes().saturating_sub(offer.due_bytes);
        if !has_room(self.config.limit, packets, bytes, packet.len) {
            return Err((packet.item, Reason::QueueFull));
        }
        self.fifo.push(packet);
        Ok(())
    }

    pub fn pop(&mut self, now_ns: u64, stats: &mut Stats) -> Option<Waiting<T>> {
        self.codel.pop(&self.config, &mut self.fifo, now_ns, stats)
    }
}

/// One queue's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codel {
    /// When the delay will have been above the target for an interval; None while it is not above.
    first_above_ns: Option<u64>,
    drop_next_ns: u64,
    /// Drops since dropping began, and how many there were when it last began.
    count: u32,
    last_count: u32,
    is_dropping: bool,
    /// Bytes of the largest packet so far: with no more than that behind it, no packet is dropped.
    max_packet: u32,
}

impl Codel {
    /// The next packet to be sent. Those dropped before it are gone, and counted in `stats`.
    pub fn pop<T>(
        &mut self,
        config: &CodelConfig,
        fifo: &mut Fifo<T>,
        now_ns: u64,
        stats: &mut Stats,
    ) -> Option<Waiting<T>> {
        let (mut packet, mut may_drop) = self.take(config, fifo, now_ns)?;
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now_ns >= self.drop_next_ns {
                self.count = self.count.saturating_add(1);
                if mark(config, &mut packet, stats) {
                    self.drop_next_ns = control_law(self.drop_next_ns, config.interval_ns, self.count);
                    return Some(packet);
                }
                stats.drop(Reason::Aqm, 1);
                (packet, may_drop) = self.take(config, fifo, now_ns)?;
                match may_drop {
                    true => self.drop_next_ns = control_law(self.drop_next_ns, config.interval_ns, self.count),
                    false => self.is_dropping = false,
                }
            }
        } else if may_drop {
            if !mark(config, &mut packet, stats) {
                stats.drop(Reason::Aqm, 1);
                (packet, _) = self.take(config, fifo, now_ns)?;
            }
            self.begin(config, now_ns);
        }
        Some(packet)
    }

    /// The head of the queue, and whether its delay allows it to be dropped.
    fn take<T>(&mut self, config: &CodelConfig, fifo: &mut Fifo<T>, now_ns: u64) -> Option<(Waiting<T>, bool)> {
        let Some(packet) = fifo.pop() else {
            self.first_above_ns = None;
            self.is_dropping = false;
            return None;
        };
        self.max_packet = self.max_packet.max(packet.len);
        let may_drop = if packet.sojourn_ns(now_ns) < config.target_ns || fifo.bytes() <= u64::from(self.max_packet) {
            self.first_above_ns = None;
            false
        } else {
            let due = *self.first_above_ns.get_or_insert(now_ns + config.interval_ns);
            now_ns >= due
        };
        Some((packet, may_drop))
    }

    /// The first drop: its rate is that of last time, if that was not long ago.
    fn begin(&mut self, config: &CodelConfig, now_ns: u64) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now_ns.saturating_sub(self.drop_next_ns) < RECENT_INTERVALS * config.interval_ns;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next_ns = control_law(now_ns, config.interval_ns, self.count);
        self.last_count = self.count;
    }
}

/// Marks the packet that would be dropped, if it can be marked.
fn mark<T>(config: &CodelConfig, packet: &mut Waiting<T>, stats: &mut Stats) -> bool {
    let marks = config.ecn && packet.ecn.is_capable();
    if marks {
        packet.marked = true;
        stats.marked_packets += 1;
    }
    marks
}

/// `start_ns` plus the interval over the square root of the count: in integers, so that it is the same on every machine.
fn control_law(start_ns: u64, interval_ns: u64, count: u32) -> u64 {
    // The root of count times 2^32 is that of count times 2^16.
    let root = (u64::from(count.max(1)) << 32).isqrt();
    start_ns + ((u128::from(interval_ns) << 16) / u128::from(root)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limit;
    use crate::ecn::Ecn;

    const MS: u64 = 1_000_000;

    fn queue(ecn: bool) -> CodelQueue<u64> {
        CodelQueue::new(CodelConfig { ecn, ..CodelConfig::new(Limit::Packets(1000)) })
    }

    fn push(queue: &mut CodelQueue<u64>, time_ns: u64, ecn: Ecn) {
        let packet = Waiting { item: time_ns, enq_time_ns: time_ns, len: 1000, enq_depth: 0, ecn, marked: false };
        queue.fifo.push(packet);
    }

    /// A queue whose head has always waited 50 ms, one packet a millisecond for `ms`: when packets were dropped or marked.
    fn verdicts(queue: &mut CodelQueue<u64>, ms: u64, ecn: Ecn) -> Vec<u64> {
        let (mut stats, mut times) = (Stats::default(), Vec::new());
        (0..50).for_each(|n| push(queue, n * MS, ecn));
        for now in 50..50 + ms {
            push(queue, now * MS, ecn);
            let before = stats.dropped(Reason::Aqm) + stats.marked_packets;
            let packet = queue.pop(now * MS, &mut stats).expect("fifty wait");
            let verdicts = stats.dropped(Reason::Aqm) + stats.marked_packets - before;
            assert!(verdicts < 2 && packet.marked == (verdicts == 1 && ecn.is_capable()));
            if verdicts == 1 {
                times.push(now);
                if !packet.marked {
                    push(queue, now * MS, ecn); // keeps the queue as long as it was
                }
            }
        }
        times
    }

    #[test]
    fn drops_come_by_the_inverse_square_root_of_their_number() {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let times = verdicts(&mut queue(true), 1000, ecn);
            // The first one interval after the delay was first seen, at 50 ms.
            let mut expected = 150.0;
            for (n, time) in times.iter().enumerate() {
                assert!((*time as f64 - expected).abs() <= 1.0, "drop {n} at {time} ms, not {expected}");
                expected += 100.0 / (n as f64 + 1.0).sqrt();
            }
            assert!(times.len() > 20, "{}", times.len());
        }
    }

    #[test]
    fn a_delay_below_the_target_or_a_single_packet_is_no_standing_queue() {
        let (mut short, mut stats) = (queue(false), Stats::default());
        for n in 0..1000u64 {
            push(&mut short, n * MS, Ecn::NotEct);
            if n >= 4 {
                short.pop(n * MS, &mut stats); // 4 ms, and four behind it
            }
        }
        let mut last = queue(false);
        for n in 0..1000u64 {
            push(&mut last, n * MS, Ecn::NotEct);
            assert!(last.pop((n + 100) * MS, &mut stats).is_some()); // 100 ms, and nobody behind it
        }
        assert_eq!(stats, Stats::default());
    }

    #[test]
    fn dropping_begins_where_it_was_when_it_ended_not_long_ago() {
        let gap_after = |pause_ms: u64| {
            let mut queue = queue(false);
            let mut stats = Stats::default();
            let first = verdicts(&mut queue, 1000, Ecn::NotEct);
            while queue.pop(1050 * MS, &mut stats).is_some() {}
            let start = 1050 + pause_ms;
            (0..50).for_each(|n| push(&mut queue, (start + n) * MS, Ecn::NotEct));
            let mut times = Vec::new();
            for now in start + 50..start + 500 {
                (0..2).for_each(|_| push(&mut queue, now * MS, Ecn::NotEct));
                let before = stats.dropped(Reason::Aqm);
                queue.pop(now * MS, &mut stats);
                (before..stats.dropped(Reason::Aqm)).for_each(|_| times.push(now));
            }
            assert!(first.len() > 20);
            times[1] - times[0]
        };
        assert!(gap_after(100) < 25, "{}", gap_after(100)); // more than twenty drops before: below 100/sqrt(20)
        assert_eq!(gap_after(10_000), 100);
    }

    #[test]
    fn without_ecn_what_could_be_marked_is_dropped() {
        let (mut queue, mut stats) = (queue(false), Stats::default());
        (0..600).for_each(|n| push(&mut queue, n * MS, Ecn::Ect0));
        assert!((600..850).all(|now| queue.pop(now * MS, &mut stats).is_some()));
        assert!(stats.dropped(Reason::Aqm) > 0);
        assert_eq!(stats.marked_packets, 0);
    }

    #[test]
    fn the_control_law_is_exact_to_a_millionth() {
        for count in [1, 2, 3, 4, 9, 100, 12_345, u32::MAX] {
            let exact = 1e8 / f64::from(count).sqrt();
            let law = control_law(7, 100 * MS, count) - 7;
            assert!((law as f64 - exact).abs() <= 1.0 + exact * 2e-5, "{count}: {law} for {exact}");
        }
    }
}
