//! Native code does what the interpreter does: random packets, entries and damage to programs.
//!
//! `P4VM_ROUNDS=100 cargo test` tries a hundred times as much.

use std::sync::Arc;

use p4vm::{Backend, Options, Outputs, Program, Switch};
use serde_json::Value;

use crate::robustness::{configure, damage, options, packet, rounds, Random, PROGRAMS};

/// Two switches with the same entries get the same packets. Returns whether there was native code.
fn agree(program: &Arc<Program>, random: &mut Random, packets: u64) -> bool {
    let start = random.clone();
    let [mut native, mut interpreter] = [Backend::Native, Backend::Interpreter].map(|backend| {
        *random = start.clone();
        let options = Options { backend, max_log: 10_000, max_passes: 5, ..options() };
        let mut switch = Switch::new(Arc::clone(program), options);
        configure(&mut switch, random);
        switch
    });
    for number in 0..packets {
        let port = if random.below(8) == 0 { 510 } else { random.below(16) as u16 };
        let packet = packet(random);
        let [one, other] = [&mut native, &mut interpreter].map(|switch| {
            let mut out = Outputs::new();
            switch.process(number * 1_000_000, port, &packet, &mut out);
            (out, switch.take_events(usize::MAX))
        });
        let same = one.0.iter().eq(other.0.iter()) && one.1 == other.1;
        assert!(same, "packet {number} to port {port}: {packet:02x?}: {one:?}, interpreted {other:?}");
    }
    assert_eq!(native.stats(), interpreter.stats());
    assert_eq!(native.take_log(), interpreter.take_log());
    assert_eq!(native.differing_array(&interpreter), None);
    for name in native.tables() {
        assert_eq!(native.table_entries(&name), interpreter.table_entries(&name), "table {name}");
    }
    native.backend().0 == Backend::Native
}

#[test]
fn random_packets_and_entries() {
    for (i, (name, json)) in PROGRAMS.into_iter().enumerate() {
        let program = Program::from_json(json).unwrap();
        let mut random = Random(2000 + i as u64);
        for _ in 0..8 * rounds() {
            assert!(agree(&program, &mut random, 250), "{name} is not native");
        }
    }
}

#[test]
fn damaged_programs() {
    let (mut native, mut interpreted) = (0, 0);
    for (i, (name, json)) in PROGRAMS.into_iter().enumerate() {
        let document: Value = serde_json::from_str(json).unwrap();
        let mut random = Random(3000 + i as u64);
        for _ in 0..rounds() * if name == "canopy" { 2 } else { 40 } {
            let mut damaged = document.clone();
            for _ in 0..=random.below(3) {
                damage(&mut damaged, &mut random);
            }
            if let Ok(program) = Program::from_json(&damaged.to_string()) {
                *(if agree(&program, &mut random, 40) { &mut native } else { &mut interpreted }) += 1;
            }
        }
    }
    println!("{native} damaged programs in native code, {interpreted} for which there is none");
    assert!(native > 20, "{native} native, {interpreted} interpreted");
}
