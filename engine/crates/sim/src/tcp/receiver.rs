//! The receiving end: reassembly and acknowledgments, at once or delayed (RFC 5681, section 4.2).

use super::reassembly::Reassembly;
use super::segment::{unwrap, Segment};
use crate::time::{Nanos, MILLISECOND};

/// ns-2's `interval_` of a delayed-ACK sink; RFC 5681 allows up to 500 ms.
pub const DELAYED_ACK: Nanos = 100 * MILLISECOND;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Longest time an acknowledgment waits for a second packet; `None` acknowledges every packet.
    pub delayed_ack: Option<Nanos>,
    /// Report islands in SACK blocks.
    pub sack: bool,
}

/// A receiver of one transfer. Segments in, acknowledgments out; it never sleeps and has no clock.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    held: Reassembly,
    /// When the acknowledgment that is held back must leave.
    ack_at: Option<Nanos>,
    finished: bool,
    segments: u64,
    duplicates: u64,
}

impl Receiver {
    pub fn new(config: ReceiverConfig) -> Self {
        Self { config, held: Reassembly::new(0), ack_at: None, finished: false, segments: 0, duplicates: 0 }
    }

    /// A segment arrives; the acknowledgment that it causes at once, if any.
    pub fn receive(&mut self, segment: &Segment, now: Nanos) -> Option<Segment> {
        let start = unwrap(self.held.next(), segment.seq);
        let end = start + u64::from(segment.len) + u64::from(segment.syn);
        let in_order = start <= self.held.next() && self.held.islands().is_empty();
        let news = self.held.insert(start, end);
        self.segments += 1;
        self.duplicates += u64::from(!news);
        self.finished |= segment.fin;
        let delay = self.config.delayed_ack.filter(|_| in_order && news && !segment.syn && !segment.fin);
        match (delay, self.ack_at) {
            (Some(delay), None) => {
                self.ack_at = Some(now + delay);
                None
            }
            _ => Some(self.acknowledge(segment.syn)),
        }
    }

    /// Sends the acknowledgment that was held back, if its time has come.
    pub fn handle_timer(&mut self, now: Nanos) -> Option<Segment> {
        self.ack_at.filter(|&at| at <= now).map(|_| self.acknowledge(false))
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        self.ack_at
    }

    /// Octets received in order.
    pub fn received(&self) -> u64 {
        self.held.next().saturating_sub(1)
    }

    /// Segments that arrived, and those among them that brought nothing new.
    pub fn segments(&self) -> (u64, u64) {
        (self.segments, self.duplicates)
    }

    /// The last octet has arrived, and all before it.
    pub fn is_complete(&self) -> bool {
        self.finished && self.held.islands().is_empty()
    }

    fn acknowledge(&mut self, syn: bool) -> Segment {
        self.ack_at = None;
        let mut ack = Segment { seq: u32::from(!syn), ack: self.held.next() as u32, syn, ..Segment::default() };
        if self.config.sack {
            for &(start, end) in self.held.islands() {
                ack.sack.push(start as u32, end as u32);
            }
        }
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(packet: u32) -> Segment {
        Segment { seq: 1 + packet * 100, len: 100, ..Segment::default() }
    }

    fn connected(delayed_ack: Option<Nanos>) -> Receiver {
        let mut receiver = Receiver::new(ReceiverConfig { delayed_ack, sack: true });
        let reply = receiver.receive(&Segment { syn: true, ..Segment::default() }, 0);
        assert_eq!(reply, Some(Segment { seq: 0, ack: 1, syn: true, ..Segment::default() }));
        receiver
    }

    #[test]
    fn every_packet_is_acknowledged() {
        let mut receiver = connected(None);
        assert_eq!(receiver.receive(&data(0), 1).map(|s| s.ack), Some(101));
        assert_eq!(
            receiver.receive(&data(2), 2).map(|s| (s.ack, s.sack.as_slice().to_vec())),
            Some((101, vec![(201, 301)]))
        );
        assert_eq!(receiver.receive(&data(2), 3).map(|s| s.ack), Some(101));
        assert_eq!(receiver.receive(&data(1), 4).map(|s| (s.ack, s.sack.as_slice().len())), Some((301, 0)));
        assert_eq!((receiver.received(), receiver.segments()), (300, (5, 1)));
    }

    #[test]
    fn every_second_packet_or_after_the_delay() {
        let mut receiver = connected(Some(DELAYED_ACK));
        assert_eq!(receiver.receive(&data(0), 5), None);
        assert_eq!(receiver.wake_at(), Some(5 + DELAYED_ACK));
        assert_eq!(receiver.receive(&data(1), 6).map(|s| s.ack), Some(201));
        assert_eq!(receiver.wake_at(), None);
        assert_eq!(receiver.receive(&data(2), 7), None);
        assert_eq!(receiver.handle_timer(6 + DELAYED_ACK), None);
        assert_eq!(receiver.handle_timer(7 + DELAYED_ACK).map(|s| s.ack), Some(301));
    }

    #[test]
    fn disorder_is_reported_at_once() {
        let mut receiver = connected(Some(DELAYED_ACK));
        assert_eq!(receiver.receive(&data(1), 5).map(|s| s.ack), Some(1));
        assert_eq!(
            receiver.receive(&data(3), 6).map(|s| s.sack.as_slice().to_vec()),
            Some(vec![(301, 401), (101, 201)])
        );
        // It fills a part of the gap: still at once.
        assert_eq!(receiver.receive(&data(0), 7).map(|s| s.ack), Some(201));
        assert_eq!(receiver.receive(&data(2), 8).map(|s| s.ack), Some(401));
        assert_eq!(receiver.receive(&data(4), 9), None);
    }

    #[test]
    fn the_end_is_acknowledged_at_once() {
        let mut receiver = connected(Some(DELAYED_ACK));
        let last = Segment { fin: true, ..data(0) };
        assert_eq!(receiver.receive(&last, 5).map(|s| s.ack), Some(101));
        assert!(receiver.is_complete());
    }
}
