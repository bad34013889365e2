//! Puts the simulator's own programs on hosts: TCP transfers and cross traffic, each with ports of its own.

use pyo3::prelude::*;
use sim::app::Protocol;
use sim::apps::{Gaps, Sizes, TcpSink, TcpSource, UdpSink, UdpSource, WebConfig, WebSource};
use sim::igmp::Subscription;
use sim::link::random::derive;
use sim::tcp::{AnyReceiverConfig, AnySenderConfig};
use sim::time::Nanos;

use super::endpoint::ipv4;
use super::Sim;

/// Connections that a web source may have at a time.
pub const WEB_PORTS: u16 = 1_024;

impl Sim {
    /// The numbers of source and sink.
    pub fn place_tcp(
        &self,
        (source, sink): (&str, &str),
        (sender, receiver): (AnySenderConfig, AnyReceiverConfig),
        start_at: Nanos,
        traced: bool,
    ) -> PyResult<(u32, u32)> {
        let (from, to, to_address) = (self.node(source)?, self.node(sink)?, self.address(sink)?);
        let port = self.new_port(1)?;
        let ports = [(Protocol::Tcp, port)];
        let sender = sender.with_seed(derive(self.network()?.seed(), &format!("tcp/{source}/{port}")));
        let mut app = TcpSource::new(sender, port, (to_address, port));
        if traced {
            app = app.traced();
        }
        self.build(|network| {
            let sink =
                network.add_app(to, &format!("tcp-sink-{port}"), Box::new(TcpSink::new(receiver, port)), &ports, 0)?;
            let source = network.add_app(from, &format!("tcp-source-{port}"), Box::new(app), &ports, start_at)?;
            Ok((source.0, sink.0))
        })
    }

    /// `port` is the destination's; none: the source's own.
    pub fn place_udp(
        &self,
        source: &str,
        (destination, port): (&str, Option<u16>),
        (gaps, sizes): (Gaps, Sizes),
        start_at: Nanos,
        stop_at: Option<Nanos>,
    ) -> PyResult<u32> {
        let node = self.node(source)?;
        let own_port = self.new_port(1)?;
        let destination = (ipv4(destination)?, port.unwrap_or(own_port));
        let name = format!("udp-source-{own_port}");
        self.build(|network| {
            let stream = network.stream(&format!("udp/{source}/{own_port}"));
            let mut app = UdpSource::new(own_port, destination, gaps, sizes, stream);
            if let Some(time) = stop_at {
                app = app.until(time);
            }
            network.add_app(node, &name, Box::new(app), &[(Protocol::Udp, own_port)], start_at).map(|id| id.0)
        })
    }

    pub fn place_udp_sink(
        &self,
        host: &str,
        port: u16,
        join: Option<(String, Option<String>)>,
        start_at: Nanos,
    ) -> PyResult<u32> {
        let host = self.node(host)?;
        let joins: Vec<(Subscription, u16)> = match join {
            None => Vec::new(),
            Some((group, source)) => vec![((ipv4(&group)?, source.map(|source| ipv4(&source)).transpose()?), port)],
        };
        // A group's port may be several programs'; a unicast port is one's.
        let ports: &[(Protocol, u16)] = if joins.is_empty() { &[(Protocol::Udp, port)] } else { &[] };
        let app = UdpSink::joining(joins);
        self.build(|network| network.add_app(host, &format!("udp-sink-{port}"), Box::new(app), ports, start_at))
            .map(|id| id.0)
    }

    /// The numbers of source and sink. `config` gets the first of the source's ports.
    pub fn place_web(
        &self,
        (source, sink): (&str, &str),
        (sender, receiver): (AnySenderConfig, AnyReceiverConfig),
        config: impl FnOnce(u16) -> PyResult<WebConfig>,
        start_at: Nanos,
        stop_at: Option<Nanos>,
    ) -> PyResult<(u32, u32)> {
        let first_port = self.new_port(WEB_PORTS)?;
        let config = config(first_port)?;
        let (from, to, to_address) = (self.node(source)?, self.node(sink)?, self.address(sink)?);
        let sender = sender.with_seed(derive(self.network()?.seed(), &format!("web-tcp/{source}/{first_port}")));
        let ports: Vec<(Protocol, u16)> = (0..WEB_PORTS).map(|at| (Protocol::Tcp, first_port + at)).collect();
        self.build(|network| {
            let stream = network.stream(&format!("web/{source}/{first_port}"));
            let mut app = WebSource::new(config, sender, (to_address, first_port), stream);
            if let Some(time) = stop_at {
                app = app.until(time);
            }
            let sink_app = TcpSink::new(receiver, first_port);
            let sink = network.add_app(to, &format!("web-sink-{first_port}"), Box::new(sink_app), &ports[..1], 0)?;
            let source = network.add_app(from, &format!("web-source-{first_port}"), Box::new(app), &ports, start_at)?;
            Ok((source.0, sink.0))
        })
    }
}
