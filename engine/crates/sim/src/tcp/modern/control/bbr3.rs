//! BBR's third version: loss beyond 2 % bounds what is in flight, and probing leaves room for others
//! (draft-ietf-ccwg-bbr).

mod applied;

use link::random::Stream;

use super::super::pacing::Burst;
use super::super::rate::RateSample;
use super::super::window::{Ack, Phase, Window};
use super::bbr3_model::{Model, BETA, LEAST_WINDOW, LOSS_THRESHOLD};
use super::congestion_control::{CongestionControl, Lost, Trouble};
use crate::time::{from_seconds, to_seconds, Nanos, MILLISECOND};

/// The draft's section 2.4 and 5.3: pacing and window gains.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
const PACING_MARGIN: f64 = 0.99;
const PROBE_RTT_TIME: Nanos = 200 * MILLISECOND;
const NOMINAL_RTT: Nanos = MILLISECOND;
/// BBR.StartupFullLossCnt: packets lost in a round of startup that say that the pipe is full.
const STARTUP_LOSSES: u64 = 6;
/// Seconds between probes: 2 to 3 (5.3.3.5.3); and no more round trips than Reno would need (5.3.3.5.2).
const LEAST_WAIT: f64 = 2.0;
const MOST_ROUNDS: f64 = 63.0;
const MOST_DOUBLINGS: u32 = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Where the acknowledgments of a probe are (5.3.3.6: BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feedback {
    Refilling,
    Starting,
    Coming,
    Stopping,
    None,
}

#[derive(Debug)]
pub struct Bbr3 {
    mode: Mode,
    stream: Stream,
    model: Model,
    feedback: Feedback,
    /// Losses are of a probe, and may lower the long-term bound.
    probe_samples: bool,
    rounds_since_probe: f64,
    wait: Nanos,
    cycle_began: Nanos,
    up_rounds: u32,
    up_delivered: f64,
    up_step: f64,
    drained: Option<(Nanos, bool)>,
    startup_losses: u64,
    startup_lost: f64,
    startup_delivered: f64,
    prior_window: f64,
    initial_window: f64,
    was_recovering: bool,
    restarts: bool,
}

impl Bbr3 {
    /// `stream` decides how long it waits between probes.
    pub fn new(window: &mut Window, stream: Stream) -> Self {
        window.pacing_rate = Some(STARTUP_GAIN * window.cwnd / to_seconds(NOMINAL_RTT));
        Self {
            mode: Mode::Startup,
            stream,
            model: Model::default(),
            feedback: Feedback::None,
            probe_samples: false,
            rounds_since_probe: 0.0,
            wait: 0,
            cycle_began: 0,
            up_rounds: 0,
            up_delivered: 0.0,
            up_step: f64::INFINITY,
            drained: None,
            startup_losses: 0,
            startup_lost: 0.0,
            startup_delivered: 0.0,
            prior_window: 0.0,
            initial_window: window.cwnd,
            was_recovering: false,
            restarts: false,
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => STARTUP_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::Down => 0.9,
            Mode::Up => 1.25,
            Mode::Cruise | Mode::Refill | Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Up => UP_WINDOW_GAIN,
            Mode::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            _ => WINDOW_GAIN,
        }
    }

    fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }

    /// Packets to have in flight at this gain, with room for bursts (BBRInflight).
    fn in_flight(&self, rate: f64, gain: f64, window: &Window) -> f64 {
        let product = self.model.product(rate);
        if product.is_infinite() {
            return self.initial_window;
        }
        let bursts = 3.0 * Burst::LINUX.packets(window.pacing_rate.unwrap_or(0.0));
        (gain * product).max(bursts).max(LEAST_WINDOW) + if self.mode == Mode::Up { 2.0 } else { 0.0 }
    }

    fn enter_down(&mut self, ack_now: Nanos, total_delivered: u64) {
        self.model.reset_congestion_signals();
        self.up_step = f64::INFINITY;
        // 5.3.3.5.3: some randomness, so that flows do not probe together.
        self.rounds_since_probe = if self.stream.chance(0.5) { 1.0 } else { 0.0 };
        self.wait = from_seconds(LEAST_WAIT + self.stream.uniform());
        self.cycle_began = ack_now;
        self.feedback = Feedback::Stopping;
        self.model.start_round(total_delivered);
        self.mode = Mode::Down;
    }

    fn enter_refill(&mut self, total_delivered: u64) {
        self.model.reset_lower_bounds();
        (self.up_rounds, self.up_delivered) = (0, 0.0);
        self.feedback = Feedback::Refilling;
        self.model.start_round(total_delivered);
        self.mode = Mode::Refill;
    }

    fn enter_up(&mut self, sample: &RateSample, ack: &Ack, window: &Window) {
        self.feedback = Feedback::Starting;
        self.model.start_round(ack.total_delivered);
        self.model.reset_full_rate(sample.rate());
        self.mode = Mode::Up;
        self.raise_slope(window);
    }

    /// The long-term bound grows by 1, 2, 4, .. packets a round while it holds (BBRRaiseInflightLongtermSlope).
    fn raise_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.up_rounds.min(MOST_DOUBLINGS));
        self.up_rounds = (self.up_rounds + 1).min(MOST_DOUBLINGS);
        self.up_step = (window.cwnd / growth).max(1.0);
    }

    /// The cycle of probing (5.3.3.6).
    fn update_cycle(&mut self, ack: &Ack, sample: &RateSample, window: &Window) {
        self.adapt_long_term(ack, sample, window);
        let in_flight = ack.in_flight as f64;
        let drained = self.in_flight(self.model.max_rate(), 1.0, window);
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(ack, window) => self.enter_refill(ack.total_delivered),
            Mode::Down if in_flight <= self.model.with_headroom() && in_flight <= drained => self.mode = Mode::Cruise,
            Mode::Refill if self.model.round_starts => {
                self.probe_samples = true;
                self.enter_up(sample, ack, window);
            }
            Mode::Up if ack.window_limited && window.cwnd >= self.model.in_flight_high => {
                // The bound, not the path, is what holds the rate.
                self.model.reset_full_rate(sample.rate());
            }
            Mode::Up if self.model.is_full_now => self.enter_down(ack.now, ack.total_delivered),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, ack: &Ack, window: &Window) -> bool {
        let rounds = self.in_flight(self.model.rate(), 1.0, window).min(window.cwnd).min(MOST_ROUNDS);
        ack.now > self.cycle_began + self.wait || self.rounds_since_probe >= rounds
    }

    fn adapt_long_term(&mut self, ack: &Ack, sample: &RateSample, window: &Window) {
        if self.model.round_starts {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Coming,
                Feedback::Stopping => {
                    self.feedback = Feedback::None;
                    self.probe_samples = false;
                    if self.is_probing_bandwidth() && !sample.prior.is_app_limited {
                        self.model.end_cycle();
                    }
                }
                _ => {}
            }
        }
        if is_too_much(sample.lost as f64, sample.prior.in_flight as f64) || self.model.in_flight_high.is_infinite() {
            return;
        }
        self.model.in_flight_high = self.model.in_flight_high.max(sample.prior.in_flight as f64);
        if self.mode != Mode::Up || !ack.window_limited || window.cwnd < self.model.in_flight_high {
            return;
        }
        self.up_delivered += ack.delivered as f64;
        let steps = (self.up_delivered / self.up_step).floor();
        self.up_delivered -= steps * self.up_step;
        self.model.in_flight_high += steps;
        if self.model.round_starts {
            self.raise_slope(window);
        }
    }

    /// Startup ends with a rate that has ceased to grow, or with much loss in a round (5.3.1.3).
    fn look_at_startup(&mut self, ack: &Ack, window: &Window) {
        self.startup_losses += u64::from(ack.lost > 0);
        self.startup_lost += ack.lost as f64;
        self.startup_delivered += ack.delivered as f64;
        if self.model.round_starts {
            let part = self.startup_lost / (self.startup_lost + self.startup_delivered).max(1.0);
            let is_recovering = matches!(ack.phase, Phase::Recovering { .. });
            if is_recovering && part > LOSS_THRESHOLD && self.startup_losses >= STARTUP_LOSSES {
                self.model.pipe_is_full = true;
                let product = self.in_flight(self.model.max_rate(), 1.0, window);
                self.model.in_flight_high = product.max(ack.in_flight as f64);
            }
            (self.startup_losses, self.startup_lost, self.startup_delivered) = (0, 0.0, 0.0);
        }
        if self.model.pipe_is_full {
            self.mode = Mode::Drain;
        }
    }

    fn look_at_round_trip(&mut self, ack: &Ack, window: &mut Window) {
        self.model.update_min_rtt(ack);
        if self.mode != Mode::ProbeRtt && self.model.is_probe_due && !self.restarts {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.drained = None;
            self.feedback = Feedback::Stopping;
            self.model.start_round(ack.total_delivered);
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        let least = self.probe_rtt_window();
        match &mut self.drained {
            None if ack.in_flight as f64 <= least => {
                self.drained = Some((ack.now + PROBE_RTT_TIME, false));
                self.model.start_round(ack.total_delivered);
            }
            None => {}
            Some((until, a_round)) => {
                *a_round |= self.model.round_starts;
                if *a_round && ack.now > *until {
                    self.model.probed_rtt_at = ack.now;
                    window.cwnd = window.cwnd.max(self.prior_window);
                    self.model.reset_lower_bounds();
                    self.mode = Mode::Startup;
                    if self.model.pipe_is_full {
                        self.enter_down(ack.now, ack.total_delivered);
                        self.mode = Mode::Cruise;
                    }
                }
            }
        }
    }

    fn save_window(&mut self, window: &Window) {
        let is_kept = self.was_recovering || self.mode == Mode::ProbeRtt;
        self.prior_window = if is_kept { self.prior_window.max(window.cwnd) } else { window.cwnd };
    }
}

/// IsInflightTooHigh: more than 2 % of what was in flight is lost.
fn is_too_much(lost: f64, in_flight: f64) -> bool {
    lost > LOSS_THRESHOLD * in_flight
}

impl CongestionControl for Bbr3 {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.model.round_starts = false;
        if let Some(sample) = &ack.rate {
            let probes = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
            self.model.update(ack, sample, window.cwnd, probes);
            if self.model.round_starts {
                self.rounds_since_probe += 1.0;
            }
            if self.mode == Mode::Startup {
                self.look_at_startup(ack, window);
            }
            let pipe = self.in_flight(self.model.max_rate(), 1.0, window);
            if self.mode == Mode::Drain && ack.in_flight as f64 <= pipe {
                self.enter_down(ack.now, ack.total_delivered);
            }
            if self.model.pipe_is_full {
                self.update_cycle(ack, sample, window);
            }
        }
        self.look_at_round_trip(ack, window);
        if let Some(sample) = &ack.rate {
            self.restarts = false;
            self.model.advance(sample);
        }
        self.set_rate(window);
        if ack.delivered > 0 {
            self.set_window(ack, window);
        }
    }

    fn congested(&mut self, window: &mut Window, _trouble: Trouble, _now: Nanos) {
        self.save_window(window);
    }

    fn timed_out(&mut self, window: &mut Window, _is_reduced: bool, _now: Nanos) {
        self.save_window(window);
        self.was_recovering = true;
    }

    fn lost(&mut self, window: &mut Window, lost: &Lost) {
        self.model.note_loss(lost.total_delivered);
        if !self.probe_samples {
            return;
        }
        let (in_flight, count) = (lost.snapshot.in_flight as f64, (lost.total_lost - lost.snapshot.lost) as f64);
        if !is_too_much(count, in_flight) {
            return;
        }
        // BBRInflightAtLoss: what was in flight when the loss passed the threshold.
        let prefix = (LOSS_THRESHOLD * (in_flight - 1.0) - (count - 1.0)) / (1.0 - LOSS_THRESHOLD);
        let at_loss = in_flight - 1.0 + prefix.max(0.0);
        self.probe_samples = false;
        if !lost.snapshot.is_app_limited {
            let target = self.in_flight(self.model.rate(), 1.0, window).min(window.cwnd);
            self.model.in_flight_high = at_loss.max(BETA * target);
        }
        if self.mode == Mode::Up {
            self.enter_down(lost.now, lost.total_delivered);
        }
    }

    fn restarted(&mut self, window: &mut Window, _now: Nanos, is_app_limited: bool) {
        if is_app_limited {
            self.restarts = true;
            if self.is_probing_bandwidth() {
                window.pacing_rate = Some(self.model.rate() * PACING_MARGIN);
            }
        }
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}
