//! What runs on a host: a program that is handed packets and the time, and answers with effects.

use std::any::Any;
use std::error::Error;
use std::net::Ipv4Addr;

use crate::id::NodeId;
use crate::igmp::Subscription;
use crate::packet::{Packet, Payload};
use crate::tcp::Segment;
use crate::time::Nanos;

/// A program on a host. It never sleeps and has no clock: the network calls it.
pub trait App: Send {
    /// Called once, at the time the program was given when it was added.
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError>;
    /// A packet for one of the program's ports, or for a group and port that it joined.
    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError>;
    /// `wake_at` has come.
    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError>;
    /// An action of this number was asked for by [`Change::Act`](crate::Change::Act).
    fn act(&mut self, _number: u64, _context: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }
    /// When `handle_timer` wants to be called; read after each call.
    fn wake_at(&self) -> Option<Nanos>;
    /// Lets the program's owner recognise it.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
    /// What the program counts and measures, by name, for summaries and time series.
    fn sample(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// A program failed, with its own error (an exception of another language, for one).
pub type AppError = Box<dyn Error + Send + Sync>;

/// What a program wants done. Carried out in order, when its call returns.
#[derive(Clone, Debug)]
pub enum Effect {
    Send(Packet),
    /// Receive what is sent to the subscription's group at this port.
    Join(Subscription, u16),
    Leave(Subscription, u16),
    /// Put the program's sample into the time series.
    Sample,
    /// Hand a frame to a switch's ingress at this port (a packet-out: the CPU port).
    PacketOut(NodeId, u16, Vec<u8>),
}

/// What a program knows and can do during a call.
pub struct Context<'a> {
    pub now: Nanos,
    /// The host's address.
    pub address: Ipv4Addr,
    pub effects: &'a mut Vec<Effect>,
}

impl Context<'_> {
    pub fn send_udp(&mut self, port: u16, destination: (Ipv4Addr, u16), payload: Payload) {
        self.send_udp_ecn(port, destination, payload, 0);
    }

    /// With this codepoint of explicit congestion notification in the IP header.
    pub fn send_udp_ecn(&mut self, port: u16, destination: (Ipv4Addr, u16), payload: Payload, codepoint: u8) {
        let packet = Packet::udp((self.address, port), destination, payload);
        self.effects.push(Effect::Send(Packet { ecn: codepoint, ..packet }));
    }

    pub fn send_tcp(&mut self, port: u16, destination: (Ipv4Addr, u16), segment: Segment) {
        self.effects.push(Effect::Send(Packet::tcp((self.address, port), destination, segment)));
    }

    /// With this codepoint of explicit congestion notification in the IP header.
    pub fn send_tcp_ecn(&mut self, port: u16, destination: (Ipv4Addr, u16), segment: Segment, codepoint: u8) {
        let packet = Packet::tcp((self.address, port), destination, segment);
        self.effects.push(Effect::Send(Packet { ecn: codepoint, ..packet }));
    }
}

/// What a port belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Udp,
    Tcp,
}
