//! Programs that come with the simulator: TCP transfers and cross traffic.

mod tcp;
mod udp;
mod web;

pub use tcp::{TcpSink, TcpSource};
pub use udp::{Gaps, Sizes, UdpSink, UdpSource};
pub use web::{WebConfig, WebSource};
