//! Who sends the frames that have left the links: the data path's thread itself while there are few, and helpers beside
//! it while there are many, for handing a frame to the kernel takes longer than the pipeline takes to make it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::outlet::Outlet;
use crate::port::Departed;

/// Posted frames from which a helper is worth its waking.
const WAKE_FRAMES: usize = 32;

/// Posted frames from which the data path makes no more of them before most have been sent.
const MANY_FRAMES: usize = 512;

/// Helpers at most: a few keep up with what one thread's pipeline makes.
const MAX_HELPERS: usize = 3;

#[derive(Debug, Default)]
struct Ready {
    outlets: VecDeque<Arc<Outlet>>,
    idle_helpers: usize,
}

/// Outlets with frames, for any thread to take one and send what it holds.
#[derive(Debug, Default)]
pub struct Sending {
    ready: Mutex<Ready>,
    work: Condvar,
    /// Frames posted and not yet sent.
    waiting: AtomicUsize,
    progress: Condvar,
    /// Buffers of frames that have been sent.
    sent: Mutex<Vec<Vec<u8>>>,
    stopping: AtomicBool,
}

/// Threads that are worth having beside the data path's.
pub fn helpers() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).min(MAX_HELPERS)
}

impl Sending {
    /// Takes frames for an outlet; they are sent once a thread gets to it.
    pub fn post(&self, outlet: &Arc<Outlet>, frames: &mut Vec<Departed>) {
        let count = frames.len();
        let mut mailbox = outlet.mailbox.lock();
        mailbox.frames.append(frames);
        let told = std::mem::replace(&mut mailbox.scheduled, true);
        drop(mailbox);
        self.waiting.fetch_add(count, Ordering::AcqRel);
        if !told {
            self.ready.lock().outlets.push_back(Arc::clone(outlet));
        }
    }

    /// Has helpers send what has been posted. Returns with all but a bounded number of frames sent.
    pub fn share(&self) {
        if self.waiting.load(Ordering::Acquire) < WAKE_FRAMES {
            return;
        }
        let ready = self.ready.lock();
        let wake = ready.idle_helpers.min(ready.outlets.len());
        drop(ready);
        for _ in 0..wake {
            self.work.notify_one();
        }
        self.send_down_to(MANY_FRAMES);
    }

    /// Sends all that has been posted.
    pub fn finish(&self) {
        self.send_down_to(0);
    }

    fn send_down_to(&self, limit: usize) {
        while self.waiting.load(Ordering::Acquire) > limit {
            let mut ready = self.ready.lock();
            match ready.outlets.pop_front() {
                Some(outlet) => {
                    drop(ready);
                    self.send_from(&outlet);
                }
                // All that is left is in helpers' hands.
                None if self.waiting.load(Ordering::Acquire) > limit => self.progress.wait(&mut ready),
                None => return,
            }
        }
    }

    /// A helper's life: sends while there is something to send, until [`Self::stop`].
    pub fn help(&self) {
        loop {
            let mut ready = self.ready.lock();
            let outlet = loop {
                if self.stopping.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(outlet) = ready.outlets.pop_front() {
                    break outlet;
                }
                ready.idle_helpers += 1;
                self.work.wait(&mut ready);
                ready.idle_helpers -= 1;
            };
            drop(ready);
            self.send_from(&outlet);
        }
    }

    /// Helpers end; what is still posted is left to [`Self::finish`].
    pub fn stop(&self) {
        let _ready = self.ready.lock();
        self.stopping.store(true, Ordering::Relaxed);
        self.work.notify_all();
    }

    /// As it was before [`Self::stop`].
    pub fn restart(&self) {
        self.stopping.store(false, Ordering::Relaxed);
    }

    /// Takes the buffers of frames that have been sent.
    pub fn reclaim(&self, mut keep: impl FnMut(Vec<u8>)) {
        self.sent.lock().drain(..).for_each(&mut keep);
    }

    /// Sends what an outlet holds. It may hold more by then, and is told again.
    fn send_from(&self, outlet: &Arc<Outlet>) {
        let mut frames = std::mem::take(&mut outlet.mailbox.lock().frames);
        let count = frames.len();
        outlet.send(&frames);
        self.sent.lock().extend(frames.drain(..).map(|one| one.frame));
        let mut mailbox = outlet.mailbox.lock();
        let more = !mailbox.frames.is_empty();
        if more {
            drop(mailbox);
            self.ready.lock().outlets.push_back(Arc::clone(outlet));
        } else {
            mailbox.frames = frames; // its memory
            mailbox.scheduled = false;
            drop(mailbox);
        }
        // Under the lock, so that nobody decides to wait in between.
        let _ready = self.ready.lock();
        self.waiting.fetch_sub(count, Ordering::AcqRel);
        self.progress.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outlet() -> Arc<Outlet> {
        Arc::new(Outlet::new(Arc::new(AtomicBool::new(false))))
    }

    #[test]
    fn all_that_is_posted_is_sent_whoever_sends_it() {
        for helpers in 0..3 {
            let sending = Sending::default();
            let outlets: Vec<_> = (0..5).map(|_| outlet()).collect();
            std::thread::scope(|scope| {
                for _ in 0..helpers {
                    scope.spawn(|| sending.help());
                }
                for round in 0..300 {
                    for outlet in &outlets {
                        sending.post(outlet, &mut vec![Departed { at_ns: round, frame: vec![round as u8] }; 20]);
                    }
                    if round % 50 == 0 {
                        sending.finish();
                        assert_eq!(sending.waiting.load(Ordering::Acquire), 0);
                    } else {
                        sending.share();
                        assert!(sending.waiting.load(Ordering::Acquire) <= MANY_FRAMES);
                    }
                }
                sending.finish();
                sending.stop();
            });
            // There is no device: every frame was tried, and counted as dropped.
            let dropped: u64 = outlets.iter().map(|outlet| outlet.stats().drop_device_down).sum();
            assert_eq!(dropped, 5 * 300 * 20);
            let mut buffers = 0;
            sending.reclaim(|_| buffers += 1);
            assert_eq!(buffers, 5 * 300 * 20);
        }
    }

    #[test]
    fn a_stopped_helper_can_be_started_again() {
        let sending = Sending::default();
        for _ in 0..2 {
            sending.restart();
            std::thread::scope(|scope| {
                scope.spawn(|| sending.help());
                sending.stop();
            });
        }
    }
}
