//! The switch as its users see it; one binary, so that the library is linked once.
//!
//! The programs in `data/` are ours. After a change: `p4c-bm2-ss --arch v1model -o /tmp/NAME.json NAME.p4` in that folder,
//! and `python3 -m json.tool --compact /tmp/NAME.json NAME.json`.
//! `tests/native` runs the same tests on native code.

use p4vm::{Backend, Options};

mod allocation;
mod commands;
mod matching;
mod robustness;
mod script;
mod sharing;
mod stf;

fn options() -> Options {
    Options { backend: Backend::Interpreter, ..Options::default() }
}
