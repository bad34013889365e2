//! CUBIC: the window grows with the cube of the time since the last congestion event (RFC 9438), with HyStart++ for its
//! first slow start (RFC 9406). As in Linux's tcp_cubic.c windows are whole packets, so that one of ten follows Reno's
//! estimate a round trip late, and that estimate goes on as slowly when it is back where the last event came (section
//! 4.3 has it grow by a packet a round trip then): beside a BBR the two are a tenth of its rate.

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
/// Windows that are acknowledged for each packet that Reno adds if it too leaves BETA: 1 / alpha (section 4.3).
const RENO_WINDOWS: f64 = (1.0 + BETA) / (3.0 * (1.0 - BETA));
/// The window grows by no more than half in a round trip (section 4.2): a packet for each so many.
const LEAST_ACKED: f64 = 2.0;
/// Of windows, for a packet more, where the curve does not rise (Linux).
const STANDSTILL: f64 = 100.0;

/// A time of congestion avoidance between two congestion events.
#[derive(Debug)]
struct Epoch {
    began: Nanos,
    /// Seconds until the plateau is reached: K.
    k: f64,
    /// What Reno's window would be: W_est; and what was acknowledged since it last grew.
    reno: f64,
    acked: f64,
    /// The last acknowledgment.
    last: Nanos,
}

#[derive(Debug, Default)]
pub struct Cubic {
    hystart: HyStart,
    /// A congestion event has ended the first slow start.
    has_lost: bool,
    /// W_max.
    plateau: f64,
    epoch: Option<Epoch>,
    /// What was acknowledged since the window last grew.
    acked: f64,
}

impl Cubic {
    fn begin_epoch(&mut self, window: &Window, now: Nanos) {
        if self.plateau <= window.cwnd {
            self.plateau = window.cwnd;
        }
        // The cube root is libm's, in software: the same on every machine.
        let k = libm::cbrt((self.plateau - window.cwnd) / C);
        self.epoch = Some(Epoch { began: now, k, reno: window.cwnd, acked: 0.0, last: now });
    }

    fn avoid(&mut self, window: &mut Window, acked: f64, ack: &Ack) {
        if self.epoch.is_none() {
            self.begin_epoch(window, ack.now);
        }
        let Some(epoch) = &mut self.epoch else { return };
        epoch.last = ack.now;
        let (cwnd, now) = (window.cwnd, to_seconds(ack.now - epoch.began));
        epoch.acked += acked;
        let a_packet = (RENO_WINDOWS * cwnd).floor();
        let more = (epoch.acked / a_packet).floor();
        epoch.reno += more;
        epoch.acked -= more * a_packet;
        let ahead = now + ack.srtt.map_or(0.0, to_seconds) - epoch.k;
        let target = self.plateau + C * ahead * ahead * ahead;
        let growth = (target.max(epoch.reno) - cwnd).max(1.0 / STANDSTILL);
        let a_packet = (cwnd / growth).floor().max(LEAST_ACKED);
        if self.acked >= a_packet {
            // Saved while the curve was flatter: a packet, not all that it would be worth now.
            (self.acked, window.cwnd) = (0.0, window.cwnd + 1.0);
        }
        self.acked += acked;
        let more = (self.acked / a_packet).floor();
        window.cwnd += more;
        self.acked -= more * a_packet;
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
        self.epoch = None;
        self.has_lost = true;
        window.ssthresh = (window.cwnd * BETA).floor().max(LEAST_THRESHOLD);
    }

    /// What the window was no longer counts: the curve begins flat where slow start ends (section 4.8).
    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos) {
        if !is_reduced {
            self.congested(window, Trouble::Loss, now);
        }
        (self.plateau, self.epoch, self.has_lost) = (0.0, None, true);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::window::Phase;
    use super::*;
    use crate::time::{MILLISECOND, SECOND};

    const RTT: Nanos = 100 * MILLISECOND;

    /// Acknowledges a window each round trip, and returns the window at the end of each second.
    fn seconds(cubic: &mut Cubic, window: &mut Window, from: Nanos, count: u64) -> Vec<f64> {
        let mut grown = Vec::new();
        for round in 1..=count * (SECOND / RTT) {
            let now = from + round * RTT;
            for _ in 0..window.cwnd as u64 {
                let ack = Ack {
                    now,
                    delivered: 1,
                    first: round,
                    end: round,
                    lost: 0,
                    prior_in_flight: 0,
                    in_flight: 0,
                    rtt: Some(RTT),
                    srtt: Some(RTT),
                    rate: None,
                    total_delivered: 0,
                    total_lost: 0,
                    marked: 0.0,
                    phase: Phase::Open,
                    may_grow: true,
                    window_limited: true,
                };
                cubic.acknowledged(window, &ack);
            }
            if round % (SECOND / RTT) == 0 {
                grown.push(window.cwnd);
            }
        }
        grown
    }

    #[test]
    fn the_plateau_is_reached_after_k_and_left_as_it_was_reached() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(1000.0));
        cubic.congested(&mut window, Trouble::Loss, 0);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700.0);
        // K = cbrt(1000 (1 - 0.7) / 0.4) = 9.1 s (RFC 9438, equation 2).
        let grown = seconds(&mut cubic, &mut window, 0, 18);
        assert!((grown[8] - 1000.0).abs() < 1.0, "{grown:?}");
        assert!((grown[17] - 1300.0).abs() < 30.0, "{grown:?}");
    }

    #[test]
    fn a_window_below_the_plateau_leaves_room() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(1000.0));
        cubic.congested(&mut window, Trouble::Loss, 0);
        assert_eq!(cubic.plateau, 1000.0);
        window.cwnd = 900.0;
        cubic.congested(&mut window, Trouble::Loss, 0);
        assert!((cubic.plateau - 900.0 * 0.85).abs() < 1e-9); // section 4.7
    }

    #[test]
    fn after_a_timeout_the_curve_begins_flat() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(1000.0));
        cubic.timed_out(&mut window, false, 0);
        assert_eq!(window.ssthresh, 700.0);
        window.cwnd = 700.0; // slow start has ended
        let grown = seconds(&mut cubic, &mut window, 0, 5);
        // 0.4 (t + RTT)^3, or Reno's 0.53 packets a round trip, and no 9 s to the window of before.
        assert!((grown[0] - 705.0).abs() < 1.0 && (grown[4] - 750.0).abs() < 5.0, "{grown:?}");
    }

    #[test]
    fn a_small_window_grows_by_whole_packets_and_no_faster_than_reno() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(11.0));
        cubic.congested(&mut window, Trouble::Loss, 0);
        assert_eq!(window.ssthresh, 7.0); // of 7.7
        window.cwnd = 7.0;
        // Ten round trips of 0.53 packets, less what it is late; the curve is at 10.5 then.
        let grown = seconds(&mut cubic, &mut window, 0, 1);
        assert!((11.0..=12.0).contains(&grown[0]) && grown[0].fract() == 0.0, "{grown:?}");
    }

    #[test]
    fn a_window_that_is_reduced_is_not_reduced_by_a_timeout() {
        let (mut cubic, mut window) = (Cubic::default(), Window::new(100.0));
        cubic.congested(&mut window, Trouble::Loss, 0);
        window.cwnd = 3.0; // what recovery leaves for a moment
        cubic.timed_out(&mut window, true, 0);
        assert_eq!(window.ssthresh, 70.0);
    }
}
