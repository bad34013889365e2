//! BBR as Linux has had it since 4.9 (version 1): the rate is the greatest that was delivered, the window twice the
//! product with the least round trip time (Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016).

use link::random::Stream;

use super::super::pacing::Burst;
use super::super::rate::RateSample;
use super::super::window::{Ack, Phase, Window};
use super::congestion_control::{CongestionControl, Trouble};
use super::max_filter::MaxFilter;
use crate::time::{to_seconds, Nanos, MILLISECOND, SECOND};

/// Linux's tcp_bbr.c: 2 / ln 2, so that the rate doubles each round trip, and its inverse.
const HIGH_GAIN: f64 = 2.885;
const DRAIN_GAIN: f64 = 1.0 / HIGH_GAIN;
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The pipe is full when the rate has not grown by a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const RATE_ROUNDS: u64 = 10;
const MIN_RTT_AGE: Nanos = 10 * SECOND;
const PROBE_RTT_TIME: Nanos = 200 * MILLISECOND;
const LEAST_WINDOW: f64 = 4.0;
/// So that no queue builds from rounding alone.
const PACING_MARGIN: f64 = 0.99;
/// Acknowledgments that come in heaps are looked for over so many rounds, and counted for no longer than this.
const HEAP_ROUNDS: u64 = 10;
const MOST_HEAP: f64 = 0.1;
/// Round trip time before the first measurement.
const NOMINAL_RTT: Nanos = MILLISECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth { step: usize },
    ProbeRtt,
}

#[derive(Debug)]
pub struct Bbr {
    mode: Mode,
    stream: Stream,
    /// Packets a second.
    rate: MaxFilter,
    min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    round: u64,
    round_starts: bool,
    next_round_delivered: u64,
    full_rate: f64,
    full_rounds: u32,
    pipe_is_full: bool,
    step_began: Nanos,
    /// When PROBE_RTT's time is over, once the pipe is nearly empty; and whether a round has passed since.
    drained: Option<(Nanos, bool)>,
    /// The window before PROBE_RTT or a recovery.
    prior_window: f64,
    initial_window: f64,
    conserves: bool,
    was_recovering: bool,
    restarts: bool,
    heaps: MaxFilter,
    heap_began: Nanos,
    heap: f64,
}

impl Bbr {
    /// `stream` decides where in its cycle the sender begins to probe.
    pub fn new(window: &mut Window, stream: Stream) -> Self {
        window.pacing_rate = Some(HIGH_GAIN * window.cwnd / to_seconds(NOMINAL_RTT));
        Self {
            mode: Mode::Startup,
            stream,
            rate: MaxFilter::new(RATE_ROUNDS),
            min_rtt: None,
            min_rtt_at: 0,
            round: 0,
            round_starts: false,
            next_round_delivered: 0,
            full_rate: 0.0,
            full_rounds: 0,
            pipe_is_full: false,
            step_began: 0,
            drained: None,
            prior_window: 0.0,
            initial_window: window.cwnd,
            conserves: false,
            was_recovering: false,
            restarts: false,
            heaps: MaxFilter::new(HEAP_ROUNDS),
            heap_began: 0,
            heap: 0.0,
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBandwidth { step } => CYCLE[step],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBandwidth { .. } => WINDOW_GAIN,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Packets that a path of the rate and the least round trip time holds, `gain` times, with room for bursts.
    fn pipe(&self, gain: f64, window: &Window) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.initial_window };
        let product = self.rate.max() * to_seconds(min_rtt);
        let bursts = 3.0 * Burst::LINUX.packets(window.pacing_rate.unwrap_or(0.0));
        let even = 2.0 * ((gain * product + bursts).ceil() / 2.0).ceil();
        even + if self.mode == (Mode::ProbeBandwidth { step: 0 }) { 2.0 } else { 0.0 }
    }

    fn update_rate(&mut self, ack: &Ack, sample: &RateSample) {
        self.round_starts = sample.prior.delivered >= self.next_round_delivered;
        if self.round_starts {
            self.next_round_delivered = ack.total_delivered;
            self.round += 1;
            self.conserves = false;
        }
        if !sample.prior.is_app_limited || sample.rate() >= self.rate.max() {
            self.rate.update(self.round, sample.rate());
        }
    }

    /// Packets that came beyond the rate's in a heap: the window allows as many more.
    fn update_heaps(&mut self, ack: &Ack, window: &Window) {
        let expected = self.rate.max() * to_seconds(ack.now - self.heap_began);
        if self.heap <= expected || self.heap_began == 0 {
            (self.heap, self.heap_began) = (0.0, ack.now);
        }
        self.heap += ack.delivered as f64;
        let expected = self.rate.max() * to_seconds(ack.now - self.heap_began);
        self.heaps.update(self.round, (self.heap - expected).clamp(0.0, window.cwnd));
    }

    fn is_step_over(&self, ack: &Ack, window: &Window, step: usize) -> bool {
        let is_long = ack.now - self.step_began > self.min_rtt.unwrap_or(0);
        let in_flight = ack.prior_in_flight as f64;
        match step {
            0 => is_long && (ack.lost > 0 || in_flight >= self.pipe(CYCLE[0], window)),
            1 => is_long || in_flight <= self.pipe(1.0, window),
            _ => is_long,
        }
    }

    fn probe_bandwidth(&mut self, now: Nanos) {
        // Anywhere but in the step that drains.
        let drawn = (self.stream.uniform() * 7.0) as usize;
        self.mode = Mode::ProbeBandwidth { step: (8 - drawn) % 8 };
        self.step_began = now;
    }

    fn look_at_pipe(&mut self, ack: &Ack, sample: &RateSample, window: &mut Window) {
        if !self.pipe_is_full && self.round_starts && !sample.prior.is_app_limited {
            if self.rate.max() >= self.full_rate * FULL_GROWTH {
                (self.full_rate, self.full_rounds) = (self.rate.max(), 0);
            } else {
                self.full_rounds += 1;
                self.pipe_is_full = self.full_rounds >= FULL_ROUNDS;
            }
        }
        if self.mode == Mode::Startup && self.pipe_is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.pipe(1.0, window);
        }
        if self.mode == Mode::Drain && ack.in_flight as f64 <= self.pipe(1.0, window) {
            self.probe_bandwidth(ack.now);
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, window: &mut Window) {
        let is_old = ack.now > self.min_rtt_at + MIN_RTT_AGE;
        if let Some(rtt) = ack.rtt.filter(|&rtt| is_old || self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt)) {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if is_old && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.drained = None;
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match &mut self.drained {
            None if ack.in_flight as f64 <= LEAST_WINDOW => {
                self.drained = Some((ack.now + PROBE_RTT_TIME, false));
                self.next_round_delivered = ack.total_delivered;
            }
            None => {}
            Some((until, a_round)) => {
                *a_round |= self.round_starts;
                if *a_round && ack.now > *until {
                    self.min_rtt_at = ack.now;
                    window.cwnd = window.cwnd.max(self.prior_window);
                    self.mode = Mode::Startup;
                    if self.pipe_is_full {
                        self.probe_bandwidth(ack.now);
                    }
                }
            }
        }
    }

    fn save_window(&mut self, window: &Window) {
        let is_kept = self.was_recovering || self.mode == Mode::ProbeRtt;
        self.prior_window = if is_kept { self.prior_window.max(window.cwnd) } else { window.cwnd };
    }

    /// While losses are repaired: for a round trip only what has left is replaced. True when that settles the window.
    fn recover(&mut self, ack: &Ack, window: &mut Window) -> bool {
        window.cwnd = (window.cwnd - ack.lost as f64).max(1.0);
        let is_recovering = matches!(ack.phase, Phase::Recovering { .. } | Phase::TimedOut { .. });
        let conserved = (ack.in_flight + ack.delivered) as f64;
        if matches!(ack.phase, Phase::Recovering { .. }) && !self.was_recovering {
            self.conserves = true;
            self.next_round_delivered = ack.total_delivered;
            window.cwnd = conserved;
        } else if self.was_recovering && !is_recovering {
            window.cwnd = window.cwnd.max(self.prior_window);
            self.conserves = false;
        }
        self.was_recovering = is_recovering;
        if self.conserves {
            window.cwnd = window.cwnd.max(conserved);
        }
        self.conserves
    }

    fn set_rate(&self, ack: &Ack, window: &mut Window) {
        let rate = match self.min_rtt {
            // Until there is a rate, the window over the round trip time.
            Some(min_rtt) if self.rate.max() == 0.0 => HIGH_GAIN * self.initial_window / to_seconds(min_rtt.max(1)),
            _ => self.pacing_gain() * self.rate.max() * PACING_MARGIN,
        };
        let is_first = self.rate.max() == 0.0 && ack.rtt.is_some();
        if rate > 0.0 && (self.pipe_is_full || is_first || window.pacing_rate.is_none_or(|now| rate > now)) {
            window.pacing_rate = Some(rate);
        }
    }

    fn set_window(&mut self, ack: &Ack, window: &mut Window) {
        let delivered = ack.delivered as f64;
        if delivered > 0.0 && !self.recover(ack, window) {
            let heap = if self.pipe_is_full { self.heaps.max().min(self.rate.max() * MOST_HEAP) } else { 0.0 };
            let target = self.pipe(self.window_gain(), window) + heap;
            if self.pipe_is_full {
                window.cwnd = (window.cwnd + delivered).min(target);
            } else if window.cwnd < target || (ack.total_delivered as f64) < self.initial_window {
                window.cwnd += delivered;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.round_starts = false;
        if let Some(sample) = &ack.rate {
            self.update_rate(ack, sample);
            self.update_heaps(ack, window);
            if let Mode::ProbeBandwidth { step } = self.mode {
                if self.is_step_over(ack, window, step) {
                    self.mode = Mode::ProbeBandwidth { step: (step + 1) % CYCLE.len() };
                    self.step_began = ack.now;
                }
            }
            self.look_at_pipe(ack, sample, window);
        }
        self.update_min_rtt(ack, window);
        if ack.rate.is_some() {
            self.restarts = false;
        }
        self.set_rate(ack, window);
        self.set_window(ack, window);
    }

    fn congested(&mut self, window: &mut Window, _trouble: Trouble, _now: Nanos) {
        self.save_window(window);
    }

    fn timed_out(&mut self, window: &mut Window, _is_reduced: bool, _now: Nanos) {
        self.save_window(window);
        self.was_recovering = true;
        self.full_rate = 0.0;
        self.conserves = false;
    }

    fn restarted(&mut self, window: &mut Window, now: Nanos, is_app_limited: bool) {
        if is_app_limited {
            self.restarts = true;
            (self.heap_began, self.heap) = (now, 0.0);
            if matches!(self.mode, Mode::ProbeBandwidth { .. }) {
                window.pacing_rate = Some(self.rate.max() * PACING_MARGIN);
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
