//! What the model comes to: pacing rate and window (draft-ietf-ccwg-bbr, 5.6).

use super::super::super::window::{Ack, Phase, Window};
use super::super::bbr3_model::LEAST_WINDOW;
use super::{Bbr3, Mode, PACING_MARGIN, PROBE_RTT_WINDOW_GAIN, STARTUP_GAIN};
use crate::time::to_seconds;

impl Bbr3 {
    pub(super) fn probe_rtt_window(&self) -> f64 {
        let product = self.model.product(self.model.rate());
        (PROBE_RTT_WINDOW_GAIN * product).max(LEAST_WINDOW)
    }

    pub(super) fn set_rate(&self, window: &mut Window) {
        let rate = match self.model.min_rtt {
            Some(min_rtt) if self.model.max_rate() == 0.0 => {
                STARTUP_GAIN * self.initial_window / to_seconds(min_rtt.max(1))
            }
            _ => self.pacing_gain() * self.model.rate() * PACING_MARGIN,
        };
        let is_first = self.model.max_rate() == 0.0;
        if rate > 0.0 && (self.model.pipe_is_full || is_first || window.pacing_rate.is_none_or(|now| rate > now)) {
            window.pacing_rate = Some(rate);
        }
    }

    /// 5.6.4.6: the window follows what may be in flight, within what the model allows.
    pub(super) fn set_window(&mut self, ack: &Ack, window: &mut Window) {
        let is_recovering = matches!(ack.phase, Phase::Recovering { .. } | Phase::TimedOut { .. });
        if self.was_recovering && !is_recovering {
            window.cwnd = window.cwnd.max(self.prior_window);
        }
        self.was_recovering = is_recovering;
        let delivered = ack.delivered as f64;
        let most = self.in_flight(self.model.rate(), self.window_gain(), window) + self.model.heap();
        if self.model.pipe_is_full {
            window.cwnd = (window.cwnd + delivered).min(most);
        } else if window.cwnd < most || (ack.total_delivered as f64) < self.initial_window {
            window.cwnd += delivered;
        }
        let bound = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.model.in_flight_high,
            Mode::Cruise => self.model.with_headroom(),
            Mode::ProbeRtt => self.model.with_headroom().min(self.probe_rtt_window()),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(bound.min(self.model.in_flight_low)).max(LEAST_WINDOW);
    }
}
