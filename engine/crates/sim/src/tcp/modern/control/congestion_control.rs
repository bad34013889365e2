//! What a sender asks of a congestion control.

use std::fmt::Debug;

use super::super::window::{Ack, Window};
use crate::tcp::modern::scoreboard::Snapshot;
use crate::time::Nanos;

/// Why the window must become smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Loss,
    /// Packets came marked.
    Marks,
}

/// A packet that is deemed lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub now: Nanos,
    /// The connection's delivery when it was sent.
    pub snapshot: Snapshot,
    /// All packets delivered, and deemed lost, this one included.
    pub total_delivered: u64,
    pub total_lost: u64,
}

pub trait CongestionControl: Debug + Send {
    /// Every acknowledgment, when losses have been looked for and the phase is set.
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack);

    /// A congestion event begins, at most one a round trip: sets the threshold. The sender reduces the window to it.
    fn congested(&mut self, window: &mut Window, trouble: Trouble, now: Nanos);

    /// The retransmission timer expired. Sets the threshold, unless it `is_reduced` for this window of packets already.
    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos);

    /// A packet is deemed lost.
    fn lost(&mut self, _window: &mut Window, _lost: &Lost) {}

    /// A packet leaves when none was in flight.
    fn restarted(&mut self, _window: &mut Window, _now: Nanos, _is_app_limited: bool) {}

    /// Whether it sets window and rate itself at each acknowledgment, also while losses are repaired.
    fn is_model_based(&self) -> bool {
        false
    }

    /// Whether it now wants the rate to be taken for the application's: it sends less than it could, to measure.
    fn holds_back(&self) -> bool {
        false
    }
}
