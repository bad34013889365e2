//! IGMP messages and Canopy datagrams of any bytes behind sound Ethernet and IPv4 headers and checksums, through our
//! program and through the simulator's own reading of frames.

#![no_main]

use std::sync::{Arc, LazyLock};

use canopy_fuzz::{canopy_frame, igmp_frame, Steps, World};
use libfuzzer_sys::fuzz_target;
use p4vm::Program;
use sim::frame;

static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(|| {
    Program::from_json(include_str!("../../../p4src/canopy.json")).expect("our program can be loaded")
});

const MAX_STEPS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let mut world = World::new(&PROGRAM);
    for (pause_us, word, body) in Steps(data).take(MAX_STEPS) {
        // The port's three bits, then what it is, then where to.
        let port = (word & 7) + 1;
        let frame = if word & 8 == 0 { igmp_frame(port, body) } else { canopy_frame(port, (word >> 4) as u8, body) };
        world.send(pause_us, port, &frame);
        let _ = frame::decode(&frame);
    }
    world.compare();
});
