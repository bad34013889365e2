use std::sync::Arc;

use link::{
    CodelConfig, DualPi2Config, FqCodelConfig, Limit, LinkConfig, LossConfig, PieConfig, QueueConfig, RedConfig,
};
use p4vm::{ActionCall, EntryTarget, MatchKey, Options, Program, Replica};

use super::*;
use crate::events::SwitchEvent;

/// Joins ports by a table; packets of EtherType 0x88b5 carry their queueing metadata.
const CROSSBAR: &str = include_str!("../../../../tests/engine/data/crossbar.json");
const CPU_PORT: u16 = 510;
const MS: u64 = 1_000_000;

struct Setup {
    switch: Switch,
    fabric: Fabric,
    events: EventQueue,
}

impl Setup {
    fn new() -> Self {
        Self::with(Options::default())
    }

    fn with(options: Options) -> Self {
        let program: Arc<Program> = Program::from_json(CROSSBAR).unwrap();
        let options = Options { cpu_port: Some(CPU_PORT), ..options };
        let fabric = Fabric::new(7, Some(CPU_PORT));
        Self { switch: Switch::new(program, options), fabric, events: EventQueue::default() }
    }

    fn rule(&mut self, port: u16, action: &str, value: u16) {
        let key = [MatchKey::Value(port.to_be_bytes().to_vec())];
        let params = vec![value.to_be_bytes().to_vec()];
        let target = EntryTarget::Action(ActionCall { action: format!("ingress.{action}"), params });
        self.switch.table_add("crossbar", &key, 0, &target, 0).unwrap();
    }

    fn port(&mut self, number: u16, tx: LinkConfig) {
        self.fabric.add_port(number, LinkSettings { config: tx, seed: None }, None).unwrap();
    }

    /// Carries out all events up to `now`, then lets a frame arrive.
    fn receive(&mut self, now: u64, port: u16, frame: &[u8]) {
        assert!(self.fabric.advance(&mut self.switch, &self.events, now, usize::MAX));
        self.fabric.receive(&mut self.switch, &self.events, now, port, frame);
    }

    fn advance(&mut self, now: u64) {
        assert!(self.fabric.advance(&mut self.switch, &self.events, now, usize::MAX));
    }

    fn sent(&mut self) -> Vec<(u16, Vec<u8>)> {
        let mut sent = Vec::new();
        self.fabric.flush(|port, frames| sent.extend(frames.iter().map(|one| (port, one.frame.clone()))));
        sent
    }

    fn stat(&self, port: u16, name: &str) -> u64 {
        let stats = self.fabric.port(port).unwrap().link_stats();
        stats.iter().find(|(key, _)| *key == name).unwrap().1
    }
}

fn rate(bps: u64, packets: u32) -> LinkConfig {
    let queue = QueueConfig::DropTail(Limit::Packets(packets));
    LinkConfig { rate_bps: Some(bps), queue, ..LinkConfig::default() }
}

/// A frame of 1,000 bytes that asks for its queueing metadata.
fn frame(tag: u8) -> Vec<u8> {
    let mut frame = vec![0xff; 12];
    frame.extend([0x88, 0xb5]);
    frame.resize(1000, 0);
    frame[999] = tag;
    frame
}

/// (enq_timestamp, deq_timedelta, enq_qdepth, deq_qdepth) as egress has written them.
fn metadata(frame: &[u8]) -> (u32, u32, u32, u32) {
    let word = |at: usize, bytes: usize| frame[at..at + bytes].iter().fold(0, |word, &b| word << 8 | u32::from(b));
    (word(14, 4), word(18, 4), word(22, 3), word(25, 3))
}

#[test]
fn egress_sees_the_emulated_queue() {
    let mut setup = Setup::new();
    setup.port(1, LinkConfig::default());
    setup.port(2, rate(8_000_000, 10)); // 1 ms per frame
    setup.rule(1, "forward", 2);
    for tag in 0..4 {
        setup.receive(5 * MS, 1, &frame(tag));
    }
    // Late by far: departures are still carried out at their own times.
    setup.advance(100 * MS);
    let seen: Vec<_> = setup.sent().iter().map(|(_, frame)| metadata(frame)).collect();
    assert_eq!(seen, [(5000, 0, 0, 0), (5000, 1000, 0, 2), (5000, 2000, 1, 1), (5000, 3000, 2, 0)]);
}

#[test]
fn a_frame_leaves_after_rate_and_delay() {
    let mut setup = Setup::new();
    setup.port(1, LinkConfig::default());
    setup.port(2, LinkConfig { delay_ns: 3 * MS, ..rate(8_000_000, 10) });
    setup.rule(1, "forward", 2);
    setup.receive(0, 1, &frame(1));
    assert_eq!(setup.fabric.next_event_time(), Some(4 * MS));
    setup.advance(4 * MS - 1);
    assert_eq!(setup.sent(), []);
    setup.advance(4 * MS);
    assert_eq!(setup.sent().len(), 1);
    assert_eq!(setup.fabric.next_event_time(), None);
}

#[test]
fn replicas_wait_in_their_own_queues() {
    let mut setup = Setup::new();
    let ports = [2, 3, 4];
    setup.port(1, LinkConfig::default());
    for (port, rate_bps) in ports.into_iter().zip([8_000_000, 4_000_000, 2_000_000]) {
        setup.port(port, rate(rate_bps, 2));
    }
    let replicas: Vec<Replica> = ports.iter().map(|&port| Replica { port, instance: 0 }).collect();
    setup.switch.mcast_group_add(9, &replicas).unwrap();
    setup.rule(1, "replicate", 9);
    for n in 0..8 {
        setup.receive(n * MS, 1, &frame(n as u8));
    }
    setup.advance(1000 * MS);
    let sent = setup.sent();
    let count = |port| sent.iter().filter(|(p, _)| *p == port).count();
    // 7 ms of arrivals and two places to wait: 8, 4 + 2 and 2 + 2 of 8 frames.
    assert_eq!(ports.map(count), [8, 6, 4]);
    assert_eq!(ports.map(|port| setup.stat(port, "drop_queue")), [0, 2, 4]);
}

#[test]
fn an_rx_link_comes_before_ingress() {
    let mut setup = Setup::new();
    let rx = LinkSettings { config: LinkConfig { delay_ns: MS, ..rate(8_000_000, 1) }, seed: None };
    setup.fabric.add_port(1, LinkSettings::default(), Some(rx)).unwrap();
    setup.port(2, LinkConfig::default());
    setup.rule(1, "forward", 2);
    for tag in 0..3 {
        setup.receive(0, 1, &frame(tag)); // one is on the wire, one waits, one is too many
    }
    assert_eq!(setup.switch.counter_read("arrivals", 1).unwrap().0, 0);
    setup.advance(2 * MS);
    assert_eq!(setup.switch.counter_read("arrivals", 1).unwrap().0, 1);
    setup.advance(3 * MS);
    let enqueued: Vec<u32> = setup.sent().iter().map(|(_, frame)| metadata(frame).0).collect();
    assert_eq!(enqueued, [2000, 3000]);
    assert_eq!(setup.stat(1, "rx_drop_queue"), 1);
}

#[test]
fn the_cpu_port_makes_packet_ins_and_takes_packet_outs() {
    let mut setup = Setup::new();
    setup.port(1, LinkConfig::default());
    setup.rule(1, "forward", CPU_PORT);
    setup.receive(9 * MS, 1, &frame(1));
    let SwitchEvent::PacketIn { time_us, packet } = &setup.events.take(1)[0] else { panic!("no packet-in") };
    assert_eq!((*time_us, &packet[..2], packet.len()), (9000, &[0, 1][..], 1002));
    let packet_out = [&[0, 1][..], &frame(2)].concat();
    setup.fabric.inject(&mut setup.switch, &setup.events, 10 * MS, CPU_PORT, &packet_out);
    let sent = setup.sent();
    assert_eq!((sent.len(), sent[0].0, sent[0].1.len()), (1, 1, 1000));
}

#[test]
fn a_port_that_is_down_loses_what_its_links_hold() {
    let mut setup = Setup::new();
    setup.port(1, LinkConfig::default());
    setup.port(2, rate(8_000_000, 10));
    setup.rule(1, "forward", 2);
    setup.rule(2, "forward", 1);
    for tag in 0..3 {
        setup.receive(0, 1, &frame(tag));
    }
    setup.fabric.set_up(MS / 2, 2, false);
    setup.receive(MS, 1, &frame(3));
    setup.receive(MS, 2, &frame(4));
    setup.advance(10 * MS);
    assert_eq!(setup.sent(), []);
    assert_eq!((setup.stat(2, "drop_down"), setup.stat(2, "rx_drop_down"), setup.stat(2, "up")), (4, 1, 0));
    setup.fabric.set_up(20 * MS, 2, true);
    setup.receive(20 * MS, 1, &frame(5));
    setup.advance(30 * MS);
    assert_eq!(setup.sent().len(), 1);
}

#[test]
fn a_seed_fixes_what_is_lost() {
    let run = |seed| {
        let mut setup = Setup::new();
        setup.port(1, LinkConfig::default());
        let config = LinkConfig { loss: LossConfig::Bernoulli(0.3), ..LinkConfig::default() };
        setup.fabric.add_port(2, LinkSettings { config, seed }, None).unwrap();
        setup.rule(1, "forward", 2);
        for n in 0..100 {
            setup.receive(n * MS, 1, &frame(n as u8));
        }
        setup.sent().iter().map(|(_, frame)| frame[999]).collect::<Vec<_>>()
    };
    assert_eq!(run(Some(1)), run(Some(1)));
    assert_eq!(run(None), run(None));
    assert_ne!(run(Some(1)), run(Some(2)));
    assert!((50..90).contains(&run(None).len()));
}

#[test]
fn copies_without_a_port_and_removed_ports_are_counted() {
    let mut setup = Setup::new();
    for port in [1, 2, 3] {
        setup.port(port, LinkConfig::default());
    }
    setup.rule(1, "forward", 2);
    setup.rule(3, "forward", 1);
    setup.fabric.remove_port(2);
    setup.receive(0, 1, &frame(1));
    setup.receive(0, 2, &frame(2)); // not a port any more
    setup.receive(0, 3, &frame(3)); // took the removed port's place
    assert_eq!(setup.sent().iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1]);
    assert_eq!(setup.fabric.drop_no_port, 1);
}

#[test]
fn a_round_is_bounded() {
    let mut setup = Setup::new();
    setup.port(1, LinkConfig::default());
    setup.port(2, rate(8_000_000, 100));
    setup.rule(1, "forward", 2);
    for tag in 0..100 {
        setup.receive(0, 1, &frame(tag));
    }
    assert!(!setup.fabric.advance(&mut setup.switch, &setup.events, 1000 * MS, 10));
    assert_eq!(setup.sent().len(), 10);
    setup.advance(1000 * MS);
    assert_eq!(setup.sent().len(), 90);
}

#[test]
fn a_port_exhausts_its_own_packet_ins_only() {
    let mut setup = Setup::new();
    for port in [1, 2] {
        setup.port(port, LinkConfig::default());
        setup.rule(port, "forward", CPU_PORT);
    }
    setup.fabric.set_packet_in_rate(Rate { per_second: 100, burst: 10 });
    for n in 0..1000 {
        setup.receive(n * MS, 1, &[0; 60]);
        if n % 100 == 0 {
            setup.receive(n * MS, 2, &[0; 60]);
        }
    }
    let taken = setup.events.take(usize::MAX).len();
    assert_eq!(setup.stat(2, "packet_ins_limited"), 0);
    assert_eq!(setup.stat(1, "packet_ins_limited"), 1000 - (taken as u64 - 10));
    assert!((10 + 105..=10 + 110).contains(&taken), "{taken}");
}

#[test]
fn digests_with_the_same_contents_are_limited() {
    // The table's hash is random: once in a hundred runs one of the other digests takes the repeated one's place, which
    // then has its burst again. Three runs do not all meet with that.
    let told = (0..3).map(|_| told_of_repeated_digests()).min().unwrap_or(0);
    assert!((100 + 5..=100 + 5 + 10).contains(&told), "{told}");
}

fn told_of_repeated_digests() -> u64 {
    let digest_repeat_rate = Rate { per_second: 10, burst: 5 };
    let mut setup = Setup::with(Options { digest_repeat_rate, ..Options::default() });
    setup.rule(1, "tell", 2);
    setup.port(1, LinkConfig::default());
    let mut frame = [0; 60];
    for n in 0..1000u64 {
        // Every tenth has a source of its own, which is what the digest tells.
        frame[6..12].fill(0);
        if n % 10 == 0 {
            frame[6..8].copy_from_slice(&(n as u16 + 1).to_be_bytes());
        }
        setup.receive(n * MS, 1, &frame);
    }
    let told = setup.switch.take_events(usize::MAX).len() as u64;
    let stats = setup.switch.stats();
    assert!(stats.contains(&("digests_repeated", 1000 - told)), "{stats:?}");
    told
}

/// Every kind of queue, with its defaults.
fn kinds() -> Vec<QueueConfig> {
    let limit = Limit::Packets(10);
    vec![
        QueueConfig::DropTail(limit),
        QueueConfig::Red(RedConfig::new(limit, 5.0, 9.0)),
        QueueConfig::Codel(CodelConfig::new(limit)),
        QueueConfig::FqCodel(FqCodelConfig::new(limit)),
        QueueConfig::Pie(PieConfig::new(limit)),
        QueueConfig::DualPi2(DualPi2Config::new(limit)),
    ]
}

#[test]
fn egress_sees_every_kind_of_queue() {
    for queue in kinds() {
        let mut setup = Setup::new();
        setup.port(1, LinkConfig::default());
        setup.port(2, LinkConfig { queue, ..rate(8_000_000, 10) });
        setup.rule(1, "forward", 2);
        (0..4).for_each(|tag| setup.receive(5 * MS, 1, &frame(tag)));
        setup.advance(100 * MS);
        let seen: Vec<_> = setup.sent().iter().map(|(_, frame)| metadata(frame)).collect();
        assert_eq!(seen, [(5000, 0, 0, 0), (5000, 1000, 0, 2), (5000, 2000, 1, 1), (5000, 3000, 2, 0)]);
    }
}

/// A thousand octets of UDP over IPv4 with this TOS byte; its header's checksum is right.
fn datagram(tos: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x08, 0x00, 0x45, tos, 0x03, 0xda, 0, 0, 0, 0, 8, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.resize(1000, 0);
    let sum = header_sum(&frame);
    frame[24..26].copy_from_slice(&(!sum).to_be_bytes());
    frame
}

/// The ones' complement sum of an IPv4 header; all ones when its checksum is right.
fn header_sum(frame: &[u8]) -> u16 {
    let words = frame[14..34].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[test]
fn links_mark_in_both_directions_and_leave_the_header_sound() {
    let slow = || {
        let queue = QueueConfig::DualPi2(DualPi2Config::new(Limit::Packets(10)));
        LinkConfig { queue, ..rate(8_000_000, 10) }
    };
    for (tx, rx, counter) in
        [(slow(), None, (2, "marked_packets")), (LinkConfig::default(), Some(slow()), (1, "rx_marked_packets"))]
    {
        for tos in [0xb8, 0xb9] {
            let mut setup = Setup::new();
            let rx = rx.clone().map(|config| LinkSettings { config, seed: None });
            setup.fabric.add_port(1, LinkSettings::default(), rx).unwrap();
            setup.port(2, tx.clone());
            setup.rule(1, "forward", 2);
            (0..6).for_each(|_| setup.receive(0, 1, &datagram(tos)));
            setup.advance(100 * MS);
            let sent = setup.sent();
            assert!(sent.iter().all(|(_, frame)| header_sum(frame) == 0xffff));
            // Those that waited 2, 3 and 4 ms; the last one leaves nobody behind.
            let marked: Vec<bool> = sent.iter().map(|(_, frame)| frame[15] == 0xbb).collect();
            assert_eq!(marked, [false, false, true, true, true, false].map(|mark| mark && tos == 0xb9));
            assert_eq!(setup.stat(counter.0, counter.1), if tos == 0xb9 { 3 } else { 0 });
        }
    }
}

#[test]
fn a_doubled_frame_is_sent_twice_and_enters_twice() {
    let twice = || LinkConfig { duplicate: 1.0, ..LinkConfig::default() };
    let mut setup = Setup::new();
    let rx = LinkSettings { config: twice(), seed: None };
    setup.fabric.add_port(1, LinkSettings::default(), Some(rx)).unwrap();
    setup.port(2, twice());
    setup.rule(1, "forward", 2);
    setup.receive(0, 1, &frame(1));
    setup.advance(MS);
    assert_eq!(setup.switch.counter_read("arrivals", 1).unwrap().0, 2);
    assert_eq!(setup.sent().len(), 4);
    assert_eq!((setup.stat(1, "rx_duplicated_packets"), setup.stat(2, "duplicated_packets")), (1, 2));
}
