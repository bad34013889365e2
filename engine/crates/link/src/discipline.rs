//! What a queue is told of an arrival beside the packet, and how it refuses one.

use crate::stats::Reason;

/// An arrival, and what the transmitter does at that moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    pub now_ns: u64,
    /// See [`crate::Arrival`].
    pub flow: u32,
    /// Packets at the head whose departure is due before this arrival, though not yet carried out.
    pub due_packets: u64,
    pub due_bytes: u64,
    /// How long the transmitter has been idle.
    pub idle_ns: u64,
    pub rate_bps: Option<u64>,
}

/// A packet that was not let in, and why.
pub(crate) type Refusal<T> = (T, Reason);
