//! Reno: half the window at a congestion event, a packet more each round trip (RFC 5681, counting as RFC 3465).

use super::super::window::{Ack, Window, LEAST_THRESHOLD};
use super::congestion_control::{CongestionControl, Trouble};
use crate::time::Nanos;

/// What remains at a congestion event (RFC 5681, equation 4).
pub const BETA: f64 = 0.5;

#[derive(Debug, Default)]
pub struct Reno;

impl CongestionControl for Reno {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow {
            window.grow_as_reno(ack.delivered as f64);
        }
    }

    fn congested(&mut self, window: &mut Window, _trouble: Trouble, _now: Nanos) {
        window.ssthresh = (window.cwnd * BETA).max(LEAST_THRESHOLD);
    }

    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos) {
        if !is_reduced {
            self.congested(window, Trouble::Loss, now);
        }
    }
}
