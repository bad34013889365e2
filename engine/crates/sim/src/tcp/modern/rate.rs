//! Delivery rate: how many packets arrive in how long, sampled by each acknowledgment (draft-ietf-ccwg-bbr, section 4.1;
//! Linux's tcp_rate.c).

use super::scoreboard::{Sent, Snapshot};
use crate::time::{to_seconds, Nanos};

/// What an acknowledgment says of the rate since its newest packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Packets delivered in `interval`.
    pub delivered: u64,
    pub interval: Nanos,
    /// Packets deemed lost since then.
    pub lost: u64,
    /// The connection's delivery when the packet was sent.
    pub prior: Snapshot,
}

impl RateSample {
    /// Packets a second.
    pub fn rate(&self) -> f64 {
        self.delivered as f64 / to_seconds(self.interval)
    }
}

#[derive(Debug, Default)]
pub struct RateSampler {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    lost: u64,
    /// Samples of packets sent before this count of deliveries say nothing of the network; 0: no such packets.
    app_limited_until: u64,
    /// Of the acknowledgment that is being looked at: the packet delivered that was sent last.
    newest: Option<Sent>,
}

impl RateSampler {
    /// A packet leaves, behind `in_flight` others; what is to be kept with it.
    pub fn send(&mut self, now: Nanos, in_flight: u64) -> Snapshot {
        if in_flight == 0 {
            // Silence before it is no part of a rate.
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight + 1,
            lost: self.lost,
            is_app_limited: self.app_limited_until > 0,
        }
    }

    /// A packet has arrived.
    pub fn deliver(&mut self, sent: &Sent, now: Nanos) {
        self.delivered += 1;
        self.delivered_at = now;
        if self.newest.is_none_or(|newest| newest.transmission < sent.transmission) {
            self.newest = Some(*sent);
        }
    }

    pub fn lose(&mut self) {
        self.lost += 1;
    }

    /// There is nothing more to send though the window would allow it.
    pub fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// The sample of all that arrived since the last one. None when nothing did, or within less than `min_rtt`.
    pub fn sample(&mut self, min_rtt: Nanos) -> Option<RateSample> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let sent = self.newest.take()?;
        let prior = sent.snapshot;
        self.first_sent_at = sent.at;
        let (sending, acknowledging) = (sent.at - prior.first_sent_at, self.delivered_at - prior.delivered_at);
        let interval = sending.max(acknowledging);
        (interval >= min_rtt.max(1)).then(|| RateSample {
            delivered: self.delivered - prior.delivered,
            interval,
            lost: self.lost - prior.lost,
            prior,
        })
    }

    /// Packets delivered.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Packets deemed lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::modern::scoreboard::Scoreboard;
    use crate::time::MILLISECOND;

    const RTT: Nanos = 10 * MILLISECOND;

    /// Sends `count` packets one a millisecond from `at` on, and delivers each a round trip later.
    fn exchange(rates: &mut RateSampler, board: &mut Scoreboard, at: Nanos, count: u64) -> Vec<RateSample> {
        let first = board.end();
        (0..count)
            .filter_map(|k| {
                let now = at + k * MILLISECOND;
                let snapshot = rates.send(now, board.in_flight());
                board.send(first + k, now, snapshot);
                let done = k.checked_sub(RTT / MILLISECOND)?;
                board.acknowledge(first + done + 1, |_, sent| rates.deliver(sent, now));
                rates.sample(RTT)
            })
            .collect()
    }

    #[test]
    fn a_steady_stream_has_its_rate() {
        let samples = exchange(&mut RateSampler::default(), &mut Scoreboard::default(), 0, 60);
        for sample in &samples[20..] {
            assert!((sample.rate() - 1000.0).abs() < 1e-6 && !sample.prior.is_app_limited, "{sample:?}");
        }
    }

    #[test]
    fn acknowledgments_in_a_heap_do_not_raise_it() {
        // Ten packets in ten milliseconds, acknowledged at once: the time they took to be sent counts.
        let (mut rates, mut board) = (RateSampler::default(), Scoreboard::default());
        for k in 0..30 {
            let snapshot = rates.send(k * MILLISECOND, board.in_flight());
            board.send(k, k * MILLISECOND, snapshot);
        }
        let now = 30 * MILLISECOND;
        board.acknowledge(30, |_, sent| rates.deliver(sent, now));
        let sample = rates.sample(MILLISECOND).expect("a sample");
        assert!((sample.rate() - 1000.0).abs() < 1e-6, "{sample:?}");
    }

    #[test]
    fn what_the_application_left_unused_is_marked_until_it_is_delivered() {
        let (mut rates, mut board) = (RateSampler::default(), Scoreboard::default());
        rates.limit_by_application(0);
        let samples = exchange(&mut rates, &mut board, 0, 40);
        assert!(samples[0].prior.is_app_limited);
        assert!(!samples.last().expect("samples").prior.is_app_limited);
    }
}
