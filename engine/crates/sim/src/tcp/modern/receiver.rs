//! The receiving end: reassembly, selective and delayed acknowledgments, what came twice, and marks.

use super::ecn::EcnReceiver;
use super::ranges::Ranges;
use crate::tcp::segment::{unwrap, Segment, Timestamps};
use crate::time::{Nanos, MICROSECOND, MILLISECOND};

/// Segments at the start of a connection, and after disorder, that are acknowledged at once (Linux's
/// TCP_MAX_QUICKACKS).
const QUICK_ACKS: u32 = 16;
/// Octets that end the delay, in the largest segments that came (RFC 5681, section 4.2).
const SEGMENTS_PER_ACK: u64 = 2;
/// SACK blocks beside timestamps; AccECN's option takes the third one's place.
const BLOCKS: usize = 3;
const BLOCKS_WITH_COUNTS: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Longest time an acknowledgment waits for a second segment; `None` acknowledges each one at once.
    pub delayed_ack: Option<Nanos>,
}

impl Default for ReceiverConfig {
    /// Linux's TCP_DELACK_MIN.
    fn default() -> Self {
        Self { delayed_ack: Some(40 * MILLISECOND) }
    }
}

/// A receiver of one transfer.
#[derive(Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    next: u64,
    above: Ranges,
    /// A number in each of the ranges that changed last, the newest first (RFC 2018, section 4).
    recent: Vec<u64>,
    ecn: EcnReceiver,
    /// The timestamp to echo (RFC 7323, section 4.3).
    echo: u32,
    quick: u32,
    largest: u64,
    /// Acknowledged up to here; what is held back leaves at `ack_at`.
    acknowledged: u64,
    ack_at: Option<Nanos>,
    finished: bool,
    segments: u64,
    duplicates: u64,
}

impl Receiver {
    /// Of the connection that this SYN opens.
    pub fn new(config: ReceiverConfig, syn: &Segment) -> Self {
        Self {
            config,
            next: 0,
            above: Ranges::default(),
            recent: Vec::with_capacity(BLOCKS + 1),
            ecn: EcnReceiver::open(syn),
            echo: 0,
            quick: QUICK_ACKS,
            largest: 1,
            acknowledged: 0,
            ack_at: None,
            finished: false,
            segments: 0,
            duplicates: 0,
        }
    }

    /// A segment arrives with this codepoint in its IP header; the acknowledgment that it causes at once, if any.
    pub fn receive(&mut self, segment: &Segment, codepoint: u8, now: Nanos) -> Option<Segment> {
        let start = unwrap(self.next, segment.seq);
        let end = start + u64::from(segment.len) + u64::from(segment.syn);
        let was_whole = self.above.is_empty();
        if let Some(stamps) = segment.timestamps.filter(|_| start <= self.acknowledged) {
            self.echo = stamps.value;
        }
        let is_new = self.insert(start, end);
        self.segments += 1;
        self.duplicates += u64::from(!is_new);
        self.finished |= segment.fin;
        self.largest = self.largest.max(u64::from(segment.len));
        let marks_change = !segment.syn && self.ecn.receive(segment, codepoint);
        let is_disorder = !was_whole || !self.above.is_empty() || !is_new;
        if is_disorder {
            self.quick = QUICK_ACKS;
        }
        let at_once = is_disorder || marks_change || segment.syn || segment.fin || self.quick > 0;
        self.quick = self.quick.saturating_sub(u32::from(!segment.syn));
        let enough = self.next - self.acknowledged >= SEGMENTS_PER_ACK * self.largest;
        match self.config.delayed_ack.filter(|_| !at_once && !enough) {
            Some(delay) => {
                self.ack_at.get_or_insert(now + delay);
                None
            }
            None => {
                let duplicate = (!is_new && !segment.syn).then_some((start, end));
                Some(self.acknowledge(segment.syn, duplicate, now))
            }
        }
    }

    /// Sends the acknowledgment that was held back, if its time has come.
    pub fn handle_timer(&mut self, now: Nanos) -> Option<Segment> {
        self.ack_at.filter(|&at| at <= now).map(|_| self.acknowledge(false, None, now))
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        self.ack_at
    }

    /// Octets received in order.
    pub fn received(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// Segments that arrived, and those among them that brought nothing new.
    pub fn segments(&self) -> (u64, u64) {
        (self.segments, self.duplicates)
    }

    /// The last octet has arrived, and all before it.
    pub fn is_complete(&self) -> bool {
        self.finished && self.above.is_empty()
    }

    /// False when all of it was there already.
    fn insert(&mut self, start: u64, end: u64) -> bool {
        let mut is_new = false;
        let start = start.max(self.next);
        self.above.insert(start, end, |_, _| is_new = true);
        if let Some((_, high)) = self.above.first().filter(|&(low, _)| low <= self.next) {
            self.next = high;
            self.above.remove_below(high);
        } else if is_new {
            self.recent.insert(0, start);
        }
        let (next, above) = (self.next, &self.above);
        // One number for each range.
        let mut seen: Vec<u64> = Vec::with_capacity(BLOCKS + 1);
        self.recent.retain(|&number| {
            let range = above.around(number).filter(|_| number >= next);
            range.is_some_and(|(low, _)| {
                let is_first = !seen.contains(&low);
                seen.push(low);
                is_first
            })
        });
        self.recent.truncate(BLOCKS);
        is_new
    }

    fn acknowledge(&mut self, syn: bool, duplicate: Option<(u64, u64)>, now: Nanos) -> Segment {
        self.ack_at = None;
        self.acknowledged = self.next;
        let timestamps = (!syn).then_some(Timestamps { value: (now / MICROSECOND) as u32, echo: self.echo });
        let mut ack = Segment { seq: u32::from(!syn), ack: self.next as u32, syn, timestamps, ..Segment::default() };
        self.ecn.report(&mut ack);
        let room = if ack.marked_octets.is_some() { BLOCKS_WITH_COUNTS } else { BLOCKS };
        // What came twice stands first (RFC 2883, section 4).
        let blocks = duplicate.into_iter().chain(self.recent.iter().filter_map(|&number| self.above.around(number)));
        blocks.take(room).for_each(|(start, end)| ack.sack.push(start as u32, end as u32));
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::CONGESTION_EXPERIENCED;
    use crate::tcp::modern::ecn::Ecn;

    fn data(packet: u32) -> Segment {
        Segment { seq: 1 + packet * 100, len: 100, ..Segment::default() }
    }

    fn connected(mode: Ecn) -> Receiver {
        let syn = Segment { syn: true, ecn: mode.syn_flags(), ..Segment::default() };
        let mut receiver = Receiver::new(ReceiverConfig::default(), &syn);
        assert_eq!(receiver.receive(&syn, 0, 0).map(|ack| (ack.ack, ack.syn)), Some((1, true)));
        receiver
    }

    fn settled(mode: Ecn) -> Receiver {
        let mut receiver = connected(mode);
        (0..16).for_each(|packet| assert!(receiver.receive(&data(packet), 0, 1).is_some()));
        receiver
    }

    fn blocks(ack: Option<Segment>) -> Vec<(u32, u32)> {
        ack.expect("an acknowledgment").sack.as_slice().to_vec()
    }

    #[test]
    fn sixteen_at_once_then_every_second_or_after_the_delay() {
        let mut receiver = settled(Ecn::Off);
        assert_eq!(receiver.receive(&data(16), 0, 5), None);
        assert_eq!(receiver.receive(&data(17), 0, 6).map(|ack| ack.ack), Some(1801));
        assert_eq!(receiver.receive(&data(18), 0, 7), None);
        let due = 7 + 40 * MILLISECOND;
        assert_eq!(receiver.wake_at(), Some(due));
        assert_eq!(receiver.handle_timer(due - 1), None);
        assert_eq!(receiver.handle_timer(due).map(|ack| ack.ack), Some(1901));
    }

    #[test]
    fn blocks_stand_newest_first_and_what_came_twice_before_them() {
        let mut receiver = settled(Ecn::Off);
        assert_eq!(blocks(receiver.receive(&data(17), 0, 5)), [(1701, 1801)]);
        assert_eq!(blocks(receiver.receive(&data(19), 0, 5)), [(1901, 2001), (1701, 1801)]);
        assert_eq!(blocks(receiver.receive(&data(18), 0, 5)), [(1701, 2001)]);
        assert_eq!(blocks(receiver.receive(&data(18), 0, 5)), [(1801, 1901), (1701, 2001)]);
        assert_eq!(blocks(receiver.receive(&data(16), 0, 5)), []);
        assert_eq!(blocks(receiver.receive(&data(3), 0, 5)), [(301, 401)]);
        assert_eq!((receiver.received(), receiver.segments()), (2000, (23, 2)));
    }

    #[test]
    fn a_change_of_marks_is_told_at_once() {
        let mut receiver = settled(Ecn::Scalable);
        let marked = |ack: Option<Segment>| ack.map(|ack| ack.marked_octets);
        assert_eq!(marked(receiver.receive(&data(16), CONGESTION_EXPERIENCED, 5)), Some(Some(100)));
        assert_eq!(marked(receiver.receive(&data(17), CONGESTION_EXPERIENCED, 5)), None);
        assert_eq!(marked(receiver.receive(&data(18), 0b01, 5)), Some(Some(200)));
    }
}
