//! What a sender is told when it is made, and what it counts.

use super::super::control::Name;
use super::super::ecn::Ecn;
use crate::time::{Nanos, MILLISECOND};

#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    pub congestion_control: Name,
    /// Octets of payload in a packet.
    pub mss: u32,
    /// Octets of the transfer; `None` never ends.
    pub transfer: Option<u64>,
    /// Packets of the first flight.
    pub initial_window: f64,
    /// Packets that may be outstanding, whatever the congestion window says (a receiver's window).
    pub window_limit: Option<u32>,
    /// Least retransmission time-out beyond the smoothed round trip time.
    pub min_rto: Nanos,
    /// What it does with marks; `None`: what its congestion control asks for.
    pub ecn: Option<Ecn>,
    /// Packets are paced, as Linux does with the fq queueing discipline. BBR always paces.
    pub pacing: bool,
    /// For what a congestion control draws at random.
    pub seed: u64,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            congestion_control: Name::Cubic,
            mss: 1448, // 1,514 octets on a link, with the headers of TCP, IP and Ethernet and timestamps
            transfer: None,
            initial_window: 10.0, // RFC 6928
            window_limit: None,
            min_rto: 200 * MILLISECOND, // Linux's TCP_RTO_MIN
            ecn: None,
            pacing: true,
            seed: 1,
        }
    }
}

/// What happened to a sender since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets_sent: u64,
    pub retransmissions: u64,
    /// Recoveries that began without a time-out.
    pub fast_retransmits: u64,
    pub timeouts: u64,
    /// Probes of a tail.
    pub tail_probes: u64,
    /// Times that marks reduced the window.
    pub mark_responses: u64,
}
