//! FQ-CoDel (RFC 8290, section 4): flows are hashed to queues that CoDel controls, and served in turn by deficit round
//! robin; queues that have just begun to send come first. Where all is full, the queue with the most bytes loses its head.

use std::collections::VecDeque;

use crate::codel::Codel;
use crate::config::{FqCodelConfig, Limit};
use crate::discipline::Offer;
use crate::fifo::{Fifo, Waiting};
use crate::frame::mix;
use crate::random::derive;
use crate::stats::{Reason, Stats};

#[derive(Clone, Debug)]
struct Flow<T> {
    fifo: Fifo<T>,
    codel: Codel,
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// Whether it is on one of the lists.
    is_listed: bool,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self { fifo: Fifo::default(), codel: Codel::default(), deficit: 0, is_listed: false }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct FqCodel<T> {
    config: FqCodelConfig,
    /// Stirred into each hash: two links sort the same flows differently (section 4.1.1).
    salt: u64,
    flows: Vec<Flow<T>>,
    /// Queues that have just begun to send, and the others that have something to send or had it a turn ago.
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    /// When the first packet came of those without which nothing would wait.
    since_ns: u64,
}

impl<T> FqCodel<T> {
    pub fn new(config: FqCodelConfig, seed: u64) -> Self {
        let mut flows = Vec::new();
        flows.resize_with(config.flows as usize, Flow::default);
        Self {
            config,
            salt: derive(seed, "fq_codel"),
            flows,
            new_flows: VecDeque::new(),
            old_flows: VecDeque::new(),
            packets: 0,
            bytes: 0,
            since_ns: 0,
        }
    }

    /// Other parameters, for as many queues.
    pub fn set_config(&mut self, config: FqCodelConfig) {
        self.config = config;
    }

    /// How many queues flows are hashed to.
    pub fn queues(&self) -> u32 {
        self.config.flows
    }

    pub fn packets(&self) -> u64 {
        self.packets
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When a packet could first leave, and the length of the one whose turn it is.
    pub fn next(&self) -> Option<(u64, u32)> {
        let flow = self.new_flows.iter().chain(&self.old_flows).find_map(|&at| self.flows[at as usize].fifo.head());
        flow.map(|head| (self.since_ns, head.len))
    }

    /// Takes the packet; beyond the limit, others make room for it.
    pub fn push(&mut self, packet: Waiting<T>, offer: &Offer, stats: &mut Stats) {
        self.put_into(packet, offer.flow);
        while self.is_over_limit(offer) {
            self.drop_from_fattest(stats);
        }
    }

    /// Takes a packet whose flow is not known.
    pub fn put(&mut self, packet: Waiting<T>) {
        self.put_into(packet, 0);
    }

    fn put_into(&mut self, packet: Waiting<T>, flow: u32) {
        if self.packets == 0 {
            self.since_ns = packet.enq_time_ns;
        }
        let at = (mix(u64::from(flow) ^ self.salt) % u64::from(self.config.flows)) as usize;
        let flow = &mut self.flows[at];
        if !flow.is_listed {
            flow.is_listed = true;
            flow.deficit = i64::from(self.config.quantum);
            self.new_flows.push_back(at as u32);
        }
        let before = flow.fifo.bytes();
        flow.fifo.push(packet);
        self.packets += 1;
        self.bytes += flow.fifo.bytes() - before;
    }

    fn is_over_limit(&self, offer: &Offer) -> bool {
        match self.config.codel.limit {
            Limit::Packets(limit) => self.packets.saturating_sub(offer.due_packets) > u64::from(limit),
            Limit::Bytes(limit) => self.bytes.saturating_sub(offer.due_bytes) > limit,
        }
    }

    fn drop_from_fattest(&mut self, stats: &mut Stats) {
        let bytes = |at: u32| self.flows[at as usize].fifo.bytes();
        let listed = self.new_flows.iter().chain(&self.old_flows).copied();
        // Of equals the first in turn.
        let fattest = listed.reduce(|best, at| if bytes(at) > bytes(best) { at } else { best });
        if let Some(at) = fattest {
            let flow = &mut self.flows[at as usize];
            let before = flow.fifo.bytes();
            flow.fifo.pop();
            self.packets -= 1;
            self.bytes -= before - flow.fifo.bytes();
            stats.drop(Reason::QueueFull, 1);
        }
    }

    /// The next packet to be sent, by turns and by CoDel.
    pub fn pop(&mut self, now_ns: u64, stats: &mut Stats) -> Option<Waiting<T>> {
        while self.packets > 0 {
            let is_new = !self.new_flows.is_empty();
            let at = *self.new_flows.front().or(self.old_flows.front())?;
            let flow = &mut self.flows[at as usize];
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.config.quantum);
                self.next_turn(is_new, true);
                continue;
            }
            let (packets, bytes) = (flow.fifo.packets(), flow.fifo.bytes());
            let popped = flow.codel.pop(&self.config.codel, &mut flow.fifo, now_ns, stats);
            self.packets -= packets - flow.fifo.packets();
            self.bytes -= bytes - flow.fifo.bytes();
            match popped {
                Some(packet) => {
                    flow.deficit -= i64::from(packet.len);
                    return Some(packet);
                }
                None => {
                    // A new one waits a turn of the old ones, so that it is not new again at once (section 4.2).
                    let stays = is_new && !self.old_flows.is_empty();
                    flow.is_listed = stays;
                    self.next_turn(is_new, stays);
                }
            }
        }
        None
    }

    /// The queue whose turn it is goes to the end of the old ones, or off the lists.
    fn next_turn(&mut self, is_new: bool, stays: bool) {
        let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
        let at = list.pop_front();
        self.old_flows.extend(at.filter(|_| stays));
    }

    /// A packet, without any AQM; those of one flow in their order.
    pub fn take(&mut self) -> Option<Waiting<T>> {
        let mut lists = self.new_flows.iter().chain(&self.old_flows).copied();
        let at = lists.find(|&at| !self.flows[at as usize].fifo.is_empty())?;
        let flow = &mut self.flows[at as usize];
        let before = flow.fifo.bytes();
        let packet = flow.fifo.pop();
        self.packets -= 1;
        self.bytes -= before - flow.fifo.bytes();
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ecn::Ecn;

    const MS: u64 = 1_000_000;

    fn fq(limit: Limit) -> FqCodel<u32> {
        FqCodel::new(FqCodelConfig::new(limit), 3)
    }

    fn push(fq: &mut FqCodel<u32>, flow: u32, len: u32, stats: &mut Stats) {
        let packet = Waiting { item: flow, enq_time_ns: 0, len, enq_depth: 0, ecn: Ecn::NotEct, marked: false };
        let offer = Offer { now_ns: 0, flow, due_packets: 0, due_bytes: 0, idle_ns: 0, rate_bps: None };
        fq.push(packet, &offer, stats);
    }

    fn order(fq: &mut FqCodel<u32>, stats: &mut Stats) -> Vec<u32> {
        std::iter::from_fn(|| fq.pop(0, stats)).map(|packet| packet.item).collect()
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let (mut fq, mut stats) = (fq(Limit::Packets(1000)), Stats::default());
        (0..400).for_each(|_| push(&mut fq, 1, 1500, &mut stats));
        (0..400).for_each(|_| push(&mut fq, 2, 500, &mut stats));
        let sent: Vec<u32> = order(&mut fq, &mut stats).into_iter().take(400).collect();
        let bytes = |flow| sent.iter().filter(|&&f| f == flow).count() as i64 * if flow == 1 { 1500 } else { 500 };
        assert!((bytes(1) - bytes(2)).abs() <= 3000, "{} and {}", bytes(1), bytes(2));
        assert_eq!((fq.packets(), fq.bytes(), fq.next()), (0, 0, None));
    }

    #[test]
    fn a_new_flow_goes_before_those_that_have_had_a_turn() {
        let (mut fq, mut stats) = (fq(Limit::Packets(1000)), Stats::default());
        (0..20).for_each(|_| push(&mut fq, 1, 1500, &mut stats));
        assert!((0..5).all(|_| fq.pop(0, &mut stats).is_some()));
        push(&mut fq, 2, 100, &mut stats);
        // What is left of flow 1's turn is used up only if it is new itself.
        assert_eq!(fq.pop(0, &mut stats).map(|packet| packet.item), Some(2));
        // Emptied, it is an old one: a second packet waits for its turn.
        assert_eq!(fq.pop(0, &mut stats).map(|packet| packet.item), Some(1));
    }

    #[test]
    fn the_fattest_flow_makes_room() {
        for limit in [Limit::Packets(100), Limit::Bytes(100_000)] {
            let (mut fq, mut stats) = (fq(limit), Stats::default());
            (0..1000).for_each(|_| push(&mut fq, 1, 1000, &mut stats));
            (0..10).for_each(|_| push(&mut fq, 2, 1000, &mut stats));
            assert_eq!((fq.packets(), fq.bytes()), (100, 100_000));
            assert_eq!(stats.dropped(Reason::QueueFull), 910);
            assert_eq!(order(&mut fq, &mut stats).iter().filter(|&&flow| flow == 2).count(), 10);
        }
    }

    #[test]
    fn codel_works_on_each_flow_alone() {
        let (mut fq, mut stats) = (fq(Limit::Packets(1000)), Stats::default());
        (0..500).for_each(|_| push(&mut fq, 1, 1000, &mut stats));
        for now in 0..400 {
            push(&mut fq, 2, 100, &mut stats);
            assert!((0..2).all(|_| fq.pop(now * MS, &mut stats).is_some()));
        }
        assert!(stats.dropped(Reason::Aqm) >= 4);
        let left = std::iter::from_fn(|| fq.take()).filter(|packet| packet.item == 2).count();
        assert!(left <= 1, "{left}");
    }

    #[test]
    fn one_bucket_holds_all_flows_and_two_links_sort_differently() {
        let buckets = |seed, flows| -> Vec<u64> {
            let fq = FqCodel::<u32>::new(FqCodelConfig { flows, ..FqCodelConfig::new(Limit::Packets(9)) }, seed);
            (0..50).map(|flow: u64| mix(flow ^ fq.salt) % u64::from(flows)).collect()
        };
        assert_eq!(buckets(1, 1), [0; 50]);
        assert_ne!(buckets(1, 1024), buckets(2, 1024));
        assert_eq!(buckets(1, 1024), buckets(1, 1024));
    }
}
