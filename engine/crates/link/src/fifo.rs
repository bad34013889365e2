//! Packets that wait, first in, first out.

use std::collections::VecDeque;

use crate::config::Limit;
use crate::ecn::Ecn;

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<T> {
    pub item: T,
    pub enq_time_ns: u64,
    pub len: u32,
    pub enq_depth: u32,
    pub ecn: Ecn,
    pub marked: bool,
}

impl<T> Waiting<T> {
    /// Nanoseconds in the queue by `now_ns`.
    pub fn sojourn_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.enq_time_ns)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0 }
    }
}

impl<T> Fifo<T> {
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn head(&self) -> Option<&Waiting<T>> {
        self.waiting.front()
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

/// Whether a packet of `len` bytes finds room behind so many packets and bytes.
pub(crate) fn has_room(limit: Limit, packets: u64, bytes: u64, len: u32) -> bool {
    match limit {
        Limit::Packets(limit) => packets < u64::from(limit),
        Limit::Bytes(limit) => bytes + charge(len) <= limit,
    }
}
