//! The data path's thread: waits for frames, for packet-outs and for the next event of a link, and carries them out in
//! bounded rounds, so that control operations get their turn under any load.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::FairMutexGuard;
use rustix::event::epoll;
use rustix::event::Timespec;

use crate::capture::Direction;
use crate::core::{Core, Ports, WAKE};
use crate::fabric::Fabric;
use crate::offload::complete;
use crate::outlet::Outlet;
use crate::sending::{helpers, Sending};

/// How often idle timeouts are looked for, and interfaces that have gone away.
const TICK_NS: u64 = 100_000_000;

/// Link events carried out in one go.
const EVENTS_PER_ROUND: usize = 256;

/// Packet-outs carried out in one go.
const INJECTED_PER_ROUND: usize = 64;

/// Frames taken from one port before the others get their turn.
const BATCH: usize = 64;

/// Frames taken into the pipeline before a waiting control operation gets the switch.
const FRAMES_PER_TURN: usize = 16;

/// Frames that wait for their devices before they are sent though more are being made.
const FLUSH_FRAMES: usize = 256;

/// The thread's priority over others of the machine: an emulated link should be late for nobody's sake, and what holds
/// the switch's lock should not wait for a processor.
const NICENESS: i32 = -10;

/// Sockets that one wait reports.
const EPOLL_EVENTS: usize = 64;

/// Runs until told to stop, with helpers that send.
pub fn run(core: &Core) {
    core.sending.restart();
    std::thread::scope(|scope| {
        for _ in 0..helpers() {
            // Without it the others send.
            let _ = std::thread::Builder::new().name("canopy-send".into()).spawn_scoped(scope, || {
                let _ = rustix::process::nice(NICENESS);
                core.sending.help();
            });
        }
        forward(core);
        core.sending.stop();
    });
}

fn forward(core: &Core) {
    // The default slack of 50 us would make every departure late. Failure costs only that precision.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let _ = rustix::process::nice(NICENESS);
    let mut worker = Worker { core, large: Vec::new(), scratch: Vec::new(), next_tick_ns: 0, busy: false };
    let mut events = Vec::with_capacity(EPOLL_EVENTS);
    let mut settled = true;
    while !core.stopping.load(Ordering::Relaxed) {
        events.clear();
        let timeout = if settled && !worker.busy { worker.time_to_wait() } else { Duration::ZERO };
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        // An interrupted wait reports nothing, and is as good as one that timed out.
        let _ = epoll::wait(&core.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout));
        settled = worker.settle();
        worker.busy = false;
        for event in &events {
            match event.data.u64() {
                WAKE => drop(rustix::io::read(&core.wake, &mut [0u8; 8])),
                port => worker.serve(port as u16), // only port numbers were registered
            }
        }
        worker.tick();
    }
    core.sending.finish();
}

struct Worker<'a> {
    core: &'a Core,
    /// Memory for frames of unusual length.
    large: Vec<u8>,
    /// Memory for frames that are finished after their arrival.
    scratch: Vec<u8>,
    next_tick_ns: u64,
    /// Some port has more frames than one batch.
    busy: bool,
}

impl Worker<'_> {
    fn time_to_wait(&self) -> Duration {
        let next = self.core.ports.lock().fabric.next_event_time();
        let until = next.map_or(self.next_tick_ns, |next| next.min(self.next_tick_ns));
        Duration::from_nanos(until.saturating_sub(self.core.shared.now_ns()))
    }

    /// Carries out link events that are due and packet-outs. Returns whether nothing is left.
    fn settle(&mut self) -> bool {
        let shared = &self.core.shared;
        let mut ports = self.core.ports.lock();
        let mut switch = shared.lock();
        let now = shared.now_ns();
        let mut settled = ports.fabric.advance(&mut switch, &shared.events, now, EVENTS_PER_ROUND);
        for _ in 0..INJECTED_PER_ROUND {
            let Some((port, packet)) = self.core.injected.lock().pop_front() else { break };
            ports.fabric.inject(&mut switch, &shared.events, now, port, &packet);
        }
        settled &= self.core.injected.lock().is_empty();
        shared.publish(&mut switch);
        drop(switch);
        self.flush(&mut ports);
        settled
    }

    /// Takes a batch of frames from a port into the pipeline.
    fn serve(&mut self, number: u16) {
        let Core { shared, sending, .. } = self.core;
        let mut guard = self.core.ports.lock();
        let Ports { fabric, devices, outlets } = &mut *guard;
        // The port may have been removed since its socket was reported.
        let Some(device) = devices.get_mut(&number) else { return };
        let capture = device.capture();
        let (mut malformed, mut turn) = (0, 0);
        let mut switch = shared.lock();
        let scratch = &mut self.scratch;
        let received = device.receive(BATCH, &mut self.large, |received| {
            if received.truncated {
                malformed += 1;
                return;
            }
            let now = shared.now_ns();
            fabric.advance(&mut switch, &shared.events, now, EVENTS_PER_ROUND);
            let completed = complete(received.frame, received.vnet, received.vlan, scratch, |frame| {
                if turn == FRAMES_PER_TURN {
                    turn = 0;
                    FairMutexGuard::bump(&mut switch);
                }
                turn += 1;
                if let Some(capture) = &capture {
                    capture.record(Direction::In, frame);
                }
                fabric.receive(&mut switch, &shared.events, now, number, frame);
            });
            malformed += u64::from(completed.is_err());
            if fabric.outgoing() >= FLUSH_FRAMES {
                shared.publish(&mut switch);
                FairMutexGuard::unlocked_fair(&mut switch, || {
                    post(fabric, outlets, sending);
                    sending.share();
                });
            }
        });
        shared.publish(&mut switch);
        drop(switch);
        device.stats.drop_malformed += malformed;
        self.busy |= received == BATCH;
        self.flush(&mut guard);
    }

    /// Sends what has left the links. While more is coming in, that may take until after the next batch.
    fn flush(&self, ports: &mut Ports) {
        post(&mut ports.fabric, &ports.outlets, &self.core.sending);
        if self.busy {
            self.core.sending.share();
        } else {
            self.core.sending.finish();
        }
    }

    /// What has to be looked at now and then.
    fn tick(&mut self) {
        let shared = &self.core.shared;
        let now = shared.now_ns();
        if now < self.next_tick_ns {
            return;
        }
        self.next_tick_ns = now + TICK_NS;
        let mut switch = shared.lock();
        switch.tick(now);
        shared.publish(&mut switch);
        drop(switch);
        for (&number, device) in &mut self.core.ports.lock().devices {
            if let Some(socket) = device.revive() {
                if self.core.watch(number, socket).is_err() {
                    device.close(); // tried again at the next tick
                }
            }
        }
    }
}

/// Gives what has left the links to those who send, and takes the buffers of earlier frames back.
fn post(fabric: &mut Fabric, outlets: &BTreeMap<u16, Arc<Outlet>>, sending: &Sending) {
    sending.reclaim(|buffer| fabric.reclaim(buffer));
    fabric.flush(|number, frames| {
        if let Some(outlet) = outlets.get(&number) {
            sending.post(outlet, frames);
        }
    });
}
