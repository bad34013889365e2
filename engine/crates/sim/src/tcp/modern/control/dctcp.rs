//! DCTCP: the window falls by half the part of it that was marked (RFC 8257).

use super::super::window::{Ack, Window, LEAST_THRESHOLD};
use super::alpha::Alpha;
use super::congestion_control::{CongestionControl, Trouble};
use super::reno;
use crate::time::Nanos;

#[derive(Debug, Default)]
pub struct Dctcp {
    alpha: Alpha,
    /// The window of observation ends when this packet is acknowledged.
    round_end: u64,
}

impl CongestionControl for Dctcp {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.alpha.observe(ack.delivered as f64, ack.marked);
        if ack.first > self.round_end {
            self.round_end = ack.end;
            self.alpha.update();
        }
        if ack.may_grow {
            window.grow_as_reno(ack.delivered as f64);
        }
    }

    fn congested(&mut self, window: &mut Window, trouble: Trouble, _now: Nanos) {
        let remains = match trouble {
            Trouble::Marks => 1.0 - self.alpha.value() / 2.0, // RFC 8257, section 3.3
            Trouble::Loss => reno::BETA,                      // section 3.5
        };
        window.ssthresh = (window.cwnd * remains).max(LEAST_THRESHOLD);
    }

    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos) {
        if !is_reduced {
            self.congested(window, Trouble::Loss, now);
        }
    }
}
