//! A host's processing time: packets pass one after another, each after a time drawn uniformly from a range.
//!
//! Drawn between 0 and the bottleneck's service time at the senders, it breaks the phase effects of DropTail queues
//! (RLA, section 3.1); fixed, it is the load of handling feedback.

use std::collections::VecDeque;

use link::random::Stream;

use crate::packet::Packet;
use crate::time::Nanos;

/// Bounds of one packet's processing time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessingTime {
    pub least: Nanos,
    pub most: Nanos,
}

#[derive(Debug)]
pub struct Processor {
    time: ProcessingTime,
    stream: Stream,
    free_at: Nanos,
    /// When each packet is through, and the number that ranks that event.
    queue: VecDeque<(Nanos, u64, Packet)>,
}

impl Processor {
    pub fn new(time: ProcessingTime, stream: Stream) -> Self {
        Self { time, stream, free_at: 0, queue: VecDeque::new() }
    }

    /// Takes a packet in. Returns whether it is the only one, so that its end must be put on the agenda.
    pub fn push(&mut self, now: Nanos, number: u64, packet: Packet) -> bool {
        let range = self.time.most.saturating_sub(self.time.least);
        let drawn = self.time.least + (self.stream.uniform() * range as f64) as Nanos;
        self.free_at = self.free_at.max(now) + drawn;
        self.queue.push_back((self.free_at, number, packet));
        self.queue.len() == 1
    }

    /// When the first packet is through, and the number of that event.
    pub fn next(&self) -> Option<(Nanos, u64)> {
        self.queue.front().map(|&(time, number, _)| (time, number))
    }

    pub fn pop(&mut self) -> Option<Packet> {
        self.queue.pop_front().map(|(_, _, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn packets_pass_one_after_another() {
        let mut processor = Processor::new(ProcessingTime { least: 100, most: 300 }, Stream::new(1, "processing"));
        let address = (Ipv4Addr::new(10, 0, 0, 1), 1);
        let packet = Packet::udp(address, address, vec![].into());
        for number in 0..1000 {
            assert_eq!(processor.push(50, number, packet.clone()), number == 0);
        }
        let mut last = 50;
        let mut gaps = 0;
        while let Some((time, _)) = processor.next() {
            assert!((100..=300).contains(&(time - last)), "{}", time - last);
            gaps += time - last;
            last = time;
            processor.pop();
        }
        assert!((195_000..205_000).contains(&gaps), "{gaps}");
    }
}
