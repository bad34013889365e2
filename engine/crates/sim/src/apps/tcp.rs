//! TCP's two ends on hosts: a transfer, and a sink for any number of them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::app::{App, AppError, Context, Effect};
use crate::packet::{Body, Packet};
use crate::tcp::{Counters, Receiver, ReceiverConfig, Segment, Sender, SenderConfig};
use crate::time::{to_seconds, Nanos, MILLISECOND};

/// A sender of one transfer, from one of its host's ports to a sink.
pub struct TcpSource {
    sender: Sender,
    port: u16,
    destination: (Ipv4Addr, u16),
    /// Put a sample into the time series whenever the window has changed.
    traced: bool,
    last: (f64, f64, Counters),
    out: Vec<Segment>,
}

impl TcpSource {
    pub fn new(config: SenderConfig, port: u16, destination: (Ipv4Addr, u16)) -> Self {
        let sender = Sender::new(config);
        Self { sender, port, destination, traced: false, last: Default::default(), out: Vec::new() }
    }

    /// Traces the window, the threshold, round trip times and retransmissions at each change.
    pub fn traced(mut self) -> Self {
        self.traced = true;
        self
    }

    fn emit(&mut self, context: &mut Context<'_>) {
        for segment in self.out.drain(..) {
            context.send_tcp(self.port, self.destination, segment);
        }
        if self.traced {
            let mut counters = self.sender.counters();
            counters.packets_sent = 0; // a new packet alone is no news
            let state = (self.sender.cwnd(), self.sender.ssthresh(), counters);
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
        let counters = self.sender.counters();
        let milliseconds = |time: Option<Nanos>| time.map_or(f64::NAN, |time| time as f64 / MILLISECOND as f64);
        vec![
            ("cwnd_packets", self.sender.cwnd()),
            ("ssthresh_packets", self.sender.ssthresh()),
            ("srtt_ms", milliseconds(self.sender.srtt())),
            ("rtt_ms", milliseconds(self.sender.latest_rtt())),
            ("rto_ms", milliseconds(Some(self.sender.rto()))),
            ("sent_packets", counters.packets_sent as f64),
            ("retransmissions", counters.retransmissions as f64),
            ("fast_retransmits", counters.fast_retransmits as f64),
            ("timeouts", counters.timeouts as f64),
            ("acknowledged_bytes", self.sender.acknowledged() as f64),
            ("finished_at_s", self.sender.finished_at().map_or(f64::NAN, to_seconds)),
        ]
    }
}

/// Receives any number of transfers at one port, each by its sender's address and port.
pub struct TcpSink {
    config: ReceiverConfig,
    port: u16,
    receivers: BTreeMap<(Ipv4Addr, u16), Receiver>,
    /// Octets in order of receivers that were replaced by a new connection from the same port.
    past_bytes: u64,
    connections: u64,
}

impl TcpSink {
    pub fn new(config: ReceiverConfig, port: u16) -> Self {
        Self { config, port, receivers: BTreeMap::new(), past_bytes: 0, connections: 0 }
    }

    /// The receiver of a segment's connection. A SYN opens one, and replaces one that was complete.
    fn receiver(&mut self, peer: (Ipv4Addr, u16), segment: &Segment) -> Option<&mut Receiver> {
        let is_new = self.receivers.get(&peer).is_none_or(Receiver::is_complete);
        if segment.syn && is_new {
            self.connections += 1;
            let before = self.receivers.insert(peer, Receiver::new(self.config.clone()));
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
            let ack = self.receiver(peer, &tcp.segment).and_then(|receiver| receiver.receive(&tcp.segment, now));
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
        self.config.delayed_ack.and_then(|_| self.receivers.values().filter_map(Receiver::wake_at).min())
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        let received: u64 = self.receivers.values().map(Receiver::received).sum();
        let (segments, duplicates) =
            self.receivers.values().map(Receiver::segments).fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        vec![
            ("received_bytes", (self.past_bytes + received) as f64),
            ("received_segments", segments as f64),
            ("duplicate_segments", duplicates as f64),
            ("connections", self.connections as f64),
        ]
    }
}
