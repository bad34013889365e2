//! Prague: DCTCP's response for the Internet (draft-briscoe-iccrg-prague-congestion-control): an additive increase that
//! depends less on the round trip time below 25 ms, and Reno's response to loss.

use super::super::window::{Ack, Window, LEAST_THRESHOLD};
use super::alpha::Alpha;
use super::congestion_control::{CongestionControl, Trouble};
use super::reno;
use crate::time::{Nanos, MILLISECOND};

/// Flows of a shorter round trip time grow as if it were this (section 2.4.4, and Linux's tcp_prague).
const REFERENCE_RTT: Nanos = 25 * MILLISECOND;

#[derive(Debug, Default)]
pub struct Prague {
    alpha: Alpha,
    round_end: u64,
    /// When the last window of observation ended: none is shorter than the reference.
    observed_at: Nanos,
}

impl CongestionControl for Prague {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.alpha.observe(ack.delivered as f64, ack.marked);
        if ack.first > self.round_end && ack.now >= self.observed_at + REFERENCE_RTT {
            (self.round_end, self.observed_at) = (ack.end, ack.now);
            self.alpha.update();
        }
        if !ack.may_grow {
            return;
        }
        let mut acked = ack.delivered as f64;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0.0 {
            // A packet for each reference round trip, of a window that is as long: the square of the ratio.
            let ratio = (ack.srtt.unwrap_or(REFERENCE_RTT) as f64 / REFERENCE_RTT as f64).min(1.0);
            window.avoid(acked, ratio * ratio);
        }
    }

    fn congested(&mut self, window: &mut Window, trouble: Trouble, _now: Nanos) {
        let remains = match trouble {
            Trouble::Marks => 1.0 - self.alpha.value() / 2.0,
            Trouble::Loss => reno::BETA,
        };
        window.ssthresh = (window.cwnd * remains).max(LEAST_THRESHOLD);
    }

    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos) {
        if !is_reduced {
            self.congested(window, Trouble::Loss, now);
        }
    }
}
