//! DualPI2 (RFC 9332, appendix A): L4S packets (ECT(1) and CE) have a queue of their own with hardly any delay, all others
//! one that a PI controller keeps at its target. Its probability p' couples the two: L packets are marked with k p' or by
//! their own delay, whichever is more; classic ones are dropped, or marked, with p' squared.

use crate::config::DualPi2Config;
use crate::discipline::{Offer, Refusal};
use crate::fifo::{has_room, Fifo, Waiting};
use crate::pi::Pi;
use crate::stats::{Reason, Stats};

/// Weighted round robin by bytes: what the L queue may send for each classic byte, so that the classic queue has a
/// sixteenth of the link whatever comes (section 4.1.1 asks for a bound on its starvation; the weight is ours).
const L_WEIGHT: u64 = 15;

#[derive(Clone, Debug)]
pub(crate) struct DualPi2<T> {
    config: DualPi2Config,
    l: Lane<T>,
    c: Lane<T>,
    pi: Pi,
    /// p'.
    base: f64,
    /// Bytes that the L queue has sent while classic packets waited, less what these have had for it.
    ahead: u64,
    /// When the first packet came of those without which nothing would wait.
    since_ns: u64,
}

#[derive(Clone, Debug)]
struct Lane<T> {
    fifo: Fifo<T>,
    /// The sum of the probabilities of packets passed since the last one chosen (`recur`, appendix A.1).
    sum: f64,
}

impl<T> Lane<T> {
    fn new() -> Self {
        Self { fifo: Fifo::default(), sum: 0.0 }
    }

    /// Every 1/p-th packet: evenly, without a draw.
    fn recurs(&mut self, probability: f64) -> bool {
        self.sum += probability;
        let is_due = self.sum > 1.0;
        if is_due {
            self.sum -= 1.0;
        }
        is_due
    }
}

impl<T> DualPi2<T> {
    pub fn new(config: DualPi2Config) -> Self {
        Self { pi: Pi::new(config.pi), l: Lane::new(), c: Lane::new(), base: 0.0, ahead: 0, since_ns: 0, config }
    }

    /// Other parameters; the probability goes on.
    pub fn set_config(&mut self, config: DualPi2Config) {
        self.pi.set_config(config.pi);
        self.config = config;
    }

    pub fn packets(&self) -> u64 {
        self.l.fifo.packets() + self.c.fifo.packets()
    }

    pub fn bytes(&self) -> u64 {
        self.l.fifo.bytes() + self.c.fifo.bytes()
    }

    /// When a packet could first leave, and the length of the one whose turn it is.
    pub fn next(&self) -> Option<(u64, u32)> {
        let lane = if self.serves_l()? { &self.l } else { &self.c };
        lane.fifo.head().map(|head| (self.since_ns, head.len))
    }

    /// p'.
    pub fn base_probability(&self) -> f64 {
        self.base
    }

    pub fn offer(&mut self, packet: Waiting<T>, offer: &Offer) -> Result<(), Refusal<T>> {
        self.update(offer.now_ns);
        let packets = self.packets().saturating_sub(offer.due_packets);
        let bytes = self.bytes().saturating_sub(offer.due_bytes);
        if !has_room(self.config.limit, packets, bytes, packet.len) {
            return Err((packet.item, Reason::QueueFull));
        }
        self.push(packet);
        Ok(())
    }

    pub fn push(&mut self, packet: Waiting<T>) {
        if self.packets() == 0 {
            self.since_ns = packet.enq_time_ns;
        }
        let lane = if packet.ecn.is_l4s() { &mut self.l } else { &mut self.c };
        lane.fifo.push(packet);
    }

    pub fn pop(&mut self, now_ns: u64, stats: &mut Stats) -> Option<Waiting<T>> {
        self.update(now_ns);
        let classic = self.base * self.base;
        let coupled = self.config.coupling * self.base;
        loop {
            let serves_l = self.serves_l()?;
            let mut packet = self.take()?;
            let (drops, marks) = if serves_l {
                self.judge_l(classic, coupled, packet.sojourn_ns(now_ns))
            } else {
                let chosen = self.c.recurs(classic);
                // Beyond 1/k^2 the L queue's marks are at their end: responsive or not, all are dropped alike.
                let drops = !packet.ecn.is_capable() || coupled >= 1.0;
                (chosen && drops, chosen && !drops)
            };
            if !drops {
                packet.marked = marks;
                stats.marked_packets += u64::from(marks);
                return Some(packet);
            }
            stats.drop(Reason::Aqm, 1);
        }
    }

    /// Whether an L packet that waited so long is dropped, and whether it is marked.
    fn judge_l(&mut self, classic: f64, coupled: f64, sojourn_ns: u64) -> (bool, bool) {
        if coupled >= 1.0 {
            // Overload (appendix A.2): the classic drop for both.
            let drops = self.l.recurs(classic);
            return (drops, !drops);
        }
        // Alone, a packet has waited for others' sake only: Th_len of appendix A.1, one packet.
        let native = if self.l.fifo.is_empty() { 0.0 } else { self.ramp(sojourn_ns) };
        (false, self.l.recurs(native.max(coupled)))
    }

    /// The L queue's own probability: 0 up to the step, from there a ramp to 1.
    fn ramp(&self, sojourn_ns: u64) -> f64 {
        let over = sojourn_ns.saturating_sub(self.config.step_ns);
        match self.config.ramp_ns {
            _ if sojourn_ns < self.config.step_ns => 0.0,
            ramp if over >= ramp => 1.0,
            ramp => over as f64 / ramp as f64,
        }
    }

    /// Whether it is the L queue's turn; None when nothing waits.
    fn serves_l(&self) -> Option<bool> {
        match (self.l.fifo.head(), self.c.fifo.head()) {
            (None, None) => None,
            (l, None) => Some(l.is_some()),
            (None, Some(_)) => Some(false),
            (Some(_), Some(c)) => Some(self.ahead < L_WEIGHT * u64::from(c.len.max(1))),
        }
    }

    /// A packet whose turn it is, without any AQM.
    pub fn take(&mut self) -> Option<Waiting<T>> {
        if self.serves_l()? {
            let packet = self.l.fifo.pop()?;
            self.ahead = if self.c.fifo.is_empty() { 0 } else { self.ahead + u64::from(packet.len.max(1)) };
            return Some(packet);
        }
        let packet = self.c.fifo.pop()?;
        self.ahead = self.ahead.saturating_sub(L_WEIGHT * u64::from(packet.len.max(1)));
        Some(packet)
    }

    fn update(&mut self, now_ns: u64) {
        let heads = [&self.l.fifo, &self.c.fifo].map(|fifo| fifo.head().map(|head| head.enq_time_ns));
        // The longer delay of the two (appendix A.2), so that L packets alone cannot fill the link unseen.
        let since_ns = heads.into_iter().flatten().min();
        let base = &mut self.base;
        self.pi.catch_up(now_ns, since_ns, |update| {
            let before = *base;
            *base = (before + update.change).clamp(0.0, 1.0);
            before == *base && (update.delay_s == update.old_delay_s || before == 1.0)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limit;
    use crate::ecn::Ecn;

    const MS: u64 = 1_000_000;

    fn dual() -> DualPi2<Ecn> {
        DualPi2::new(DualPi2Config::new(Limit::Packets(1000)))
    }

    fn push(dual: &mut DualPi2<Ecn>, now_ns: u64, ecn: Ecn) {
        dual.push(Waiting { item: ecn, enq_time_ns: now_ns, len: 1000, enq_depth: 0, ecn, marked: false });
    }

    /// The shares of packets of `ecn` that are dropped and marked while p' is `base`, at a delay too short for the ramp.
    fn shares(base: f64, ecn: Ecn) -> (f64, f64) {
        let (mut dual, mut stats) = (dual(), Stats::default());
        dual.base = base;
        let packets = 20_000u32;
        for _ in 0..packets {
            push(&mut dual, 0, ecn);
            while dual.pop(0, &mut stats).is_some() {}
        }
        let share = |count: u64| count as f64 / f64::from(packets);
        (share(stats.dropped(Reason::Aqm)), share(stats.marked_packets))
    }

    #[test]
    fn the_classic_probability_is_the_square_and_the_l_one_the_double() {
        for base in [0.0, 0.01, 0.1, 0.3, 0.45] {
            let (classic, coupled) = (base * base, 2.0 * base);
            for (ecn, expected) in [
                (Ecn::NotEct, (classic, 0.0)),
                (Ecn::Ect0, (0.0, classic)),
                (Ecn::Ect1, (0.0, coupled)),
                (Ecn::Ce, (0.0, coupled)),
            ] {
                let (dropped, marked) = shares(base, ecn);
                assert!((dropped - expected.0).abs() < 1e-3 && (marked - expected.1).abs() < 1e-3, "{base} {ecn:?}");
            }
        }
    }

    #[test]
    fn overload_drops_from_both_alike() {
        for base in [0.5, 0.7, 1.0] {
            for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
                let (dropped, marked) = shares(base, ecn);
                assert!((dropped - base * base).abs() < 1e-3, "{base} {ecn:?}: {dropped}");
                assert!((marked - if ecn == Ecn::Ect1 { 1.0 - base * base } else { 0.0 }).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn the_ramp_marks_by_the_l_queues_own_delay() {
        let marked = |wait_us: u64, behind: u32| {
            let (mut dual, mut stats) = (dual(), Stats::default());
            (0..1000).for_each(|_| {
                (0..=behind).for_each(|_| push(&mut dual, 0, Ecn::Ect1));
                dual.pop(wait_us * 1000, &mut stats);
                while dual.take().is_some() {}
            });
            stats.marked_packets as f64 / 1000.0
        };
        for (wait_us, expected) in [(799, 0.0), (800, 0.0), (1000, 0.5), (1100, 0.75), (1200, 1.0), (5000, 1.0)] {
            assert!((marked(wait_us, 1) - expected).abs() < 0.002, "{wait_us} us: {}", marked(wait_us, 1));
        }
        assert_eq!(marked(5000, 0), 0.0);
        let mut step = dual();
        step.config.ramp_ns = 0;
        assert_eq!([799_999, 800_000].map(|wait| step.ramp(wait)), [0.0, 1.0]);
    }

    #[test]
    fn l_packets_go_first_and_the_classic_queue_has_its_sixteenth() {
        let (mut dual, mut stats) = (dual(), Stats::default());
        (0..200).for_each(|_| push(&mut dual, 0, Ecn::NotEct));
        (0..200).for_each(|_| push(&mut dual, 0, Ecn::Ect1));
        let sent: Vec<Ecn> = (0..160).filter_map(|_| dual.pop(0, &mut stats)).map(|packet| packet.item).collect();
        assert_eq!(sent[..15], [Ecn::Ect1; 15]);
        assert_eq!(sent.iter().filter(|&&ecn| ecn == Ecn::NotEct).count(), 10);
    }

    #[test]
    fn the_base_probability_follows_the_classic_delay() {
        let (mut dual, mut stats) = (dual(), Stats::default());
        push(&mut dual, 0, Ecn::NotEct);
        dual.update(16 * MS);
        // One update: alpha times 1 ms above the target, beta times 16 ms more than before.
        assert!((dual.base - (0.16 * 0.001 + 3.2 * 0.016)).abs() < 1e-12, "{}", dual.base);
        dual.update(1_000_000 * MS);
        assert_eq!(dual.base, 1.0);
        while dual.take().is_some() {}
        assert!(dual.pop(3_600_000 * MS, &mut stats).is_none());
        assert_eq!(dual.base, 0.0);
    }
}
