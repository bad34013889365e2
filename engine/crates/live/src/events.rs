//! What the switch tells its control plane, in one bounded queue that a thread can wait on.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Digests and idle timeouts that are kept until they are taken. A digest is some hundred bytes.
const MAX_PROGRAM_EVENTS: usize = 65_536;

/// Bytes of packet-ins that are kept: a flood to the CPU port must not take the room of digests, nor all memory.
const MAX_PACKET_IN_BYTES: usize = 16 << 20;

/// Counted on top of a packet-in's length, so that small ones are bounded too.
const PACKET_IN_COST: usize = 64;

/// A digest or idle timeout of the program, or a packet that left through the CPU port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchEvent {
    Program(p4vm::Event),
    PacketIn { time_us: u64, packet: Vec<u8> },
}

#[derive(Debug, Default)]
struct Contents {
    events: VecDeque<SwitchEvent>,
    program_events: usize,
    packet_in_bytes: usize,
    packet_ins: u64,
    packet_ins_dropped: u64,
}

/// Events in the order in which they happened; bounded, and the overflow is counted.
#[derive(Debug, Default)]
pub struct EventQueue {
    contents: Mutex<Contents>,
    arrived: Condvar,
}

impl EventQueue {
    /// How many digests and idle timeouts it has room for.
    pub fn room(&self) -> usize {
        MAX_PROGRAM_EVENTS - self.contents.lock().program_events
    }

    pub fn push_program(&self, events: Vec<p4vm::Event>) {
        if events.is_empty() {
            return;
        }
        let mut contents = self.contents.lock();
        contents.program_events += events.len();
        contents.events.extend(events.into_iter().map(SwitchEvent::Program));
        self.arrived.notify_one();
    }

    pub fn push_packet_in(&self, time_us: u64, packet: &[u8]) {
        let mut contents = self.contents.lock();
        let bytes = contents.packet_in_bytes + packet.len() + PACKET_IN_COST;
        if bytes > MAX_PACKET_IN_BYTES {
            contents.packet_ins_dropped += 1;
            return;
        }
        contents.packet_in_bytes = bytes;
        contents.packet_ins += 1;
        contents.events.push_back(SwitchEvent::PacketIn { time_us, packet: packet.to_vec() });
        self.arrived.notify_one();
    }

    /// Up to `max` events at once, oldest first.
    pub fn take(&self, max: usize) -> Vec<SwitchEvent> {
        Self::drain(&mut self.contents.lock(), max)
    }

    /// As [`Self::take`], but waits up to `timeout` for the first one.
    pub fn wait(&self, timeout: Duration, max: usize) -> Vec<SwitchEvent> {
        let deadline = Instant::now() + timeout;
        let mut contents = self.contents.lock();
        while contents.events.is_empty() {
            if self.arrived.wait_until(&mut contents, deadline).timed_out() {
                break;
            }
        }
        Self::drain(&mut contents, max)
    }

    /// Forget all events.
    pub fn clear(&self) {
        Self::drain(&mut self.contents.lock(), usize::MAX);
    }

    /// Name and count.
    pub fn stats(&self) -> [(&'static str, u64); 2] {
        let contents = self.contents.lock();
        [("packet_ins", contents.packet_ins), ("packet_ins_dropped", contents.packet_ins_dropped)]
    }

    fn drain(contents: &mut Contents, max: usize) -> Vec<SwitchEvent> {
        let count = contents.events.len().min(max);
        let taken: Vec<SwitchEvent> = contents.events.drain(..count).collect();
        for event in &taken {
            match event {
                SwitchEvent::Program(_) => contents.program_events -= 1,
                SwitchEvent::PacketIn { packet, .. } => contents.packet_in_bytes -= packet.len() + PACKET_IN_COST,
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_in_order_and_packet_ins_are_bounded() {
        let queue = EventQueue::default();
        for n in 0..300_000u32 {
            queue.push_packet_in(u64::from(n), &n.to_be_bytes());
        }
        let kept = MAX_PACKET_IN_BYTES / (4 + PACKET_IN_COST);
        assert_eq!(queue.stats(), [("packet_ins", kept as u64), ("packet_ins_dropped", 300_000 - kept as u64)]);
        let first = queue.take(2);
        assert_eq!(first[1], SwitchEvent::PacketIn { time_us: 1, packet: vec![0, 0, 0, 1] });
        assert_eq!(queue.take(usize::MAX).len(), kept - 2);
        queue.push_packet_in(7, &[1]);
        assert_eq!(queue.take(10).len(), 1);
    }

    #[test]
    fn a_waiter_wakes_at_the_first_event() {
        let queue = EventQueue::default();
        assert!(queue.wait(Duration::ZERO, 1).is_empty());
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| queue.wait(Duration::from_secs(60), 1));
            queue.push_packet_in(1, b"x");
            assert_eq!(waiter.join().unwrap().len(), 1);
        });
    }
}
