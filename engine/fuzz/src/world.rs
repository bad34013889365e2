//! Two switches that run our program, one in native code and one interpreted, set up with the routes and groups that the
//! corpus' packets use: they have to do the same.

use std::net::Ipv4Addr;
use std::sync::Arc;

use p4vm::{Backend, Event, Outputs, Program};
use sim::bench::canopy::{route_host, route_source, switch};
use sim::{LocalSwitch, SwitchHandle};

use crate::checks::check_outputs;
use crate::states::compare_states;

/// The ports that have hosts; port 510 is the controller's.
pub const PORTS: u16 = 8;

/// tests/p4src/bench/packets.py's SWITCH_MAC, so that packets made there are taken here.
const SWITCH_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];
const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 1, 1);
const SOURCE_GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);

/// Switches in the state in which each input finds them.
pub struct World {
    native: Side,
    interpreter: Side,
    now_us: u64,
}

struct Side {
    switch: Arc<LocalSwitch>,
    outputs: Outputs,
    events: Vec<Event>,
}

impl World {
    /// Our program, configured: hosts 10.0.0.1 to 10.0.0.8, a source behind port 1 and its groups.
    pub fn new(program: &Arc<Program>) -> Self {
        let [native, interpreter] = [Backend::Native, Backend::Interpreter].map(|backend| Side::new(program, backend));
        Self { native, interpreter, now_us: 0 }
    }

    /// Sends one frame in at a port after a pause, and checks all that comes out.
    pub fn send(&mut self, pause_us: u64, port: u16, frame: &[u8]) {
        self.now_us += pause_us;
        for side in [&mut self.native, &mut self.interpreter] {
            side.send(self.now_us * 1000, port, frame);
        }
        check_outputs(port, frame, &self.native.outputs);
        assert!(self.native.outputs.iter().eq(self.interpreter.outputs.iter()), "the back ends send different packets");
        assert_eq!(self.native.events, self.interpreter.events);
    }

    /// Compares all that the switches have counted and remembered.
    pub fn compare(&self) {
        self.native.switch.with(&mut |native| {
            self.interpreter.switch.with(&mut |interpreter| compare_states(native, interpreter));
        });
    }
}

impl Side {
    fn new(program: &Arc<Program>, backend: Backend) -> Self {
        let local = switch(program, 0, SWITCH_MAC, PORTS, backend).expect("the controller's entries are accepted");
        local.with(&mut |switch| assert_eq!(switch.backend(), (backend, None)));
        for port in 1..=PORTS {
            let host = Ipv4Addr::new(10, 0, 0, port as u8);
            route_host(&local, host, port, [2, 0, 0, 0, 1, port as u8]).expect("a host's route is accepted");
        }
        route_host(&local, SOURCE, 1, [2, 0, 0, 0, 2, 1]).expect("the source's route is accepted");
        for (slot, group) in [(1, SOURCE_GROUP), (2, GROUP)] {
            route_source(&local, (SOURCE, group), slot, 1, 1).expect("a group's route is accepted");
        }
        Self { switch: local, outputs: Outputs::new(), events: Vec::new() }
    }

    fn send(&mut self, now_ns: u64, port: u16, frame: &[u8]) {
        self.outputs.clear();
        self.switch.with(&mut |switch| {
            switch.process(now_ns, port, frame, &mut self.outputs);
            self.events = switch.take_events(usize::MAX);
        });
    }
}
