//! Frames of any bytes through our program, one after the other in one switch.

#![no_main]

use std::sync::{Arc, LazyLock};

use canopy_fuzz::{Steps, World, PORTS};
use libfuzzer_sys::fuzz_target;
use p4vm::Program;
use sim::bench::canopy::CPU_PORT;

static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(|| {
    Program::from_json(include_str!("../../../p4src/canopy.json")).expect("our program can be loaded")
});

/// Frames of an input that are sent.
const MAX_STEPS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let mut world = World::new(&PROGRAM);
    for (pause_us, port, frame) in Steps(data).take(MAX_STEPS) {
        // Odd numbers beyond 16 are the controller; the others count ports from 1 on, again and again.
        let port = if port > 16 && port & 1 == 1 { CPU_PORT } else { (port + 7) % PORTS + 1 };
        world.send(pause_us, port, frame);
    }
    world.compare();
});
