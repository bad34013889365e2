//! What a sender asks of its way to react to loss.

use super::flow::{Ack, Flow};

/// One way to find losses, repair them and set the window. It changes the [`Flow`]; the sender sends.
pub(super) trait Recovery {
    /// New data was acknowledged; `flow.board` knows already. Returns whether the retransmission timer starts anew.
    fn acknowledged(&mut self, flow: &mut Flow, ack: &Ack) -> bool;
    /// An acknowledgment repeated the last one; `flow.dupacks` counts it.
    fn duplicate(&mut self, flow: &mut Flow, ack: &Ack);
    /// The retransmission timer expired.
    fn timed_out(&mut self, flow: &mut Flow);
    /// The packet to send next, if the window has room.
    fn next(&mut self, flow: &mut Flow) -> Option<u64>;
    fn is_recovering(&self) -> bool;
}
