//! A network in virtual time: discrete events, one thread, everything random from one seed.
//!
//! ```text
//!   Network (network/)      builds, runs, changes, reads
//!     Agenda (event.rs)     what happens next; the order of events at one instant
//!     Channel (channel.rs)  one direction of a link, around `link::Link`
//!     Router (router.rs) | P4Node (p4.rs), around `p4vm::Switch` | Host (host.rs)
//!                                                                   App (app.rs): apps/, or another language's
//! ```
//!
//! Packets are structured (packet.rs) and share their payload between copies; frames of octets (frame.rs) are built
//! where a P4 switch parses them. The same seed gives the same run, to the last octet of its time series, on any
//! machine: times are integers, nothing iterates over a hash table, and no function whose result differs between
//! platforms is used.

#![forbid(unsafe_code)]

pub mod app;
pub mod apps;
pub mod bench;
mod channel;
pub mod ecn;
mod event;
pub mod frame;
mod host;
mod id;
pub mod igmp;
mod load;
pub mod network;
mod p4;
pub mod packet;
mod processor;
pub mod random;
mod router;
mod series;
pub mod tcp;
pub mod time;

pub use host::{HostCounts, HostDrops};
pub use id::{AppId, LinkId, NodeId, Way};
pub use link;
pub use network::{BuildError, Change, Network, RunError};
pub use p4::{LocalSwitch, P4Counts, SwitchHandle};
pub use p4vm;
pub use processor::ProcessingTime;
pub use router::RouterDrops;
