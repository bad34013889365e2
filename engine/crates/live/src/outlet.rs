//! The sending half of a port's interface: frames that wait for it, in order, and what became of those before.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::capture::{Direction, PortCapture};
use crate::merge::{alone, front, together, HEADER_BYTES};
use crate::port::Departed;
use crate::sys::Transmitter;

/// What sending has counted.
#[derive(Debug, Default, Clone, Copy)]
pub struct SendStats {
    pub packets: u64,
    pub bytes: u64,
    /// Longer than the interface's MTU allows.
    pub drop_oversize: u64,
    /// The kernel had no room (ENOBUFS) or refused the frame.
    pub drop_device: u64,
    /// The interface was down or gone.
    pub drop_device_down: u64,
}

/// Frames that wait, and whether a thread has been told so. From then on until it finds none left, no other thread is
/// told: one at a time sends for a port, and so its frames stay in order.
#[derive(Debug, Default)]
pub struct Mailbox {
    pub frames: Vec<Departed>,
    pub scheduled: bool,
}

#[derive(Debug, Default)]
struct Sender {
    transmitter: Option<Transmitter>,
    stats: SendStats,
    capture: Option<PortCapture>,
}

/// Shared by the data path's thread, which posts frames, and whoever sends them.
#[derive(Debug)]
pub struct Outlet {
    pub mailbox: Mutex<Mailbox>,
    sender: Mutex<Sender>,
    /// The interface was down or gone when it was last used, in either direction.
    down: Arc<AtomicBool>,
}

impl Outlet {
    pub fn new(down: Arc<AtomicBool>) -> Self {
        Self { mailbox: Mutex::default(), sender: Mutex::default(), down }
    }

    pub fn open(&self, interface: &str) -> io::Result<()> {
        self.sender.lock().transmitter = Some(Transmitter::open(interface)?);
        Ok(())
    }

    pub fn close(&self) {
        self.sender.lock().transmitter = None;
    }

    /// Has the frames that the interface takes written down, or no more.
    pub fn set_capture(&self, capture: Option<PortCapture>) {
        self.sender.lock().capture = capture;
    }

    pub fn stats(&self) -> SendStats {
        self.sender.lock().stats
    }

    /// Sends frames in order, datagrams that can leave as one together. Never waits for room: what finds none is dropped.
    pub fn send(&self, frames: &[Departed]) {
        let Sender { transmitter, stats, capture } = &mut *self.sender.lock();
        let mut left = frames;
        while !left.is_empty() {
            let Some(transmitter) = transmitter else {
                stats.drop_device_down += left.len() as u64;
                return;
            };
            let run = together(left);
            let result = if run > 1 && transmitter.sends_together(left[0].frame.len()) {
                let payloads = left[..run].iter().map(|one| &one.frame[HEADER_BYTES..]);
                transmitter.send_together(&front(&left[..run]), payloads)
            } else {
                let count = if run > 1 { run } else { alone(left) };
                transmitter.send(left[..count].iter().map(|one| &one.frame[..]))
            };
            match result {
                Ok(sent) => {
                    let (done, rest) = left.split_at(sent);
                    if let Some(capture) = capture {
                        done.iter().for_each(|one| capture.record(Direction::Out, &one.frame));
                    }
                    stats.packets += sent as u64;
                    stats.bytes += done.iter().map(|one| one.frame.len() as u64).sum::<u64>();
                    self.down.store(false, Ordering::Relaxed);
                    left = rest;
                }
                Err(error) => left = self.refused(stats, left, &error),
            }
        }
    }

    /// Counts what an error costs, and returns the frames that are still worth trying.
    fn refused<'a>(&self, stats: &mut SendStats, frames: &'a [Departed], error: &io::Error) -> &'a [Departed] {
        match error.raw_os_error() {
            Some(libc::EINTR) => frames,
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => {
                self.down.store(true, Ordering::Relaxed);
                stats.drop_device_down += frames.len() as u64;
                &[]
            }
            Some(libc::EAGAIN) => {
                stats.drop_device += frames.len() as u64;
                &[]
            }
            Some(libc::EMSGSIZE) => {
                stats.drop_oversize += 1;
                &frames[1..]
            }
            _ => {
                stats.drop_device += 1;
                &frames[1..]
            }
        }
    }
}
