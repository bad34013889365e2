//! Networks whose simulation is timed, by `canopy bench sim` and `examples/speed.rs`. No clock in here: callers time.

pub mod canopy;

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use link::{Limit, LinkConfig, QueueConfig};

use crate::app::Protocol;
use crate::apps::{Gaps, Sizes, UdpSink, UdpSource};
use crate::frame::Mac;
use crate::network::{BuildError, Network};
use crate::time::{Nanos, MILLISECOND};

/// Links of the kind that all of these networks consist of.
fn link() -> LinkConfig {
    LinkConfig {
        rate_bps: Some(100_000_000),
        delay_ns: MILLISECOND,
        queue: QueueConfig::DropTail(Limit::Packets(100)),
        ..LinkConfig::default()
    }
}

/// Packets of 1,000 octets at nine tenths of the links' rate.
const GAP: Nanos = 1_000 * 8 * 10 / 9 * 10;
const PAYLOAD: usize = 958;
const PORT: u16 = 9;

/// `chains` chains of `hops` links with a Poisson stream along each, tied together at one hub by idle links.
pub fn chains(chains: u32, hops: u32) -> Result<Network, BuildError> {
    let mut network = Network::new(1);
    let hub = network.add_router("hub", Ipv4Addr::new(10, 255, 0, 1))?;
    for chain in 0..chains {
        let address = |end: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + 2 * chain + end + 1);
        let source = network.add_host(&format!("source{chain}"), address(0), None)?;
        let sink = network.add_host(&format!("sink{chain}"), address(1), None)?;
        let mut last = source;
        for hop in 1..hops {
            let router = network.add_router(&format!("router{chain}.{hop}"), Ipv4Addr::new(10, 255, 0, 1))?;
            network.connect((last, None), (router, None), link(), link())?;
            last = router;
        }
        network.connect((last, None), (sink, None), link(), link())?;
        network.connect((last, None), (hub, None), link(), link())?;
        let stream = network.stream(&format!("source{chain}"));
        let app =
            UdpSource::new(PORT, (address(1), PORT), Gaps::Poisson { mean: GAP }, Sizes::Constant(PAYLOAD), stream);
        network.add_app(source, "source", Box::new(app), &[(Protocol::Udp, PORT)], 0)?;
        network.add_app(sink, "sink", Box::new(UdpSink::default()), &[(Protocol::Udp, PORT)], 0)?;
    }
    Ok(network)
}

/// One router with `receivers` hosts that all listen to one source's group.
pub fn star(receivers: u32) -> Result<Network, BuildError> {
    let mut network = Network::new(1);
    let address = |number: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + number);
    let group = Ipv4Addr::new(232, 0, 0, 1);
    let hub = network.add_router("hub", Ipv4Addr::new(10, 255, 0, 1))?;
    let source = network.add_host("source", address(0), None)?;
    network.connect((source, None), (hub, None), link(), link())?;
    for number in 1..=receivers {
        let receiver = network.add_host(&format!("receiver{number}"), address(number), None)?;
        network.connect((hub, None), (receiver, None), link(), link())?;
        let sink = UdpSink::joining(vec![((group, Some(address(0))), PORT)]);
        network.add_app(receiver, "sink", Box::new(sink), &[], 0)?;
    }
    let stream = network.stream("source");
    let gaps = Gaps::Constant(10 * MILLISECOND);
    let app = UdpSource::new(PORT, (group, PORT), gaps, Sizes::Constant(PAYLOAD), stream);
    network.add_app(source, "source", Box::new(app), &[(Protocol::Udp, PORT)], 10 * MILLISECOND)?;
    Ok(network)
}

/// A chain of `switches` P4 switches that run the project's program (p4c's JSON of it), with a Poisson stream along it.
pub fn p4_chain(program_json: &str, switches: u8) -> Result<Network, Box<dyn Error + Send + Sync>> {
    let program = p4vm::Program::from_json(program_json)?;
    let mut network = Network::new(1);
    let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let sink_mac: Mac = [0x02, 0, 0, 1, 0, 0];
    let source = network.add_host("source", from, None)?;
    let sink = network.add_host("sink", to, Some(sink_mac))?;
    let mac = |number: u8| -> Mac { [0x02, 0, 0, 2, 0, number] };
    let mut last = source;
    for number in 1..=switches {
        let switch = canopy::switch(&program, u64::from(number), mac(number), 2, p4vm::Backend::default())?;
        let next = if number == switches { sink_mac } else { mac(number + 1) };
        canopy::route_host(&switch, to, 2, next)?;
        let node = network.add_switch(&format!("s{number}"), Arc::clone(&switch) as _, Some(mac(number)))?;
        network.connect((last, None), (node, Some(1)), link(), link())?;
        last = node;
    }
    network.connect((last, None), (sink, None), link(), link())?;
    let stream = network.stream("source");
    let app = UdpSource::new(PORT, (to, PORT), Gaps::Poisson { mean: GAP }, Sizes::Constant(PAYLOAD), stream);
    network.add_app(source, "source", Box::new(app), &[(Protocol::Udp, PORT)], 0)?;
    network.add_app(sink, "sink", Box::new(UdpSink::default()), &[(Protocol::Udp, PORT)], 0)?;
    Ok(network)
}
