//! A sender that floods an interface, for benchmarks and for tests under load.

use std::io;
use std::time::{Duration, Instant};

use crate::sys::{PacketSocket, BATCH};

/// Sends `frame` on `interface` for `duration`, at `rate` frames a second or as fast as it can. Returns how many were
/// sent.
pub fn flood(interface: &str, frame: &[u8], duration: Duration, rate: Option<f64>) -> io::Result<u64> {
    let socket = PacketSocket::sender(interface)?;
    let frames = vec![frame.to_vec(); BATCH];
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed() < duration {
        // The first one is due at once.
        let due = rate.map_or(u64::MAX, |rate| (start.elapsed().as_secs_f64() * rate) as u64 + 1);
        let count = due.saturating_sub(sent).min(BATCH as u64) as usize;
        if count == 0 {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        match socket.send(&frames[..count]) {
            Ok(count) => sent += count as u64,
            // Full for the moment.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => {
                std::thread::sleep(Duration::from_micros(50));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
