//! The network as a whole: the order of events, groups over several routers, processing time, changes.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use link::{Limit, LinkConfig, LossConfig, QueueConfig};
use sim::app::{App, AppError, Context, Effect, Protocol};
use sim::apps::{Gaps, Sizes, UdpSink, UdpSource};
use sim::network::NodeReport;
use sim::packet::{Body, Packet, Payload};
use sim::time::{Nanos, MICROSECOND, MILLISECOND, SECOND};
use sim::{BuildError, Network, NodeId, ProcessingTime, RunError, Way};

const PORT: u16 = 9;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 1, 1);

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, (number / 250) as u8, (number % 250 + 1) as u8)
}

type Log = Arc<Mutex<Vec<(Nanos, Ipv4Addr)>>>;

/// Logs who sent what arrives; sends one packet to each address at a time; may join a group.
#[derive(Default)]
struct Node {
    log: Log,
    sends: Vec<(Nanos, Ipv4Addr)>,
    joins: bool,
    /// Notes the time at each wake, as a packet from nowhere.
    logs_wakes: bool,
}

impl App for Node {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        if self.joins {
            context.effects.push(Effect::Join((GROUP, None), PORT));
        }
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        if let Body::Udp(_) = packet.body {
            self.log.lock().unwrap().push((context.now, packet.source));
        }
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        let (_, destination) = self.sends.remove(0);
        match self.logs_wakes {
            true => self.log.lock().unwrap().push((context.now, Ipv4Addr::UNSPECIFIED)),
            false => context.send_udp(PORT, (destination, PORT), Payload::from(vec![0; 958])),
        }
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.sends.first().map(|&(time, _)| time)
    }
}

fn link(rate_bps: Option<u64>, delay_ns: Nanos) -> LinkConfig {
    LinkConfig { rate_bps, delay_ns, ..LinkConfig::default() }
}

fn add(network: &mut Network, host: NodeId, node: Node) {
    network.add_app(host, "node", Box::new(node), &[(Protocol::Udp, PORT)], 0).unwrap();
}

#[test]
fn packets_that_arrive_together_are_taken_as_they_were_sent_and_timers_come_last() {
    let mut network = Network::new(1);
    let router = network.add_router("router", Ipv4Addr::UNSPECIFIED).unwrap();
    let hosts: Vec<NodeId> = (0..5).map(|n| network.add_host(&format!("h{n}"), address(n), None).unwrap()).collect();
    // The later a host sends, the shorter its link: all packets reach the router at 10 ms.
    let order = [3, 1, 4, 2];
    for (number, &host) in hosts.iter().enumerate() {
        let delay = order.iter().position(|&at| at == number).map_or(0, |place| (10 - place as u64) * MILLISECOND);
        network.connect((host, None), (router, None), link(None, delay), link(None, 0)).unwrap();
    }
    let log = Log::default();
    let wakes = vec![(10 * MILLISECOND, address(0))];
    add(&mut network, hosts[0], Node { log: log.clone(), sends: wakes, logs_wakes: true, ..Node::default() });
    for (place, &host) in order.iter().enumerate() {
        let sends = vec![(place as u64 * MILLISECOND, address(0))];
        add(&mut network, hosts[host], Node { sends, ..Node::default() });
    }
    network.run(SECOND).unwrap();
    let mut expected: Vec<_> = order.iter().map(|&host| (10 * MILLISECOND, address(host))).collect();
    expected.push((10 * MILLISECOND, Ipv4Addr::UNSPECIFIED));
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn a_place_that_a_departure_makes_is_there_for_an_arrival_of_the_same_instant() {
    // The queue holds one. At 0, 1, 2, ... ms a packet departs and one arrives from each of two hosts.
    let mut network = Network::new(1);
    let router = network.add_router("router", Ipv4Addr::UNSPECIFIED).unwrap();
    let hosts: Vec<NodeId> = (0..3).map(|n| network.add_host(&format!("h{n}"), address(n), None).unwrap()).collect();
    for &host in &hosts[1..] {
        network.connect((host, None), (router, None), link(None, 0), link(None, 0)).unwrap();
        let sends = (0..100).map(|at| (at * MILLISECOND, address(0))).collect();
        add(&mut network, host, Node { sends, ..Node::default() });
    }
    let queue = QueueConfig::DropTail(Limit::Packets(1));
    let config = LinkConfig { rate_bps: Some(8_000_000), queue, ..LinkConfig::default() };
    let bottleneck = network.connect((router, None), (hosts[0], None), config, link(None, 0)).unwrap();
    add(&mut network, hosts[0], Node::default());
    network.run(SECOND).unwrap();
    let stats = network.link_report(bottleneck, Way::Forth).stats;
    // At 0 one goes out and one waits; then each instant frees one place for two packets.
    assert_eq!((stats.offered_packets, stats.dropped_total(), stats.delivered_packets), (200, 99, 101));
}

/// A binary tree of routers, `depth` levels, with a host below each leaf and one at the root; the last is the root's.
fn tree(depth: u32, seed: u64, config: &LinkConfig) -> (Network, Vec<NodeId>) {
    let mut network = Network::new(seed);
    let routers: Vec<NodeId> =
        (1..1usize << depth).map(|n| network.add_router(&format!("r{n}"), Ipv4Addr::UNSPECIFIED).unwrap()).collect();
    for child in 2..=routers.len() {
        let (parent, child) = (routers[child / 2 - 1], routers[child - 1]);
        network.connect((parent, None), (child, None), config.clone(), config.clone()).unwrap();
    }
    let leaves = &routers[(1 << (depth - 1)) - 1..];
    let mut hosts = Vec::new();
    for (number, &router) in leaves.iter().chain([&routers[0]]).enumerate() {
        let host = network.add_host(&format!("h{number}"), address(number), None).unwrap();
        network.connect((host, None), (router, None), config.clone(), config.clone()).unwrap();
        hosts.push(host);
    }
    (network, hosts)
}

#[test]
fn any_member_hears_any_source_once() {
    let (mut network, hosts) = tree(5, 1, &link(Some(100_000_000), MILLISECOND));
    let logs: Vec<Log> = hosts.iter().map(|_| Log::default()).collect();
    // Two of three are members; three hosts send, one of which is none.
    let is_member = |host: usize| host % 3 != 1;
    let senders = [0usize, 7, 16];
    for (number, &host) in hosts.iter().enumerate() {
        let sends = if senders.contains(&number) { vec![(SECOND, GROUP), (2 * SECOND, GROUP)] } else { vec![] };
        add(&mut network, host, Node { log: logs[number].clone(), sends, joins: is_member(number), ..Node::default() });
    }
    network.run(3 * SECOND).unwrap();
    for (number, log) in logs.iter().enumerate() {
        let mut heard: Vec<Ipv4Addr> = log.lock().unwrap().iter().map(|&(_, source)| source).collect();
        heard.sort();
        let expected = senders.iter().filter(|&&sender| sender != number && is_member(number));
        assert_eq!(heard, expected.flat_map(|&sender| [address(sender); 2]).collect::<Vec<_>>(), "host {number}");
    }
}

#[test]
fn lost_reports_are_repeated() {
    // A report has three links to cross. Of two tries at one in ten, some are lost on both.
    let mut reached = 0;
    for seed in 0..50 {
        let lossy = LinkConfig { loss: LossConfig::Bernoulli(0.1), ..link(Some(100_000_000), MILLISECOND) };
        let (mut network, hosts) = tree(2, seed, &lossy);
        let sink = UdpSink::joining(vec![((GROUP, Some(address(2))), PORT)]);
        let sink = network.add_app(hosts[0], "sink", Box::new(sink), &[], 0).unwrap();
        let gaps = Gaps::Constant(10 * MILLISECOND);
        let source = UdpSource::new(PORT, (GROUP, PORT), gaps, Sizes::Constant(100), network.stream("source"));
        network.add_app(hosts[2], "source", Box::new(source), &[(Protocol::Udp, PORT)], 2 * SECOND).unwrap();
        network.run(4 * SECOND).unwrap();
        reached += u32::from(network.app_value(sink, "received_packets") > Some(0.0));
    }
    assert!((44..50).contains(&reached), "{reached}"); // 1 - (1 - 0.9^2)^2 = 0.964, or less where one link alone lost it
}

#[test]
fn a_hosts_processing_takes_one_packet_after_another() {
    let mut network = Network::new(1);
    let router = network.add_router("router", Ipv4Addr::UNSPECIFIED).unwrap();
    let hosts: Vec<NodeId> = (0..11).map(|n| network.add_host(&format!("h{n}"), address(n), None).unwrap()).collect();
    for &host in &hosts {
        network.connect((host, None), (router, None), link(None, MILLISECOND), link(None, MILLISECOND)).unwrap();
    }
    let time = 300 * MICROSECOND;
    network.set_processing(hosts[0], None, Some(ProcessingTime { least: time, most: time })).unwrap();
    let log = Log::default();
    add(&mut network, hosts[0], Node { log: log.clone(), ..Node::default() });
    for &host in &hosts[1..] {
        add(&mut network, host, Node { sends: vec![(0, address(0))], ..Node::default() });
    }
    network.run(SECOND).unwrap();
    let times: Vec<Nanos> = log.lock().unwrap().iter().map(|&(time, _)| time).collect();
    assert_eq!(times, (1..=10).map(|n| 2 * MILLISECOND + n * time).collect::<Vec<_>>());
}

#[test]
fn a_network_in_pieces_is_refused() {
    let mut network = Network::new(1);
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| network.add_host(&format!("h{n}"), address(n), None).unwrap());
    for (one, other) in [(a, b), (c, d)] {
        network.connect((one, None), (other, None), LinkConfig::default(), LinkConfig::default()).unwrap();
    }
    let error = network.run(1).unwrap_err();
    assert!(matches!(&error, RunError::Build(BuildError::Unconnected(name)) if name == "h2"), "{error}");
    assert!(Network::new(1).run(SECOND).is_ok());
}

#[test]
fn packets_for_nobody_end_and_are_counted() {
    let (mut network, hosts) = tree(3, 1, &link(Some(100_000_000), MILLISECOND));
    let sends = vec![(0, address(1)), (1, GROUP), (2, Ipv4Addr::new(10, 9, 9, 9))];
    add(&mut network, hosts[0], Node { sends, ..Node::default() });
    network.run(SECOND).unwrap();
    let NodeReport::Host(counts, drops) = network.node_report(hosts[0]) else { panic!("not a host") };
    assert_eq!((counts.sent_packets, drops.no_such_host), (2, 1));
    let NodeReport::Host(_, drops) = network.node_report(hosts[1]) else { panic!("not a host") };
    assert_eq!(drops.no_program, 1);
    let leaf = network.node("r4").unwrap();
    let NodeReport::Router(drops) = network.node_report(leaf) else { panic!("not a router") };
    assert_eq!(drops.no_members, 1);
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let run = |seed| {
        let lossy = LinkConfig { loss: LossConfig::Bernoulli(0.05), ..link(Some(10_000_000), MILLISECOND) };
        let (mut network, hosts) = tree(4, seed, &lossy);
        for (number, &host) in hosts[..8].iter().enumerate() {
            let stream = network.stream(&format!("source {number}"));
            let gaps = Gaps::Poisson { mean: 2 * MILLISECOND };
            let app =
                UdpSource::new(PORT, (address(7 - number), PORT), gaps, Sizes::Exponential { mean: 900.0 }, stream);
            network.add_app(host, "source", Box::new(app), &[(Protocol::Udp, PORT)], 0).unwrap();
        }
        network.sample_every(100 * MILLISECOND);
        network.run(5 * SECOND).unwrap();
        (network.events(), network.take_series())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).1, run(2).1);
}

#[test]
fn a_series_is_the_same_on_every_machine() {
    // Its hash, as it came out when this test was written: another one on another machine is a defect.
    let mut network = sim::bench::chains(3, 4).unwrap();
    network.sample_every(10 * MILLISECOND);
    network.run(SECOND).unwrap();
    let series = network.take_series();
    let hash = series
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &octet| (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3));
    assert_eq!((series.len(), hash), (565_423, 17_872_569_367_272_996_348));
}
