//! UDP cross traffic: at a constant rate, at random, or on and off; and a sink that counts.

use std::any::Any;
use std::net::Ipv4Addr;
use std::sync::Arc;

use link::random::Stream;

use crate::app::{App, AppError, Context, Effect};
use crate::igmp::Subscription;
use crate::packet::{Body, Octets, Packet, Payload};
use crate::random::{exponential, pareto};
use crate::time::{from_seconds, to_seconds, Nanos};

/// Times between packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    Constant(Nanos),
    /// Exponential: a Poisson stream.
    Poisson {
        mean: Nanos,
    },
    /// A packet each `gap` during periods whose lengths are Pareto distributed, and silence between them (ns-2's
    /// Application/Traffic/Pareto). The shape holds for both kinds of period.
    OnOff {
        gap: Nanos,
        mean_on: Nanos,
        mean_off: Nanos,
        shape: f64,
    },
}

/// Octets of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    Constant(usize),
    /// Exponential on the link, headers included: a queue of these is an M/M/1.
    Exponential {
        mean: f64,
    },
}

/// So many octets of nothing, which take no memory of their own.
struct Zeros(usize);

static NOTHING: [u8; MAX_PAYLOAD] = [0; MAX_PAYLOAD];

impl Octets for Zeros {
    fn as_slice(&self) -> &[u8] {
        &NOTHING[..self.0.min(MAX_PAYLOAD)]
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn zeros(octets: usize) -> Payload {
    Payload(Arc::new(Zeros(octets)))
}

/// Headers of Ethernet, IPv4 and UDP.
const HEADERS: f64 = 42.0;
/// The most that fits into an IPv4 packet.
const MAX_PAYLOAD: usize = 65_507;

pub struct UdpSource {
    port: u16,
    destination: (Ipv4Addr, u16),
    gaps: Gaps,
    sizes: Sizes,
    stop_at: Option<Nanos>,
    stream: Stream,
    /// One payload for all packets of constant size.
    payload: Payload,
    next_at: Option<Nanos>,
    /// End of the period that sends.
    on_until: Nanos,
    sent_packets: u64,
    sent_bytes: u64,
}

impl UdpSource {
    pub fn new(port: u16, destination: (Ipv4Addr, u16), gaps: Gaps, sizes: Sizes, stream: Stream) -> Self {
        let payload = match sizes {
            Sizes::Constant(octets) => zeros(octets),
            Sizes::Exponential { .. } => zeros(0),
        };
        Self {
            port,
            destination,
            gaps,
            sizes,
            stop_at: None,
            stream,
            payload,
            next_at: None,
            on_until: 0,
            sent_packets: 0,
            sent_bytes: 0,
        }
    }

    /// Sends nothing from this time on.
    pub fn until(mut self, time: Nanos) -> Self {
        self.stop_at = Some(time);
        self
    }

    fn draw_payload(&mut self) -> Payload {
        match self.sizes {
            Sizes::Constant(_) => self.payload.clone(),
            Sizes::Exponential { mean } => {
                let octets = (exponential(&mut self.stream, mean) - HEADERS).round().clamp(0.0, MAX_PAYLOAD as f64);
                zeros(octets as usize)
            }
        }
    }

    /// The time of the packet after one at `now`.
    fn draw_next(&mut self, now: Nanos) -> Nanos {
        match self.gaps {
            Gaps::Constant(gap) => now + gap,
            Gaps::Poisson { mean } => now + from_seconds(exponential(&mut self.stream, to_seconds(mean))),
            Gaps::OnOff { gap, mean_on, mean_off, shape } => {
                let mut next = now + gap;
                if next >= self.on_until {
                    let mut draw = |mean| from_seconds(pareto(&mut self.stream, to_seconds(mean), shape));
                    next = self.on_until.max(now) + draw(mean_off);
                    self.on_until = next.saturating_add(draw(mean_on));
                }
                next
            }
        }
    }

    fn set_next(&mut self, time: Nanos) {
        self.next_at = Some(time).filter(|&time| self.stop_at.is_none_or(|stop| time < stop));
    }
}

impl App for UdpSource {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        // A constant rate begins at once; what is random begins as if it had been going on.
        let first = match self.gaps {
            Gaps::Constant(_) => context.now,
            Gaps::Poisson { .. } | Gaps::OnOff { .. } => self.draw_next(context.now),
        };
        self.set_next(first);
        Ok(())
    }

    fn receive(&mut self, _packet: &Packet, _context: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        let payload = self.draw_payload();
        self.sent_packets += 1;
        self.sent_bytes += payload.as_slice().len() as u64;
        context.send_udp(self.port, self.destination, payload);
        let next = self.draw_next(context.now);
        self.set_next(next);
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.next_at
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        vec![("sent_packets", self.sent_packets as f64), ("sent_bytes", self.sent_bytes as f64)]
    }
}

/// Counts what arrives, by unicast or from groups that it joins when it starts.
#[derive(Default)]
pub struct UdpSink {
    joins: Vec<(Subscription, u16)>,
    received_packets: u64,
    received_bytes: u64,
    last_at: Nanos,
}

impl UdpSink {
    pub fn joining(joins: Vec<(Subscription, u16)>) -> Self {
        Self { joins, ..Self::default() }
    }
}

impl App for UdpSink {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        context.effects.extend(self.joins.iter().map(|&(wanted, port)| Effect::Join(wanted, port)));
        Ok(())
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        if let Body::Udp(udp) = &packet.body {
            self.received_packets += 1;
            self.received_bytes += udp.payload.as_slice().len() as u64;
            self.last_at = context.now;
        }
        Ok(())
    }

    fn handle_timer(&mut self, _context: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn wake_at(&self) -> Option<Nanos> {
        None
    }

    fn sample(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("received_packets", self.received_packets as f64),
            ("received_bytes", self.received_bytes as f64),
            ("last_at_s", to_seconds(self.last_at)),
        ]
    }
}
