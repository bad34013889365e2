//! Load for benchmarks and tests: a sender that floods an interface, with little to do itself.

use std::io;
use std::time::{Duration, Instant};

use crate::sys::{Source, Transmitter};

/// Frames sent between two looks at the clock.
const BATCH: u64 = 64;

/// What frames are sent with: clones made in the kernel, or where that is not to be had, a socket.
enum Sender {
    Source(Source),
    Socket { socket: Transmitter, frames: Vec<Vec<u8>> },
}

impl Sender {
    fn open(interface: &str, frame: &[u8]) -> io::Result<Self> {
        if let Ok(source) = Source::open(interface, frame) {
            if source.send(1).is_ok() {
                return Ok(Self::Source(source));
            }
        }
        Ok(Self::Socket { socket: Transmitter::open(interface)?, frames: vec![frame.to_vec(); BATCH as usize] })
    }

    /// Sends up to `count` frames; returns how many.
    fn send(&self, count: u64) -> io::Result<u64> {
        match self {
            Self::Source(source) => source.send(count).map(|()| count),
            Self::Socket { socket, frames } => {
                socket.send(frames[..count as usize].iter().map(Vec::as_slice)).map(|count| count as u64)
            }
        }
    }
}

/// Sends `frame` on `interface` for `duration`, at `rate` frames a second or as fast as it can. Returns how many were
/// sent.
pub fn flood(interface: &str, frame: &[u8], duration: Duration, rate: Option<f64>) -> io::Result<u64> {
    let sender = Sender::open(interface, frame)?;
    let start = Instant::now();
    let mut sent = u64::from(matches!(sender, Sender::Source(_))); // it has been tried
    while start.elapsed() < duration {
        // The first one is due at once.
        let due = rate.map_or(u64::MAX, |rate| (start.elapsed().as_secs_f64() * rate) as u64 + 1);
        let count = due.saturating_sub(sent).min(BATCH);
        if count == 0 {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        match sender.send(count) {
            Ok(count) => sent += count,
            // Full for the moment.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => {
                std::thread::sleep(Duration::from_micros(50));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
