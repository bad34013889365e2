//! TCP as it is now: what Linux's senders and receivers do, from the RFCs.
//!
//! ```text
//!   Sender (sender.rs)      timers, acknowledgments, what leaves     Receiver (receiver.rs)  delayed acknowledgments
//!     Transfer                packets and their sequence numbers       Ranges                  what lies above a hole
//!     Scoreboard              where each packet is                     EcnReceiver             echoes and counts
//!     Rack, TailProbe         which are lost (RFC 8985)
//!     Prr, Window, Usage      how many may be out (RFC 6937, 5681, 7661)
//!     Pacer, RateSampler      how fast
//!     EcnSender               marks (RFC 3168, AccECN)
//!     control/                what the window does: Reno, CUBIC, BBR, BBR 3, DCTCP, Prague
//! ```
//!
//! Segments carry timestamps (RFC 7323), so that a full one has 1,448 octets of payload in a frame of 1,514. Without a
//! receiver's window, retransmissions are not held back by anything but the congestion window.

mod control;
mod ecn;
mod pacing;
mod probe;
mod prr;
mod rack;
mod ranges;
mod rate;
mod receiver;
mod scoreboard;
mod sender;
mod transfer;
mod window;

pub use control::Name as CongestionControlName;
pub use ecn::Ecn;
pub use receiver::{Receiver, ReceiverConfig};
pub use sender::{Counters, Sender, SenderConfig};
