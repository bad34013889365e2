//! The tests of `tests/all` on native code, and that it does what the interpreter does.

use p4vm::{Backend, Options};

mod agreement;
#[path = "../all/allocation.rs"]
mod allocation;
#[path = "../all/commands.rs"]
mod commands;
#[path = "../all/matching.rs"]
mod matching;
#[path = "../all/robustness.rs"]
mod robustness;
#[path = "../all/script.rs"]
mod script;
#[path = "../all/sharing.rs"]
mod sharing;
#[path = "../all/stf.rs"]
mod stf;

fn options() -> Options {
    Options { backend: Backend::Native, ..Options::default() }
}
