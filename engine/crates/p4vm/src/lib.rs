//! Runs P4_16 programs for v1model: loads p4c's BMv2 JSON and moves packets through it.
//!
//! A packet's way has two halves, because a queue lies between them: [`Switch::ingress`] (parser, ingress control,
//! replication engine) yields copies bound for egress ports; [`Switch::egress`] (egress control, deparser) turns one
//! dequeued copy into bytes on a port. There is no clock, no I/O and no thread in here: the caller says what time it is.

#![forbid(unsafe_code)]

mod api;
mod error;
mod output;
mod switch;

pub use api::*;
pub use error::{ControlError, ErrorCode, LoadError};
pub use output::Outputs;
pub use switch::{PacketCopy, Program, Switch};
