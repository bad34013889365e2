//! Our own scripts on our own programs (see `data/`).

use crate::script;

fn check(json: &str, script: &str) {
    if let Err(message) = script::run(json, script) {
        panic!("{message}");
    }
}

#[test]
fn parsing() {
    check(include_str!("../data/parsing.json"), include_str!("../data/parsing.stf"));
}

#[test]
fn checksums() {
    check(include_str!("../data/checksums.json"), include_str!("../data/checksums.stf"));
}
