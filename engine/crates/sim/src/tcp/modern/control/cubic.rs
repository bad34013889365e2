//! CUBIC: the window grows with the cube of the time since the last congestion event (RFC 9438), with HyStart++ for its
//! first slow start (RFC 9406).

use super::super::window::{Ack, Window, LEAST_THRESHOLD};
use super::congestion_control::{CongestionControl, Trouble};
use super::hystart::HyStart;
use crate::time::{to_seconds, Nanos};

/// RFC 9438, section 5.1: packets per second cubed.
const C: f64 = 0.4;
/// What remains at a congestion event (section 4.6).
const BETA: f64 = 0.7;
/// What remains of the plateau when the window did not reach it (section 4.7).
const FAST_CONVERGENCE: f64 = (1.0 + BETA) / 2.0;
/// What Reno adds in a round trip if it too leaves BETA (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// The window grows by no more than half in a round trip (section 4.2).
const MOST_GROWTH: f64 = 1.5;

/// A time of congestion avoidance between two congestion events.
#[derive(Debug)]
struct Epoch {
    began: Nanos,
    /// Seconds until the plateau is reached: K.
    k: f64,
    /// What Reno's window would be: W_est.
    reno: f64,
    /// The last acknowledgment.
    last: Nanos,
}

#[derive(Debug, Default)]
pub struct Cubic {
    hystart: HyStart,
    /// A congestion event has ended the first slow start.
    has_lost: bool,
    /// W_max, and the window just before the last event: cwnd_prior.
    plateau: f64,
    prior: f64,
    epoch: Option<Epoch>,
}

impl Cubic {
    fn begin_epoch(&mut self, window: &Window, now: Nanos) {
        if self.plateau <= window.cwnd {
            self.plateau = window.cwnd;
        }
        // The cube root is libm's, in software: the same on every machine.
        let k = libm::cbrt((self.plateau - window.cwnd) / C);
        self.epoch = Some(Epoch { began: now, k, reno: window.cwnd, last: now });
    }

    fn avoid(&mut self, window: &mut Window, acked: f64, ack: &Ack) {
        if self.epoch.is_none() {
            self.begin_epoch(window, ack.now);
        }
        let Some(epoch) = &mut self.epoch else { return };
        epoch.last = ack.now;
        let cubic = |time: f64| C * (time - epoch.k) * (time - epoch.k) * (time - epoch.k) + self.plateau;
        let now = to_seconds(ack.now - epoch.began);
        let step = if epoch.reno < self.prior { ALPHA } else { 1.0 };
        epoch.reno += step * acked / window.cwnd;
        if cubic(now) < epoch.reno {
            window.cwnd = window.cwnd.max(epoch.reno);
        } else {
            let target = cubic(now + ack.srtt.map_or(0.0, to_seconds));
            let target = target.clamp(window.cwnd, MOST_GROWTH * window.cwnd);
            window.cwnd += (target - window.cwnd) * acked / window.cwnd;
        }
    }
}

impl CongestionControl for Cubic {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.may_grow {
            // Time in which the window was not in use is none of the curve's (section 5.8).
            if let Some(epoch) = self.epoch.as_mut().filter(|_| !ack.window_limited) {
                epoch.began += ack.now - epoch.last;
                epoch.last = ack.now;
            }
            return;
        }
        let mut acked = ack.delivered as f64;
        if window.in_slow_start() {
            if !self.has_lost {
                return self.hystart.acknowledged(window, ack);
            }
            acked = window.slow_start(acked);
        }
        if acked > 0.0 {
            self.avoid(window, acked, ack);
        }
    }

    fn congested(&mut self, window: &mut Window, _trouble: Trouble, _now: Nanos) {
        let is_below = window.cwnd < self.plateau;
        self.plateau = if is_below { window.cwnd * FAST_CONVERGENCE } else { window.cwnd };
        self.prior = window.cwnd;
        self.epoch = None;
        self.has_lost = true;
        window.ssthresh = (window.cwnd * BETA).max(LEAST_THRESHOLD);
    }

    fn timed_out(&mut self, window: &mut Window, is_repeat: bool, now: Nanos) {
        if !is_repeat {
            self.congested(window, Trouble::Loss, now);
        }
    }
}
