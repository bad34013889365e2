//! What BBR's third version knows of its path: rates, round trip times, and how much may be in flight
//! (draft-ietf-ccwg-bbr, sections 5.5 and 5.6).

use super::super::rate::RateSample;
use super::super::window::Ack;
use super::max_filter::MaxFilter;
use crate::time::{to_seconds, Nanos, SECOND};

/// BBR.LossThresh: a round with more loss than this is too much.
pub const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta: what remains of a bound after a round with loss.
pub const BETA: f64 = 0.7;
/// BBR.Headroom: the part of the bound that is left to others.
const HEADROOM: f64 = 0.15;
pub const LEAST_WINDOW: f64 = 4.0;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// BBR.MaxBwFilterLen, in probing cycles; BBR.ExtraAckedFilterLen, in rounds; BBR.MinRTTFilterLen.
const RATE_CYCLES: u64 = 2;
const HEAP_ROUNDS: u64 = 10;
const MIN_RTT_AGE: Nanos = 10 * SECOND;
/// BBR.ProbeRTTInterval.
const PROBE_RTT_EVERY: Nanos = 5 * SECOND;

#[derive(Debug)]
pub struct Model {
    /// Packets a second: BBR.max_bw, over probing cycles.
    rate: MaxFilter,
    cycle: u64,
    /// What losses of this cycle allow: BBR.bw_shortterm, BBR.inflight_shortterm.
    pub rate_low: f64,
    pub in_flight_low: f64,
    /// What the path has been found to bear: BBR.inflight_longterm.
    pub in_flight_high: f64,
    latest_rate: f64,
    latest_delivered: f64,
    loss_in_round: bool,
    loss_round_starts: bool,
    loss_round_delivered: u64,
    pub round: u64,
    pub round_starts: bool,
    next_round_delivered: u64,
    full_rate: f64,
    full_rounds: u32,
    /// The rate has ceased to grow since the last look; and once, for good.
    pub is_full_now: bool,
    pub pipe_is_full: bool,
    pub min_rtt: Option<Nanos>,
    min_rtt_at: Nanos,
    /// The least since PROBE_RTT was last entered, and when.
    probed_rtt: Option<Nanos>,
    pub probed_rtt_at: Nanos,
    pub is_probe_due: bool,
    heaps: MaxFilter,
    heap_began: Nanos,
    heap: f64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            rate: MaxFilter::new(RATE_CYCLES),
            cycle: 0,
            rate_low: f64::INFINITY,
            in_flight_low: f64::INFINITY,
            in_flight_high: f64::INFINITY,
            latest_rate: 0.0,
            latest_delivered: 0.0,
            loss_in_round: false,
            loss_round_starts: false,
            loss_round_delivered: 0,
            round: 0,
            round_starts: false,
            next_round_delivered: 0,
            full_rate: 0.0,
            full_rounds: 0,
            is_full_now: false,
            pipe_is_full: false,
            min_rtt: None,
            min_rtt_at: 0,
            probed_rtt: None,
            probed_rtt_at: 0,
            is_probe_due: false,
            heaps: MaxFilter::new(HEAP_ROUNDS),
            heap_began: 0,
            heap: 0.0,
        }
    }
}

impl Model {
    pub fn max_rate(&self) -> f64 {
        self.rate.max()
    }

    /// The rate to send at, in packets a second: BBR.bw.
    pub fn rate(&self) -> f64 {
        self.rate.max().min(self.rate_low)
    }

    /// Packets that the path holds at this rate: BBR.bdp.
    pub fn product(&self, rate: f64) -> f64 {
        self.min_rtt.map_or(f64::INFINITY, |min_rtt| rate * to_seconds(min_rtt))
    }

    /// Packets that came beyond the rate's in a heap: BBR.extra_acked.
    pub fn heap(&self) -> f64 {
        self.heaps.max()
    }

    /// The bound with room left for others (BBRInflightWithHeadroom).
    pub fn with_headroom(&self) -> f64 {
        match self.in_flight_high {
            high if high.is_infinite() => high,
            high => (high - (HEADROOM * high).max(1.0)).max(LEAST_WINDOW),
        }
    }

    pub fn start_round(&mut self, total_delivered: u64) {
        self.next_round_delivered = total_delivered;
    }

    /// A sample of the rate. `is_probing`: loss is what probing looks for, and lowers no bound (5.5.10.3).
    pub fn update(&mut self, ack: &Ack, sample: &RateSample, cwnd: f64, is_probing: bool) {
        self.latest_rate = self.latest_rate.max(sample.rate());
        self.latest_delivered = self.latest_delivered.max(sample.delivered as f64);
        self.loss_round_starts = sample.prior.delivered >= self.loss_round_delivered;
        if self.loss_round_starts {
            self.loss_round_delivered = ack.total_delivered;
        }
        self.round_starts = sample.prior.delivered >= self.next_round_delivered;
        if self.round_starts {
            self.start_round(ack.total_delivered);
            self.round += 1;
        }
        if !sample.prior.is_app_limited || sample.rate() >= self.rate.max() {
            self.rate.update(self.cycle, sample.rate());
        }
        self.loss_in_round |= ack.lost > 0;
        if self.loss_round_starts {
            if self.loss_in_round && !is_probing {
                self.lower_bounds(cwnd);
            }
            self.loss_in_round = false;
        }
        self.update_heaps(ack, cwnd);
        self.look_for_full_rate(sample);
    }

    /// After everything that wants the latest signals (BBRAdvanceLatestDeliverySignals).
    pub fn advance(&mut self, sample: &RateSample) {
        if self.loss_round_starts {
            (self.latest_rate, self.latest_delivered) = (sample.rate(), sample.delivered as f64);
        }
    }

    fn lower_bounds(&mut self, cwnd: f64) {
        let rate = if self.rate_low.is_infinite() { self.rate.max() } else { self.rate_low };
        let in_flight = if self.in_flight_low.is_infinite() { cwnd } else { self.in_flight_low };
        self.rate_low = self.latest_rate.max(BETA * rate);
        self.in_flight_low = self.latest_delivered.max(BETA * in_flight);
    }

    pub fn reset_lower_bounds(&mut self) {
        (self.rate_low, self.in_flight_low) = (f64::INFINITY, f64::INFINITY);
    }

    pub fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        (self.latest_rate, self.latest_delivered) = (0.0, 0.0);
    }

    fn update_heaps(&mut self, ack: &Ack, cwnd: f64) {
        let expected = self.rate() * to_seconds(ack.now - self.heap_began);
        if self.heap <= expected || self.heap_began == 0 {
            (self.heap, self.heap_began) = (0.0, ack.now);
        }
        self.heap += ack.delivered as f64;
        let expected = self.rate() * to_seconds(ack.now - self.heap_began);
        self.heaps.update(self.round, (self.heap - expected).clamp(0.0, cwnd));
    }

    /// Has the rate grown by a quarter within three rounds (5.3.1.2)?
    fn look_for_full_rate(&mut self, sample: &RateSample) {
        if self.is_full_now || sample.prior.is_app_limited {
            return;
        }
        if sample.rate() >= self.full_rate * FULL_GROWTH {
            self.reset_full_rate(sample.rate());
        } else if self.round_starts {
            self.full_rounds += 1;
            self.is_full_now = self.full_rounds >= FULL_ROUNDS;
            self.pipe_is_full |= self.is_full_now;
        }
    }

    /// Looks anew, from this rate on.
    pub fn reset_full_rate(&mut self, rate: f64) {
        (self.full_rate, self.full_rounds, self.is_full_now) = (rate, 0, false);
    }

    /// A cycle of probing has brought its samples: the filter forgets the cycle before the last.
    pub fn end_cycle(&mut self) {
        self.cycle += 1;
        self.rate.expire(self.cycle);
    }

    /// A packet is deemed lost (BBRNoteLoss).
    pub fn note_loss(&mut self, total_delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_delivered = total_delivered;
        }
        self.loss_in_round = true;
    }

    /// Round trip times, and whether it is time to look at the least (5.3.4.3).
    pub fn update_min_rtt(&mut self, ack: &Ack) {
        self.is_probe_due = ack.now > self.probed_rtt_at + PROBE_RTT_EVERY;
        if let Some(rtt) = ack.rtt {
            if self.is_probe_due || self.probed_rtt.is_none_or(|least| rtt < least) {
                (self.probed_rtt, self.probed_rtt_at) = (Some(rtt), ack.now);
            }
        }
        let is_old = ack.now > self.min_rtt_at + MIN_RTT_AGE;
        if let Some(probed) = self.probed_rtt {
            if is_old || self.min_rtt.is_none_or(|min_rtt| probed < min_rtt) {
                (self.min_rtt, self.min_rtt_at) = (Some(probed), self.probed_rtt_at);
            }
        }
    }
}
