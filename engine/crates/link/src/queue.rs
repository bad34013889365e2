//! The queue in front of a transmitter: DropTail or RED, in packets or bytes.

use std::collections::VecDeque;

use crate::config::{Limit, QueueConfig};
use crate::red::{Red, Verdict};
use crate::stats::Reason;

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    pub item: T,
    pub len: u32,
    pub enq_time_ns: u64,
    pub enq_depth: u32,
    pub marked: bool,
}

/// What the transmitter does while a packet arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Packets at the head whose departure is due before this arrival, though not yet carried out.
    pub due_packets: u64,
    pub due_bytes: u64,
    /// How long the transmitter has been idle.
    pub idle_ns: u64,
    pub rate_bps: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    limit: Limit,
    /// Boxed: most links have none, and a simulation has tens of thousands of links.
    red: Option<Box<Red>>,
    seed: u64,
}

impl<T> Queue<T> {
    pub fn new(config: &QueueConfig, seed: u64) -> Self {
        let mut queue = Self { waiting: VecDeque::new(), bytes: 0, limit: config.limit(), red: None, seed };
        queue.set_config(config);
        queue
    }

    /// Changes the discipline. Packets that wait stay, even beyond a smaller limit; RED's average goes on.
    pub fn set_config(&mut self, config: &QueueConfig) {
        self.limit = config.limit();
        match (config, &mut self.red) {
            (QueueConfig::DropTail(_), red) => *red = None,
            (QueueConfig::Red(config), Some(red)) => red.set_config(config.clone()),
            (QueueConfig::Red(config), red) => *red = Some(Box::new(Red::new(config.clone(), self.seed))),
        }
    }

    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn head(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
    }

    pub fn red_average(&self) -> Option<f64> {
        self.red.as_ref().map(|red| red.average())
    }

    /// Lets a packet in, or says why not. Tells whether it was marked.
    pub fn admit(&mut self, len: u32, ecn_capable: bool, around: Surroundings) -> Result<bool, Reason> {
        let packets = self.packets().saturating_sub(around.due_packets);
        let bytes = self.bytes.saturating_sub(around.due_bytes);
        let (queued, full) = match self.limit {
            Limit::Packets(limit) => (packets, packets >= u64::from(limit)),
            Limit::Bytes(limit) => (bytes, bytes + charge(len) > limit),
        };
        let verdict = match &mut self.red {
            Some(red) => red.arrive(len, queued, around.idle_ns, around.rate_bps, ecn_capable),
            None => Verdict::Accept,
        };
        match verdict {
            Verdict::Forced => Err(Reason::RedForced),
            Verdict::Early => Err(Reason::RedEarly),
            _ if full => Err(Reason::QueueFull),
            verdict => Ok(verdict == Verdict::Mark),
        }
    }

    /// Whether a packet that finds nobody before it is let in for certain, and leaves no trace in the discipline.
    pub fn is_open_for(&self, len: u32) -> bool {
        let fits = match self.limit {
            Limit::Packets(limit) => limit > 0,
            Limit::Bytes(limit) => charge(len) <= limit,
        };
        self.waiting.is_empty() && self.red.is_none() && fits
    }

    pub fn push(&mut self, packet: Waiting<T>) {
        self.bytes += charge(packet.len);
        self.waiting.push_back(packet);
    }

    pub fn pop(&mut self) -> Option<Waiting<T>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= charge(packet.len);
        if self.waiting.is_empty() {
            // Starts the ring over, so that a short queue stays within few cache lines.
            self.waiting.clear();
        }
        Some(packet)
    }
}

/// What a packet counts for in a byte queue. Even an empty one counts, so that a limit in bytes bounds packets too.
pub(crate) fn charge(len: u32) -> u64 {
    u64::from(len.max(1))
}
