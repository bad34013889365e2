//! Plain routers and P4 switches deliver the same packets at the same times.
//!
//! ```text
//!   source ── s1 ──┬── s2 ──┬── a        s1-s2: 5 ms, a queue of 10, 1 % loss
//!                  │        └── b        s1-s3: slower than the stream
//!                  └── s3 ──┬── c
//!                           └── d
//! ```

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use link::{Limit, LinkConfig, LossConfig, QueueConfig, RedConfig};
use sim::app::{App, AppError, Context, Effect, Protocol};
use sim::apps::{Gaps, Sizes, TcpSink, TcpSource, UdpSource};
use sim::bench::canopy;
use sim::frame::Mac;
use sim::igmp::Subscription;
use sim::packet::{Body, Packet, Payload};
use sim::tcp::{ReceiverConfig, SenderConfig};
use sim::time::{Nanos, MILLISECOND, SECOND};
use sim::{LocalSwitch, Network, NodeId};

const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
const PORT: u16 = 6000;
const TCP_PORT: u16 = 7000;

fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + host as u8)
}

fn host_mac(host: usize) -> Mac {
    [0x02, 0, 0, 0, 1, host as u8]
}

fn switch_mac(switch: usize) -> Mac {
    [0x02, 0, 0, 0, 2, switch as u8]
}

/// Time and first octets of each datagram.
type Log = Arc<Mutex<Vec<(Nanos, u64)>>>;

/// Sends a numbered datagram each `gap`.
struct Counter {
    gap: Nanos,
    next: Option<Nanos>,
    number: u64,
}

impl App for Counter {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.next = Some(context.now);
        Ok(())
    }

    fn receive(&mut self, _: &Packet, _: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        let mut octets = vec![0; 958];
        octets[..8].copy_from_slice(&self.number.to_be_bytes());
        context.send_udp(PORT, (GROUP, PORT), Payload::from(octets));
        self.number += 1;
        self.next = Some(context.now + self.gap);
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.next
    }
}

/// Is a member in the periods given, and logs what arrives.
struct Listener {
    changes: Vec<(Nanos, bool)>,
    log: Log,
}

impl App for Listener {
    fn start(&mut self, _: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        let Body::Udp(udp) = &packet.body else { return Ok(()) };
        let octets = udp.payload.as_slice();
        let number = u64::from_be_bytes(octets[..8].try_into()?);
        self.log.lock().unwrap().push((context.now, number));
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        let wanted: Subscription = (GROUP, Some(address(0)));
        let (_, joins) = self.changes.remove(0);
        context.effects.push(if joins { Effect::Join(wanted, PORT) } else { Effect::Leave(wanted, PORT) });
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.changes.first().map(|&(time, _)| time)
    }
}

struct Built {
    network: Network,
    logs: Vec<Log>,
    tcp: sim::AppId,
    switches: Vec<Arc<LocalSwitch>>,
}

/// Port 1 of each switch leads up, 2 and 3 down.
fn build(with_p4: bool) -> Built {
    let mut network = Network::new(5);
    let hosts: Vec<NodeId> = (0..5)
        .map(|host| network.add_host(&format!("h{host}"), address(host), Some(host_mac(host))).unwrap())
        .collect();
    let mut switches = Vec::new();
    let nodes: Vec<NodeId> = (0..3)
        .map(|number| match with_p4 {
            false => network.add_router(&format!("s{number}"), Ipv4Addr::new(10, 1, 0, number as u8)).unwrap(),
            true => {
                let switch = p4_switch(number);
                switches.push(Arc::clone(&switch));
                network.add_switch(&format!("s{number}"), switch, Some(switch_mac(number))).unwrap()
            }
        })
        .collect();
    let link = |rate, delay_ns, queue, loss| LinkConfig {
        rate_bps: Some(rate),
        delay_ns,
        queue,
        loss,
        ..LinkConfig::default()
    };
    let tail = QueueConfig::DropTail;
    let plain = || link(100_000_000, MILLISECOND, tail(Limit::Packets(100)), LossConfig::None);
    let lossy = || link(12_000_000, 5 * MILLISECOND, tail(Limit::Packets(10)), LossConfig::Bernoulli(0.01));
    let red = RedConfig::new(Limit::Packets(30), 5.0, 15.0);
    let slow = || link(7_500_000, 2 * MILLISECOND, QueueConfig::Red(red.clone()), LossConfig::None);
    network.connect((hosts[0], None), (nodes[0], Some(1)), plain(), plain()).unwrap();
    network.connect((nodes[0], Some(2)), (nodes[1], Some(1)), lossy(), plain()).unwrap();
    network.connect((nodes[0], Some(3)), (nodes[2], Some(1)), slow(), plain()).unwrap();
    for (host, node, port) in [(1, 1, 2), (2, 1, 3), (3, 2, 2), (4, 2, 3)] {
        network.connect((nodes[node], Some(port)), (hosts[host], None), plain(), plain()).unwrap();
    }
    let counter = Counter { gap: 999_983, next: None, number: 0 };
    network.add_app(hosts[0], "counter", Box::new(counter), &[(Protocol::Udp, PORT)], 10 * MILLISECOND).unwrap();
    let second = |s: f64| (s * SECOND as f64) as Nanos;
    let members = [
        vec![(second(0.1), true)],
        vec![(second(0.5), true), (second(2.0), false), (second(3.0), true)],
        vec![(second(0.2), true), (second(4.0), false)],
        vec![(second(1.0), true), (second(5.0), false)],
    ];
    let mut logs = Vec::new();
    for (host, changes) in (1..).zip(members) {
        let log = Log::default();
        logs.push(Arc::clone(&log));
        network.add_app(hosts[host], "listener", Box::new(Listener { changes, log }), &[], 0).unwrap();
    }
    // A transfer and a stream at random beside them.
    let sender = SenderConfig { transfer: Some(2_000_000), ..SenderConfig::default() };
    let source = TcpSource::new(sender, TCP_PORT, (address(2), TCP_PORT));
    let sink = TcpSink::new(ReceiverConfig { delayed_ack: None, sack: true }, TCP_PORT);
    let ports = [(Protocol::Tcp, TCP_PORT)];
    let tcp = network.add_app(hosts[3], "source", Box::new(source), &ports, SECOND).unwrap();
    network.add_app(hosts[2], "sink", Box::new(sink), &ports, 0).unwrap();
    let gaps = Gaps::OnOff { gap: 500_000, mean_on: 50 * MILLISECOND, mean_off: 100 * MILLISECOND, shape: 1.5 };
    let burst = UdpSource::new(1, (address(1), 1), gaps, Sizes::Constant(500), network.stream("bursts"));
    network.add_app(hosts[4], "bursts", Box::new(burst), &[(Protocol::Udp, 1)], 0).unwrap();
    Built { network, logs, tcp, switches }
}

fn p4_switch(number: usize) -> Arc<LocalSwitch> {
    let json = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/canopy.json")).unwrap();
    let program = sim::p4vm::Program::from_json(&json).unwrap();
    let switch = canopy::switch(&program, 1, switch_mac(number), 3, sim::p4vm::Backend::Native).unwrap();
    // For each host the port, and the neighbour there.
    let below = [[0, 1, 1, 2, 2], [9, 2, 3, 9, 9], [9, 9, 9, 2, 3]][number];
    for (host, port) in below.into_iter().enumerate() {
        let (port, mac) = match (number, port) {
            (0, 0) => (1, host_mac(0)),
            (0, leaf) => (leaf as u16 + 1, switch_mac(leaf)),
            (_, 9) => (1, switch_mac(0)),
            (_, port) => (port as u16, host_mac(host)),
        };
        canopy::route_host(&switch, address(host), port, mac).unwrap();
    }
    // The source's own switch has nobody to pass joins to.
    let upstream = if number == 0 { 0 } else { 1 };
    canopy::route_source(&switch, (address(0), GROUP), 7, upstream, 1).unwrap();
    switch
}

#[test]
fn switches_and_routers_deliver_the_same_packets_at_the_same_times() {
    let [plain, p4] = [false, true].map(|with_p4| {
        let mut built = build(with_p4);
        built.network.run(8 * SECOND).unwrap();
        built
    });
    for host in 0..4 {
        let (one, other) = (plain.logs[host].lock().unwrap(), p4.logs[host].lock().unwrap());
        let differs = one.iter().zip(other.iter()).position(|(one, other)| one != other);
        assert_eq!(differs.map(|at| (at, one[at], other[at])), None, "receiver {host}");
        assert_eq!(one.len(), other.len());
        assert!(one.len() > 2_000, "{}", one.len());
    }
    let samples = [&plain, &p4].map(|built| format!("{:?}", built.network.app_sample(built.tcp)));
    assert_eq!(samples[0], samples[1]);
    for link in 0..plain.network.links() {
        for way in [sim::Way::Forth, sim::Way::Back] {
            let [one, other] = [&plain, &p4].map(|built| built.network.link_report(sim::LinkId(link), way).stats);
            assert_eq!((one.dropped_total(), one.delivered_bytes), (other.dropped_total(), other.delivered_bytes));
        }
    }
    assert!(plain.network.link_report(sim::LinkId(1), sim::Way::Forth).stats.dropped(link::Reason::Loss) > 20);
    assert!(plain.network.link_report(sim::LinkId(1), sim::Way::Forth).stats.dropped(link::Reason::QueueFull) > 20);
    assert!(plain.network.link_report(sim::LinkId(2), sim::Way::Forth).stats.dropped(link::Reason::RedEarly) > 20);
}

#[test]
fn a_switch_tells_its_control_plane() {
    let mut built = build(true);
    built.network.run(SECOND / 10 + 10 * MILLISECOND).unwrap();
    use sim::SwitchHandle;
    let mut events = Vec::new();
    built.switches[1].with(&mut |switch| events = switch.take_events(100));
    let is_digest = |event: &sim::p4vm::Event| matches!(event, sim::p4vm::Event::Digest { digest, .. } if digest.contains("members"));
    assert!(events.iter().any(is_digest), "{events:?}");
}
