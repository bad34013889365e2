//! Flows that share one link: sources - router - bottleneck - router - sinks.

use std::net::Ipv4Addr;

use link::{Limit, LinkConfig, LossConfig, QueueConfig};
use sim::app::Protocol;
use sim::apps::{TcpSink, TcpSource};
use sim::tcp::{AnyReceiverConfig, AnySenderConfig};
use sim::time::{Nanos, MILLISECOND, SECOND};
use sim::{AppId, LinkId, Network, ProcessingTime};

pub const PORT: u16 = 5000;
/// Octets on the link of a full packet of the default sender.
pub const PACKET: f64 = 1000.0;
pub const MSS: f64 = 946.0;

pub struct Dumbbell {
    pub rate_bps: u64,
    /// Two-way propagation delay, all of it on the bottleneck.
    pub rtt: Nanos,
    pub queue: QueueConfig,
    pub loss: LossConfig,
    pub seed: u64,
    /// Most time a source takes for a packet; breaks phase effects.
    pub processing: Nanos,
    /// Links between the hosts and the bottleneck.
    pub access: LinkConfig,
    /// Sources write their windows into the time series.
    pub traced: bool,
}

impl Default for Dumbbell {
    fn default() -> Self {
        Self {
            rate_bps: 10_000_000,
            rtt: 40 * MILLISECOND,
            queue: QueueConfig::DropTail(Limit::Packets(50)),
            loss: LossConfig::None,
            seed: 1,
            processing: 0,
            access: fast(),
            traced: false,
        }
    }
}

pub struct Flow {
    pub source: AppId,
    pub sink: AppId,
}

pub fn fast() -> LinkConfig {
    LinkConfig {
        rate_bps: Some(1_000_000_000),
        queue: QueueConfig::DropTail(Limit::Packets(10_000)),
        ..LinkConfig::default()
    }
}

impl Dumbbell {
    /// The network, its flows, and the bottleneck. Flows start 100 ms after one another.
    pub fn build<S, R>(&self, flows: &[(S, R)]) -> (Network, Vec<Flow>, LinkId)
    where
        S: Clone + Into<AnySenderConfig>,
        R: Clone + Into<AnyReceiverConfig>,
    {
        let mut network = Network::new(self.seed);
        let address = |side: u8, number: usize| Ipv4Addr::new(10, 0, side, number as u8 + 1);
        let left = network.add_router("left", address(9, 0)).unwrap();
        let right = network.add_router("right", address(9, 1)).unwrap();
        let forth = LinkConfig {
            rate_bps: Some(self.rate_bps),
            delay_ns: self.rtt / 2,
            queue: self.queue.clone(),
            loss: self.loss,
            ..LinkConfig::default()
        };
        let back = LinkConfig { delay_ns: self.rtt / 2, ..self.access.clone() };
        let bottleneck = network.connect((left, None), (right, None), forth, back).unwrap();
        let mut built = Vec::new();
        for (number, (sender, receiver)) in flows.iter().enumerate() {
            let source_host = network.add_host(&format!("source{number}"), address(1, number), None).unwrap();
            let sink_host = network.add_host(&format!("sink{number}"), address(2, number), None).unwrap();
            network.connect((source_host, None), (left, None), self.access.clone(), self.access.clone()).unwrap();
            network.connect((right, None), (sink_host, None), self.access.clone(), self.access.clone()).unwrap();
            if self.processing > 0 {
                let time = ProcessingTime { least: 0, most: self.processing };
                network.set_processing(source_host, Some(time), None).unwrap();
            }
            let mut source =
                TcpSource::new(sender.clone().into().with_seed(number as u64), PORT, (address(2, number), PORT));
            if self.traced {
                source = source.traced();
            }
            let sink = TcpSink::new(receiver.clone(), PORT);
            let start = number as u64 * 100 * MILLISECOND;
            let ports = [(Protocol::Tcp, PORT)];
            built.push(Flow {
                sink: network.add_app(sink_host, "sink", Box::new(sink), &ports, 0).unwrap(),
                source: network.add_app(source_host, "source", Box::new(source), &ports, start).unwrap(),
            });
        }
        (network, built, bottleneck)
    }
}

/// Faster than any bottleneck.
pub fn faster() -> LinkConfig {
    LinkConfig { rate_bps: Some(10_000_000_000), queue: QueueConfig::DropTail(Limit::Packets(100_000)), ..fast() }
}

/// Octets that each flow delivers between two times, a second.
pub fn goodputs(network: &mut Network, flows: &[Flow], from: Nanos, to: Nanos) -> Vec<f64> {
    let received = |network: &Network| -> Vec<f64> {
        flows.iter().map(|flow| network.app_value(flow.sink, "received_bytes").unwrap()).collect()
    };
    network.run(from).unwrap();
    let before = received(network);
    network.run(to).unwrap();
    let seconds = (to - from) as f64 / SECOND as f64;
    received(network).iter().zip(before).map(|(after, before)| (after - before) / seconds).collect()
}

/// Jain's fairness index.
pub fn jain(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>().powi(2) / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
}
