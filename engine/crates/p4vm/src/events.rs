//! The queue of what the data path tells the control plane.

use std::collections::VecDeque;

use crate::Event;

#[derive(Debug, Default)]
pub(crate) struct Events(VecDeque<Event>);

impl Events {
    /// False when the queue is full and the event is lost.
    pub(crate) fn push(&mut self, limit: usize, event: impl FnOnce() -> Event) -> bool {
        let room = self.0.len() < limit;
        if room {
            self.0.push_back(event());
        }
        room
    }

    pub(crate) fn take(&mut self, max: usize) -> Vec<Event> {
        let count = self.0.len().min(max);
        self.0.drain(..count).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
