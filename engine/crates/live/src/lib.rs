//! The live switch: a p4vm between AF_PACKET ports, each with its emulated link.
//!
//! [`LiveSwitch`] owns the ports and the data path's thread (`worker`). The thread takes frames from the ports' devices
//! (`device`, and `sys` with the system calls), finishes what their senders left to a network card (`offload`), and hands
//! them to the `fabric`, which knows neither sockets nor clock: it drives p4vm's ingress and egress and the links
//! between. What comes out waits at its port's `outlet`, from where the thread or its helpers send it (`sending`), datagrams that
//! leave at one moment as one frame (`merge`).

#![deny(unsafe_code)]

mod capture;
mod core;
mod device;
mod error;
mod events;
mod fabric;
mod load;
mod merge;
mod offload;
mod outlet;
mod pool;
mod port;
mod sending;
mod shared;
mod switch;
mod sys;
mod worker;

pub use capture::{Capture, Direction, PortCapture};
pub use error::LiveError;
pub use events::{EventQueue, SwitchEvent};
pub use load::flood;
pub use port::LinkSettings;
pub use shared::SharedSwitch;
pub use switch::LiveSwitch;
pub use sys::Sink;
