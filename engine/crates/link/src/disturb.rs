//! What a path does to packets that it does not lose: it delays some, which others then overtake, and delivers some twice.

use crate::config::{LinkConfig, Reorder};
use crate::random::Stream;

#[derive(Clone, Debug)]
pub(crate) struct Disturbance {
    reorder: Option<Reorder>,
    duplicate: f64,
    late: Stream,
    twice: Stream,
}

impl Disturbance {
    /// None when packets are neither delayed nor doubled.
    pub fn new(config: &LinkConfig, seed: u64) -> Option<Self> {
        (config.reorder.is_some() || config.duplicate > 0.0).then(|| Self {
            reorder: config.reorder,
            duplicate: config.duplicate,
            late: Stream::new(seed, "reorder"),
            twice: Stream::new(seed, "duplicate"),
        })
    }

    /// Changes the probabilities; the streams go on.
    pub fn set_config(&mut self, config: &LinkConfig) {
        self.reorder = config.reorder;
        self.duplicate = config.duplicate;
    }

    /// By how much the next packet comes later than it would.
    pub fn extra_delay_ns(&mut self) -> Option<u64> {
        let reorder = self.reorder?;
        self.late.chance(reorder.probability).then_some(reorder.extra_delay_ns)
    }

    /// Whether the next packet comes twice.
    pub fn doubles(&mut self) -> bool {
        self.duplicate > 0.0 && self.twice.chance(self.duplicate)
    }
}
