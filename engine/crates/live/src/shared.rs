//! A switch that a data path and a control plane share.

use std::time::Instant;

use p4vm::Switch;
use parking_lot::{FairMutex, FairMutexGuard};

use crate::events::EventQueue;

/// A p4vm switch behind a fair lock, the queue of its events and the clock that a live data path runs it by.
#[derive(Debug)]
pub struct SharedSwitch {
    // Fair: a control operation gets its turn when the data path lets go, even if that wants the lock again at once.
    switch: FairMutex<Switch>,
    pub events: EventQueue,
    started: Instant,
}

impl SharedSwitch {
    pub fn new(switch: Switch) -> Self {
        Self { switch: FairMutex::new(switch), events: EventQueue::default(), started: Instant::now() }
    }

    pub fn lock(&self) -> FairMutexGuard<'_, Switch> {
        self.switch.lock()
    }

    /// Nanoseconds since the switch was made.
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Moves digests and idle timeouts to where they can be waited for. What finds no room stays with the switch,
    /// which counts its own overflow.
    pub fn publish(&self, switch: &mut Switch) {
        if switch.pending_events() > 0 {
            self.events.push_program(switch.take_events(self.events.room()));
        }
    }
}
