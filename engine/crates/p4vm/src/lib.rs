//! Runs P4_16 programs for v1model: loads p4c's BMv2 JSON and moves packets through it.
//!
//! A packet's way has two halves, because a queue lies between them: [`Switch::ingress`] (parser, ingress control,
//! replication engine) yields copies bound for egress ports; [`Switch::egress`] (egress control, deparser) turns one
//! dequeued copy into bytes on a port. There is no clock, no I/O and no thread in here: the caller says what time it is.

// Native code is entered in one module, `native::code`, which says what keeps it safe.
#![deny(unsafe_code)]
// No packet and no JSON may bring the switch down: what could panic is not written outside tests.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::unreachable,
        clippy::string_slice
    )
)]

mod action;
mod api;
mod control;
mod copy;
pub mod csum;
mod deparser;
mod document;
mod egress;
mod error;
mod events;
mod expr;
mod externs;
mod hash;
mod ingress;
mod ir;
mod json;
mod limit;
mod load;
mod machine;
mod native;
mod output;
mod parser;
mod phv;
mod pipeline;
mod pre;
mod program;
mod replicate;
mod stats;
mod switch;
mod table;
mod trace;
mod value;

pub use api::*;
pub use copy::PacketCopy;
pub use egress::Through;
pub use error::{ControlError, ErrorCode, LoadError};
pub use limit::{Bucket, Rate};
pub use output::Outputs;
pub use program::Program;
pub use switch::{Switch, Work};

/// Property tests draw the same cases each time, and leave no files behind. `P4VM_ROUNDS=100` draws that many times more.
#[cfg(test)]
pub(crate) fn seeded(cases: u32) -> proptest::test_runner::Config {
    let rounds = std::env::var("P4VM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    proptest::test_runner::Config {
        cases: cases * rounds,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0004_0001),
        ..Default::default()
    }
}
