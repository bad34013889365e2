//! The congestion window in packets, and the two ways in which every congestion control lets it grow.

use crate::time::Nanos;

/// Least slow start threshold (RFC 5681, equation 4).
pub const LEAST_THRESHOLD: f64 = 2.0;
/// Most packets that an acknowledgment adds in slow start (RFC 3465, section 2.3: L).
const BYTE_COUNTING_LIMIT: f64 = 2.0;

#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Slow start threshold in packets.
    pub ssthresh: f64,
    /// Packets a second, where the congestion control has a rate of its own.
    pub pacing_rate: Option<f64>,
}

impl Window {
    pub fn new(cwnd: f64) -> Self {
        Self { cwnd, ssthresh: f64::INFINITY, pacing_rate: None }
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start for `acked` packets (RFC 5681, section 3.1, with RFC 3465's counting); those that are left when it
    /// ends.
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let counted = acked.min(BYTE_COUNTING_LIMIT);
        let grown = (self.cwnd + counted).min(self.ssthresh);
        let left = if grown < self.ssthresh { 0.0 } else { acked - (grown - self.cwnd) };
        self.cwnd = grown;
        left
    }

    /// Congestion avoidance: `step` packets for each window that is acknowledged (RFC 5681, equation 3).
    pub fn avoid(&mut self, acked: f64, step: f64) {
        self.cwnd += step * acked / self.cwnd;
    }

    /// What Reno's senders do with an acknowledgment.
    pub fn grow_as_reno(&mut self, acked: f64) {
        let left = if self.in_slow_start() { self.slow_start(acked) } else { acked };
        if left > 0.0 {
            self.avoid(left, 1.0);
        }
    }
}

/// Whether the window is what holds the sender back; one that is not in use must not grow (RFC 7661; Linux's
/// tcp_is_cwnd_limited).
#[derive(Debug, Default)]
pub struct Usage {
    is_full: bool,
    most: u64,
    round_end: u64,
}

impl Usage {
    /// Packets were sent as far as they may be: `in_flight` of the window's are out; the oldest unacknowledged is
    /// `first`, the next one `end`.
    pub fn note(&mut self, window: &Window, in_flight: u64, first: u64, end: u64) {
        let is_full = in_flight as f64 + 1.0 > window.cwnd;
        if first >= self.round_end || is_full || (!self.is_full && in_flight > self.most) {
            *self = Self { is_full, most: in_flight, round_end: end };
        }
    }

    pub fn is_limiting(&self, window: &Window) -> bool {
        self.is_full || window.in_slow_start() && window.cwnd < 2.0 * self.most as f64
    }
}

/// An acknowledgment, as congestion controls see it. Counts are packets.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub now: Nanos,
    /// Packets that have arrived, by what it says first.
    pub delivered: u64,
    /// The oldest packet not acknowledged, and one past the newest sent.
    pub first: u64,
    pub end: u64,
    /// Packets that it made known as lost.
    pub lost: u64,
    /// Packets in flight before it and after it.
    pub prior_in_flight: u64,
    pub in_flight: u64,
    /// Of the newest packet that it acknowledges, if that was sent once.
    pub rtt: Option<Nanos>,
    pub srtt: Option<Nanos>,
    pub rate: Option<super::rate::RateSample>,
    /// All packets delivered so far, and deemed lost.
    pub total_delivered: u64,
    pub total_lost: u64,
    /// Packets' worth of octets that it reports as marked.
    pub marked: f64,
    /// What the sender is doing about losses.
    pub phase: Phase,
    /// The window is in use, and no reduction goes on.
    pub may_grow: bool,
    /// The window, not the application or pacing, held the sender back.
    pub window_limited: bool,
}

/// What a sender does about congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// The window is being reduced for marks or for a tail loss that a probe repaired.
    Reducing {
        until: u64,
    },
    /// Losses are repaired.
    Recovering {
        until: u64,
    },
    /// Losses are repaired after a time-out, when `oldest` was the oldest packet out.
    TimedOut {
        until: u64,
        oldest: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_and_ends_at_the_threshold() {
        let mut window = Window { ssthresh: 20.0, ..Window::new(10.0) };
        assert_eq!((0..5).map(|_| window.slow_start(2.0)).sum::<f64>(), 0.0);
        assert_eq!((window.cwnd, window.in_slow_start()), (20.0, false));
        let mut window = Window::new(10.0);
        window.slow_start(8.0); // a stretch acknowledgment counts as two
        assert_eq!(window.cwnd, 12.0);
    }

    #[test]
    fn avoidance_adds_a_packet_a_window() {
        let mut window = Window { ssthresh: 2.0, ..Window::new(100.0) };
        (0..50).for_each(|_| window.grow_as_reno(2.0));
        assert!((window.cwnd - 101.0).abs() < 0.01, "{}", window.cwnd);
    }

    #[test]
    fn a_window_that_was_not_full_in_a_round_does_not_limit() {
        let (mut usage, mut window) = (Usage::default(), Window::new(10.0));
        window.ssthresh = 5.0;
        usage.note(&window, 10, 0, 10);
        assert!(usage.is_limiting(&window));
        usage.note(&window, 3, 4, 12);
        assert!(usage.is_limiting(&window)); // the round goes on
        usage.note(&window, 3, 10, 14);
        assert!(!usage.is_limiting(&window));
        window.ssthresh = f64::INFINITY;
        assert!(!usage.is_limiting(&window));
        usage.note(&window, 6, 11, 15);
        assert!(usage.is_limiting(&window)); // more than half of it, in slow start
    }
}
