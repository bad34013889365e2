//! Waiting times and losses of a link against queueing theory.

use std::net::Ipv4Addr;

use link::{Limit, LinkConfig, QueueConfig};
use sim::app::Protocol;
use sim::apps::{Gaps, Sizes, UdpSink, UdpSource};
use sim::time::{to_seconds, Nanos, SECOND};
use sim::{Network, Way};

const PORT: u16 = 9;
/// Exponential sizes have this mean, in octets on the link: large beside the headers, small beside the largest packet.
const MEAN: f64 = 6_000.0;

struct Seen {
    arrivals: f64,
    /// Mean number waiting, without the one in transmission.
    waiting: f64,
    loss: f64,
    seconds: f64,
}

/// A Poisson stream with this load over a link of 100 Mbit/s, behind a faster one.
fn observe(load: f64, sizes: Sizes, mean_octets: f64, limit: u32, packets: u64) -> Seen {
    let rate = 100_000_000.0;
    let gap = (mean_octets * 8.0 / rate / load * 1e9).round() as Nanos;
    let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let mut network = Network::new(3);
    let source = network.add_host("source", addresses[0], None).unwrap();
    let router = network.add_router("router", Ipv4Addr::new(10, 0, 0, 3)).unwrap();
    let sink = network.add_host("sink", addresses[1], None).unwrap();
    let unlimited = LinkConfig { rate_bps: None, ..LinkConfig::default() };
    let queue = QueueConfig::DropTail(Limit::Packets(limit));
    let bottleneck = LinkConfig { rate_bps: Some(rate as u64), queue, ..LinkConfig::default() };
    network.connect((source, None), (router, None), unlimited.clone(), unlimited.clone()).unwrap();
    let link = network.connect((router, None), (sink, None), bottleneck, unlimited).unwrap();
    let stream = network.stream("arrivals");
    let app = UdpSource::new(PORT, (addresses[1], PORT), Gaps::Poisson { mean: gap }, sizes, stream);
    network.add_app(source, "source", Box::new(app), &[(Protocol::Udp, PORT)], 0).unwrap();
    network.add_app(sink, "sink", Box::new(UdpSink::default()), &[(Protocol::Udp, PORT)], 0).unwrap();
    network.run(gap * packets).unwrap();
    let stats = network.link_report(link, Way::Forth).stats.clone();
    Seen {
        arrivals: stats.offered_packets as f64,
        waiting: stats.mean_queue_packets(),
        loss: stats.dropped_total() as f64 / stats.offered_packets as f64,
        seconds: to_seconds(network.now()),
    }
}

/// Little's law: the mean wait of those who got in.
fn mean_wait(seen: &Seen) -> f64 {
    seen.waiting * seen.seconds / (seen.arrivals * (1.0 - seen.loss))
}

fn assert_within_2_percent(what: &str, measured: f64, theory: f64) {
    assert!((measured / theory - 1.0).abs() < 0.02, "{what}: {measured}, theory {theory}");
}

#[test]
fn constant_sizes_wait_as_in_m_d_1() {
    for load in [0.5, 0.8] {
        let octets = 1_000.0;
        let seen = observe(load, Sizes::Constant(958), octets, u32::MAX, 2_000_000);
        let service = octets * 8.0 / 1e8;
        assert_eq!(seen.loss, 0.0);
        assert_within_2_percent("wait", mean_wait(&seen), load * service / (2.0 * (1.0 - load)));
    }
}

fn assert_m_m_1_k(load: f64, limit: u32) {
    let seen = observe(load, Sizes::Exponential { mean: MEAN }, MEAN, limit, 3_000_000);
    // K in the system: those who wait and the one in transmission.
    let k = f64::from(limit) + 1.0;
    let probability = |n: f64| (1.0 - load) * load.powf(n) / (1.0 - load.powf(k + 1.0));
    let waiting: f64 = (1..=limit).map(|n| f64::from(n) * probability(f64::from(n) + 1.0)).sum();
    assert_within_2_percent("loss", seen.loss, probability(k));
    assert_within_2_percent("waiting", seen.waiting, waiting);
    let rate_in = load / (MEAN * 8.0 / 1e8) * (1.0 - probability(k));
    assert_within_2_percent("wait", mean_wait(&seen), waiting / rate_in);
}

#[test]
fn exponential_sizes_wait_and_are_lost_as_in_m_m_1_k_below_the_rate() {
    assert_m_m_1_k(0.7, 9);
}

#[test]
fn exponential_sizes_wait_and_are_lost_as_in_m_m_1_k_near_the_rate() {
    assert_m_m_1_k(0.95, 7);
}

#[test]
fn exponential_sizes_wait_and_are_lost_as_in_m_m_1_k_above_the_rate() {
    assert_m_m_1_k(1.2, 9);
}

#[test]
fn exactly_half_of_twice_the_rate_is_lost() {
    // Two packets arrive each service time: of each two, one finds the place that a departure has just made.
    let seen = {
        let addresses = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let mut network = Network::new(1);
        let source = network.add_host("source", addresses[0], None).unwrap();
        let sink = network.add_host("sink", addresses[1], None).unwrap();
        let queue = QueueConfig::DropTail(Limit::Packets(5));
        let config = LinkConfig { rate_bps: Some(8_000_000), queue, ..LinkConfig::default() };
        let link = network.connect((source, None), (sink, None), config.clone(), config).unwrap();
        let gaps = Gaps::Constant(500_000);
        let stream = network.stream("unused");
        let app = UdpSource::new(PORT, (addresses[1], PORT), gaps, Sizes::Constant(958), stream);
        network.add_app(source, "source", Box::new(app), &[(Protocol::Udp, PORT)], 0).unwrap();
        network.run(10 * SECOND - 1).unwrap();
        network.link_report(link, Way::Forth).stats.clone()
    };
    assert_eq!(seen.offered_packets, 20_000);
    // Five wait and one is under way at the end: all others were sent, one a millisecond, or dropped.
    assert_eq!((seen.sent_packets, seen.dropped_total()), (10_000, 20_000 - 10_000 - 5));
}
