//! Web-like traffic: short TCP transfers that begin at random, with Pareto distributed sizes.

use std::net::Ipv4Addr;

use link::random::Stream;

use crate::app::{App, AppError, Context};
use crate::packet::{Body, Packet};
use crate::random::{exponential, pareto};
use crate::tcp::{AnySender, AnySenderConfig, Outgoing};
use crate::time::{from_seconds, to_seconds, Nanos};

#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// Transfers begin as a Poisson stream with this mean gap.
    pub mean_gap: Nanos,
    /// Octets of a transfer, on average.
    pub mean_size: f64,
    /// Of the sizes' Pareto distribution, above 1 (Crovella and Bestavros, 1997, measured 1.0 to 1.3).
    pub shape: f64,
    /// Ports from `first_port` on, one for each transfer that goes on; a transfer that finds none free is not begun.
    pub first_port: u16,
    pub ports: u16,
}

/// Sends transfers to one sink, each on a connection of its own.
pub struct WebSource {
    config: WebConfig,
    tcp: AnySenderConfig,
    destination: (Ipv4Addr, u16),
    stream: Stream,
    stop_at: Option<Nanos>,
    next_at: Option<Nanos>,
    /// By port.
    transfers: Vec<Option<AnySender>>,
    next_port: usize,
    begun: u64,
    refused: u64,
    finished: u64,
    finished_bytes: u64,
    out: Outgoing,
}

impl WebSource {
    pub fn new(
        config: WebConfig,
        tcp: impl Into<AnySenderConfig>,
        destination: (Ipv4Addr, u16),
        stream: Stream,
    ) -> Self {
        Self {
            transfers: (0..config.ports).map(|_| None).collect(),
            config,
            tcp: tcp.into(),
            destination,
            stream,
            stop_at: None,
            next_at: None,
            next_port: 0,
            begun: 0,
            refused: 0,
            finished: 0,
            finished_bytes: 0,
            out: Vec::new(),
        }
    }

    /// Begins nothing from this time on.
    pub fn until(mut self, time: Nanos) -> Self {
        self.stop_at = Some(time);
        self
    }

    fn draw_next(&mut self, now: Nanos) {
        let next = now + from_seconds(exponential(&mut self.stream, to_seconds(self.config.mean_gap)));
        self.next_at = Some(next).filter(|&time| self.stop_at.is_none_or(|stop| time < stop));
    }

    fn begin(&mut self, context: &mut Context<'_>) {
        let size = pareto(&mut self.stream, self.config.mean_size, self.config.shape).max(1.0) as u64;
        // Ports are used in turn, so that a late packet of an old transfer does not meet a new one.
        let ports = self.transfers.len();
        let free = (0..ports).map(|step| (self.next_port + step) % ports).find(|&at| self.transfers[at].is_none());
        let Some(at) = free else {
            self.refused += 1;
            return;
        };
        self.next_port = at + 1;
        self.begun += 1;
        let mut sender = AnySender::new(self.tcp.clone().with_transfer(size).varied_by(self.begun));
        sender.start(context.now, &mut self.out);
        self.transfers[at] = Some(sender);
        self.emit(at, context);
    }

    fn emit(&mut self, at: usize, context: &mut Context<'_>) {
        for (segment, codepoint) in self.out.drain(..) {
            context.send_tcp_ecn(self.config.first_port + at as u16, self.destination, segment, codepoint);
        }
        let done = self.transfers[at].take_if(|sender| sender.finished_at().is_some());
        if let Some(sender) = done {
            self.finished += 1;
            self.finished_bytes += sender.acknowledged();
        }
    }
}

impl App for WebSource {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.draw_next(context.now);
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        let Body::Tcp(tcp) = &packet.body else { return Ok(()) };
        let at = usize::from(tcp.destination_port.wrapping_sub(self.config.first_port));
        if let Some(Some(sender)) = self.transfers.get_mut(at) {
            sender.receive(&tcp.segment, context.now, &mut self.out);
            self.emit(at, context);
        }
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        for at in 0..self.transfers.len() {
            if let Some(sender) = &mut self.transfers[at] {
                sender.handle_timer(context.now, &mut self.out);
                self.emit(at, context);
            }
        }
        if self.next_at.is_some_and(|at| at <= context.now) {
            self.begin(context);
            self.draw_next(context.now);
        }
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        let timers = self.transfers.iter().flatten().filter_map(AnySender::wake_at);
        timers.chain(self.next_at).min()
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("transfers_begun", self.begun as f64),
            ("transfers_refused", self.refused as f64),
            ("transfers_finished", self.finished as f64),
            ("finished_bytes", self.finished_bytes as f64),
        ]
    }
}
