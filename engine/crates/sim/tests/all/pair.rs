//! One sender and one receiver over a wire that drops what a test names.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;

use sim::tcp::{Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
use sim::time::{Nanos, MILLISECOND};

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    ToReceiver,
    ToSender,
}

/// A wire that takes a millisecond for a packet of data and 50 ms each way: 100 packets fit into a round trip.
pub struct Pair {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Nanos,
    /// For a packet, which of its transmissions are dropped: 1 is the first.
    pub drops: BTreeMap<u64, Vec<u32>>,
    /// What the sender sent: time in milliseconds, packet.
    pub sent: Vec<(u64, u64)>,
    mss: u64,
    in_flight: BinaryHeap<Reverse<(Nanos, Direction, u64)>>,
    segments: Vec<Segment>,
    transmissions: BTreeMap<u64, u32>,
    wire_free_at: Nanos,
}

const DELAY: Nanos = 50 * MILLISECOND;
const SERVICE: Nanos = MILLISECOND;

impl Pair {
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self {
            mss: u64::from(sender.mss),
            sender: Sender::new(sender),
            receiver: Receiver::new(receiver),
            now: 0,
            drops: BTreeMap::new(),
            sent: Vec::new(),
            in_flight: BinaryHeap::new(),
            segments: Vec::new(),
            transmissions: BTreeMap::new(),
            wire_free_at: 0,
        }
    }

    pub fn drop(mut self, packet: u64, transmissions: &[u32]) -> Self {
        self.drops.insert(packet, transmissions.to_vec());
        self
    }

    pub fn start(&mut self) {
        let mut out = Vec::new();
        self.sender.start(self.now, &mut out);
        self.transmit(out);
    }

    /// Runs to the next event; false when there is none.
    pub fn step(&mut self) -> bool {
        let arrival = self.in_flight.peek().map(|Reverse((time, _, _))| *time);
        let timers = [self.sender.wake_at(), self.receiver.wake_at()];
        let Some(next) = arrival.into_iter().chain(timers.into_iter().flatten()).min() else { return false };
        self.now = next;
        let mut out = Vec::new();
        if arrival == Some(next) {
            let Some(Reverse((_, direction, index))) = self.in_flight.pop() else { return false };
            let segment = self.segments[index as usize].clone();
            match direction {
                Direction::ToSender => self.sender.receive(&segment, next, &mut out),
                Direction::ToReceiver => {
                    let ack = self.receiver.receive(&segment, next);
                    self.acknowledge(ack);
                }
            }
        } else if self.receiver.wake_at() == Some(next) {
            let ack = self.receiver.handle_timer(next);
            self.acknowledge(ack);
        } else {
            self.sender.handle_timer(next, &mut out);
        }
        self.transmit(out);
        true
    }

    /// Runs until the transfer is acknowledged, or panics after an hour of virtual time.
    pub fn finish(&mut self) {
        self.start();
        while self.sender.finished_at().is_none() {
            assert!(self.step() && self.now < 3_600_000 * MILLISECOND, "stuck at {} ns: {:?}", self.now, self.sender);
        }
    }

    /// The packets that were sent more than once, with the times in milliseconds of all but the first.
    pub fn repairs(&self) -> Vec<(u64, u64)> {
        let mut seen = std::collections::BTreeSet::new();
        self.sent.iter().filter(|(_, packet)| !seen.insert(*packet)).copied().collect()
    }

    fn transmit(&mut self, out: Vec<Segment>) {
        for segment in out {
            if segment.syn {
                self.push(self.now + DELAY, Direction::ToReceiver, segment);
                continue;
            }
            let packet = u64::from(segment.seq - 1) / self.mss;
            self.sent.push((self.now / MILLISECOND, packet));
            let times = self.transmissions.entry(packet).or_default();
            *times += 1;
            self.wire_free_at = self.wire_free_at.max(self.now) + SERVICE;
            if !self.drops.get(&packet).is_some_and(|which| which.contains(times)) {
                self.push(self.wire_free_at + DELAY, Direction::ToReceiver, segment);
            }
        }
    }

    fn acknowledge(&mut self, ack: Option<Segment>) {
        if let Some(ack) = ack {
            self.push(self.now + DELAY, Direction::ToSender, ack);
        }
    }

    fn push(&mut self, time: Nanos, direction: Direction, segment: Segment) {
        self.in_flight.push(Reverse((time, direction, self.segments.len() as u64)));
        self.segments.push(segment);
    }
}
