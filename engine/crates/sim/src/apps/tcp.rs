//! TCP's two ends on hosts: a transfer, and a sink for any number of them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::app::{App, AppError, Context, Effect};
use crate::packet::{Body, Packet};
use crate::tcp::{AnyReceiver, AnyReceiverConfig, AnySender, AnySenderConfig, Outgoing, Segment};
use crate::time::Nanos;

/// A sender of one transfer, from one of its host's ports to a sink.
pub struct TcpSource {
    sender: AnySender,
    port: u16,
    destination: (Ipv4Addr, u16),
    /// Put a sample into the time series whenever the window has changed.
    traced: bool,
    last: (f64, f64, u64),
    out: Outgoing,
}

impl TcpSource {
    pub fn new(config: impl Into<AnySenderConfig>, port: u16, destination: (Ipv4Addr, u16)) -> Self {
        let sender = AnySender::new(config.into());
        Self { sender, port, destination, traced: false, last: Default::default(), out: Vec::new() }
    }

    /// Traces the window, the threshold, round trip times and retransmissions at each change.
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    fn emit(&mut self, context: &mut Context<'_>) {
        for (segment, codepoint) in self.out.drain(..) {
            context.send_tcp_ecn(self.port, self.destination, segment, codepoint);
        }
        if self.traced {
            let state = self.sender.state();
            if state != self.last {
                self.last = state;
                context.effects.push(Effect::Sample);
            }
        }
    }
}

impl App for TcpSource {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.sender.start(context.now, &mut self.out);
        self.emit(context);
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        if let Body::Tcp(tcp) = &packet.body {
            if (packet.source, tcp.source_port) == self.destination {
                self.sender.receive(&tcp.segment, context.now, &mut self.out);
                self.emit(context);
            }
        }
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.sender.handle_timer(context.now, &mut self.out);
        self.emit(context);
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.sender.wake_at()
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        self.sender.sample()
    }
}

/// Receives any number of transfers at one port, each by its sender's address and port.
pub struct TcpSink {
    config: AnyReceiverConfig,
    port: u16,
    receivers: BTreeMap<(Ipv4Addr, u16), AnyReceiver>,
    /// Octets in order of receivers that were replaced by a new connection from the same port.
    past_bytes: u64,
    connections: u64,
}

impl TcpSink {
    pub fn new(config: impl Into<AnyReceiverConfig>, port: u16) -> Self {
        Self { config: config.into(), port, receivers: BTreeMap::new(), past_bytes: 0, connections: 0 }
    }

    /// The receiver of a segment's connection. A SYN opens one, and replaces one that was complete.
    fn receiver(&mut self, peer: (Ipv4Addr, u16), segment: &Segment) -> Option<&mut AnyReceiver> {
        let is_new = self.receivers.get(&peer).is_none_or(AnyReceiver::is_complete);
        if segment.syn && is_new {
            self.connections += 1;
            let before = self.receivers.insert(peer, AnyReceiver::new(&self.config, segment));
            self.past_bytes += before.map_or(0, |receiver| receiver.received());
        }
        self.receivers.get_mut(&peer)
    }
}

impl App for TcpSink {
    fn start(&mut self, _context: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        if let Body::Tcp(tcp) = &packet.body {
            let peer = (packet.source, tcp.source_port);
            let now = context.now;
            let receiver = self.receiver(peer, &tcp.segment);
            let ack = receiver.and_then(|receiver| receiver.receive(&tcp.segment, packet.ecn, now));
            if let Some(ack) = ack {
                context.send_tcp(self.port, peer, ack);
            }
        }
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        for (&peer, receiver) in &mut self.receivers {
            if let Some(ack) = receiver.handle_timer(context.now) {
                context.send_tcp(self.port, peer, ack);
            }
        }
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        // Without delayed acknowledgments there is no timer to look for.
        let timers = self.config.delays().then(|| self.receivers.values().filter_map(AnyReceiver::wake_at));
        timers.and_then(Iterator::min)
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        let received: u64 = self.receivers.values().map(AnyReceiver::received).sum();
        let (segments, duplicates) = self
            .receivers
            .values()
            .map(AnyReceiver::segments)
            .fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        vec![
            ("received_bytes", (self.past_bytes + received) as f64),
            ("received_segments", segments as f64),
            ("duplicate_segments", duplicates as f64),
            ("connections", self.connections as f64),
        ]
    }
}
