//! TCP in virtual time: a sender and a receiver without I/O or clock. Segments and the time go in, segments come out.
//!
//! There are two families (family.rs): TCP as it is now, in `modern`, and the classic one, which the papers had:
//!
//! ```text
//!   Sender = transfer, timers, round trip times (sender.rs)      Receiver = reassembly, acknowledgments (receiver.rs)
//!          + window and packets outstanding (flow.rs)
//!          + one way to react to loss (recovery.rs): reno.rs, newreno.rs, sack.rs, vegas.rs
//! ```
//!
//! The classic model is ns-2's, in which the papers' results were found, with what the RFCs have settled since: windows are
//! counted in packets of one size, a receiver acknowledges each packet unless told to delay, nothing but the congestion
//! window limits a sender unless told so, and the least time-out is a parameter. Connections open with a SYN; a transfer
//! ends when its last octet is acknowledged.

mod family;
mod flow;
pub mod modern;
mod newreno;
mod reassembly;
mod receiver;
mod recovery;
mod reno;
mod rto;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod vegas;

pub use family::{AnyReceiver, AnyReceiverConfig, AnySender, AnySenderConfig, Outgoing};
pub use flow::{Counters, Flow, Growth};
pub use receiver::{Receiver, ReceiverConfig, DELAYED_ACK};
pub use segment::{EcnFlags, SackBlocks, Segment, Timestamps, MAX_SACK_BLOCKS};
pub use sender::{Sender, SenderConfig};

/// Duplicate acknowledgments, or packets acknowledged above a hole, that make a loss (RFC 5681, RFC 6675: DupThresh).
pub const DUP_THRESHOLD: u32 = 3;

/// How a classic sender finds and repairs losses, and what it does to its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fast retransmit and fast recovery that ends with the first new acknowledgment (RFC 2581).
    Reno,
    /// Recovery lasts until all that was outstanding has arrived; partial acknowledgments repair (RFC 6582).
    NewReno,
    /// Selective acknowledgments and the pipe algorithm (RFC 6675).
    Sack,
    /// Delay keeps the window (Brakmo and Peterson, 1995).
    Vegas,
}
