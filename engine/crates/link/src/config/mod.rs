//! What a link is: rate, delay, queue and loss.

mod aqm;

use std::error::Error;
use std::fmt;

pub use aqm::{CodelConfig, DualPi2Config, FqCodelConfig, PiConfig, PieConfig, DEFAULT_AQM_LIMIT};

/// ns-2's default queue limit is 50 packets, BMv2's 64; the embedded switch is measured beside BMv2.
pub const DEFAULT_LIMIT_PACKETS: u32 = 64;

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Bit/s; `None` transmits at once.
    pub rate_bps: Option<u64>,
    /// Propagation delay in nanoseconds.
    pub delay_ns: u64,
    /// Bytes that each frame costs on the wire beyond its length (Ethernet's preamble, FCS and gap are 24).
    pub overhead_bytes: u32,
    pub queue: QueueConfig,
    pub loss: LossConfig,
    pub reorder: Option<Reorder>,
    /// Probability that a packet is delivered twice.
    pub duplicate: f64,
    /// Longer frames are dropped.
    pub max_frame_bytes: u32,
    /// Bytes under way between transmitter and receiver; more are dropped. Bounds memory where rate and delay do not.
    pub in_flight_limit_bytes: u64,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate_bps: None,
            delay_ns: 0,
            overhead_bytes: 0,
            queue: QueueConfig::DropTail(Limit::Packets(DEFAULT_LIMIT_PACKETS)),
            loss: LossConfig::None,
            reorder: None,
            duplicate: 0.0,
            max_frame_bytes: u32::MAX,
            in_flight_limit_bytes: u64::MAX,
        }
    }
}

/// How much a queue holds, and the unit that it counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Packets(u32),
    Bytes(u64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    DropTail(Limit),
    Red(RedConfig),
    Codel(CodelConfig),
    FqCodel(FqCodelConfig),
    Pie(PieConfig),
    DualPi2(DualPi2Config),
}

impl QueueConfig {
    pub fn limit(&self) -> Limit {
        match self {
            QueueConfig::DropTail(limit) => *limit,
            QueueConfig::Red(red) => red.limit,
            QueueConfig::Codel(codel) => codel.limit,
            QueueConfig::FqCodel(fq) => fq.codel.limit,
            QueueConfig::Pie(pie) => pie.limit,
            QueueConfig::DualPi2(dual) => dual.limit,
        }
    }

    fn validate(&self) -> Result<(), ConfigError> {
        match self.limit() {
            Limit::Packets(n) => check(n > 0, "limit", "must hold at least one packet")?,
            Limit::Bytes(n) => check(n > 0, "limit", "must hold at least one byte")?,
        }
        match self {
            QueueConfig::DropTail(_) => Ok(()),
            QueueConfig::Red(red) => red.validate(),
            QueueConfig::Codel(codel) => codel.validate(),
            QueueConfig::FqCodel(fq) => fq.validate(),
            QueueConfig::Pie(pie) => pie.validate(),
            QueueConfig::DualPi2(dual) => dual.validate(),
        }
    }
}

/// RED as ns-2 has it. Thresholds are in the unit of `limit`.
#[derive(Clone, Debug, PartialEq)]
pub struct RedConfig {
    pub limit: Limit,
    pub min_threshold: f64,
    pub max_threshold: f64,
    /// Weight of the newest sample in the average.
    pub weight: f64,
    /// Drop probability at `max_threshold`.
    pub max_p: f64,
    /// Between one and two times `max_threshold` the probability rises from `max_p` to 1; without, it jumps to 1.
    pub gentle: bool,
    /// Space drops evenly: none before 1/p packets have passed since the last one.
    pub wait: bool,
    /// Mark ECN-capable packets instead of dropping them early, while the average is below `max_threshold`.
    pub ecn: bool,
    /// Bytes of a typical packet: the unit of idle time, and of drop probability in byte mode.
    pub mean_packet_bytes: u32,
}

impl RedConfig {
    /// Thresholds with the other parameters at ns-2's defaults (tcl/lib/ns-default.tcl, Queue/RED).
    pub fn new(limit: Limit, min_threshold: f64, max_threshold: f64) -> Self {
        Self {
            limit,
            min_threshold,
            max_threshold,
            weight: 0.002,
            max_p: 0.1,
            gentle: true,
            wait: true,
            ecn: false,
            mean_packet_bytes: 500,
        }
    }
}

/// Some packets take longer than the link's delay, and are overtaken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reorder {
    /// Of each packet, alone.
    pub probability: f64,
    pub extra_delay_ns: u64,
}

/// Random loss on the wire, after the transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossConfig {
    None,
    /// Each packet alone, with this probability.
    Bernoulli(f64),
    GilbertElliott(GilbertElliott),
}

/// Two states with a loss probability each; the state may change before each packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    pub good_to_bad: f64,
    pub bad_to_good: f64,
    pub loss_good: f64,
    pub loss_bad: f64,
}

/// A parameter that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The parameter's name, as in this module.
    pub parameter: &'static str,
    pub problem: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.problem)
    }
}

impl Error for ConfigError {}

impl LinkConfig {
    /// Checks every parameter's range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check(self.rate_bps != Some(0), "rate_bps", "must be positive")?;
        self.queue.validate()?;
        if let Some(reorder) = self.reorder {
            probability(reorder.probability, "reorder")?;
        }
        probability(self.duplicate, "duplicate")?;
        check(self.max_frame_bytes > 0, "mtu", "must be positive")?;
        self.loss.validate()
    }
}

impl RedConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check(self.min_threshold.is_finite() && self.min_threshold > 0.0, "min_threshold", "must be positive")?;
        check(
            self.max_threshold.is_finite() && self.max_threshold > self.min_threshold,
            "max_threshold",
            "must be above min_threshold",
        )?;
        check(self.weight > 0.0 && self.weight <= 1.0, "weight", "must lie in (0, 1]")?;
        check(self.max_p > 0.0 && self.max_p <= 1.0, "max_p", "must lie in (0, 1]")?;
        check(self.mean_packet_bytes > 0, "mean_packet_bytes", "must be positive")
    }
}

impl LossConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        match self {
            LossConfig::None => Ok(()),
            LossConfig::Bernoulli(p) => probability(*p, "loss"),
            LossConfig::GilbertElliott(model) => {
                probability(model.good_to_bad, "good_to_bad")?;
                probability(model.bad_to_good, "bad_to_good")?;
                probability(model.loss_good, "loss_good")?;
                probability(model.loss_bad, "loss_bad")
            }
        }
    }
}

fn probability(p: f64, parameter: &'static str) -> Result<(), ConfigError> {
    check((0.0..=1.0).contains(&p), parameter, "must lie in [0, 1]")
}

fn check(holds: bool, parameter: &'static str, problem: &'static str) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError { parameter, problem })
    }
}
