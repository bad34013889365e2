//! The parameters of CoDel, FQ-CoDel, PIE and DualPI2, with their RFCs' defaults.

use super::{check, ConfigError, Limit};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Packets, the limit that RFC 8290, section 5.2.1, gives FQ-CoDel. RFC 8289, 8033 and 9332 set none for their queues,
/// which an AQM keeps far below it.
pub const DEFAULT_AQM_LIMIT: Limit = Limit::Packets(10_240);
/// Below it, PI controllers would have to be looked after more often than packets (ours).
const LEAST_UPDATE_NS: u64 = 100_000;
/// No interval or target is longer (ours): so times fit 64 bits by far.
const MOST_NS: u64 = 1_000 * S;
/// Bytes of the least Ethernet frame: a smaller quantum takes many rounds for a packet.
const LEAST_QUANTUM: u32 = 64;
/// As many queues as Linux' fq_codel takes.
const MOST_FLOWS: u32 = 65_536;
const LEAST_ALPHA: f64 = 1e-6;

/// CoDel (RFC 8289).
#[derive(Clone, Debug, PartialEq)]
pub struct CodelConfig {
    pub limit: Limit,
    /// The standing delay that is tolerated.
    pub target_ns: u64,
    /// How long it must have lasted before packets are dropped: about the longest round trip time.
    pub interval_ns: u64,
    /// Mark packets that can be marked instead of dropping them.
    pub ecn: bool,
}

impl CodelConfig {
    /// TARGET and INTERVAL as in section 4.3 and 4.2; RFC 7567, section 4.2.1, asks for ECN.
    pub fn new(limit: Limit) -> Self {
        Self { limit, target_ns: 5 * MS, interval_ns: 100 * MS, ecn: true }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        time(self.target_ns, "target")?;
        time(self.interval_ns, "interval")
    }
}

/// FQ-CoDel (RFC 8290): CoDel for each of many queues, served by deficit round robin with new flows first.
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodelConfig {
    pub codel: CodelConfig,
    /// Queues that flows are hashed to.
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    pub quantum: u32,
}

impl FqCodelConfig {
    /// Section 5.2: 1,024 queues, a quantum of one Ethernet frame.
    pub fn new(limit: Limit) -> Self {
        Self { codel: CodelConfig::new(limit), flows: 1024, quantum: 1514 }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        self.codel.validate()?;
        check((1..=MOST_FLOWS).contains(&self.flows), "flows", "must lie in 1 to 65536")?;
        check(self.quantum >= LEAST_QUANTUM, "quantum", "must be at least 64 bytes")
    }
}

/// A proportional integral controller of the queue's delay: the probability changes by `alpha` times the delay above the
/// target and `beta` times what the delay has grown by, once each `update_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiConfig {
    pub target_ns: u64,
    pub update_ns: u64,
    /// Per second of delay.
    pub alpha: f64,
    pub beta: f64,
}

impl PiConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        time(self.target_ns, "target")?;
        time(self.update_ns, "update")?;
        check(self.update_ns >= LEAST_UPDATE_NS, "update", "must be at least 100 us")?;
        check((LEAST_ALPHA..=1e6).contains(&self.alpha), "alpha", "must lie in 1e-6 to 1e6")?;
        check((0.0..=1e6).contains(&self.beta), "beta", "must lie in 0 to 1e6")
    }
}

/// PIE (RFC 8033).
#[derive(Clone, Debug, PartialEq)]
pub struct PieConfig {
    pub limit: Limit,
    pub pi: PiConfig,
    /// A burst of this length passes after the queue was short.
    pub max_burst_ns: u64,
    /// Mark packets that can be marked, instead of dropping them, while the probability is at most 0.1.
    pub ecn: bool,
}

impl PieConfig {
    /// Section 4: QDELAY_REF, T_UPDATE, alpha, beta and MAX_BURST.
    pub fn new(limit: Limit) -> Self {
        let pi = PiConfig { target_ns: 15 * MS, update_ns: 15 * MS, alpha: 0.125, beta: 1.25 };
        Self { limit, pi, max_burst_ns: 150 * MS, ecn: true }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        self.pi.validate()?;
        check(self.max_burst_ns <= MOST_NS, "max_burst", "must be at most 1000 s")
    }
}

/// DualPI2 (RFC 9332, appendix A): a queue for L4S and one for all else, with coupled probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Of both queues together.
    pub limit: Limit,
    /// Of the classic queue.
    pub pi: PiConfig,
    /// k: the L queue is marked with k times the base probability, the classic one with its square.
    pub coupling: f64,
    /// The delay in the L queue from which on its packets are marked whatever the coupling says, first with probability
    /// 0, from `ramp_ns` later on all of them.
    pub step_ns: u64,
    pub ramp_ns: u64,
}

impl DualPi2Config {
    /// Appendix A.1: k, a target of 15 ms, minTh and range. An update each 16 ms, alpha and beta are Linux's, for RTT_max =
    /// 100 ms (line 14 of the appendix's pseudo-code would make beta 3.0).
    pub fn new(limit: Limit) -> Self {
        let pi = PiConfig { target_ns: 15 * MS, update_ns: 16 * MS, alpha: 0.16, beta: 3.2 };
        Self { limit, pi, coupling: 2.0, step_ns: 800_000, ramp_ns: 400_000 }
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        self.pi.validate()?;
        check((1.0..=100.0).contains(&self.coupling), "coupling", "must lie in 1 to 100")?;
        time(self.step_ns, "step")?;
        check(self.ramp_ns <= MOST_NS, "ramp", "must be at most 1000 s")
    }
}

fn time(ns: u64, parameter: &'static str) -> Result<(), ConfigError> {
    check((1..=MOST_NS).contains(&ns), parameter, "must be above zero and at most 1000 s")
}
