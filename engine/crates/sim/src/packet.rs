//! A packet on its way. Plain nodes pass its fields; P4 switches pass bytes, which are built when first needed.

use std::any::Any;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::frame;
use crate::igmp;
use crate::tcp::Segment;

/// What a datagram carries. One payload serves all copies of a packet, and may belong to another language's runtime.
pub trait Octets: Send + Sync + 'static {
    fn as_slice(&self) -> &[u8];
    /// Lets the payload's owner recognise it.
    fn as_any(&self) -> &dyn Any;
}

impl Octets for Vec<u8> {
    fn as_slice(&self) -> &[u8] {
        self
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Clone)]
pub struct Payload(pub Arc<dyn Octets>);

impl Payload {
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl From<Vec<u8>> for Payload {
    fn from(octets: Vec<u8>) -> Self {
        Self(Arc::new(octets))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} octets", self.as_slice().len())
    }
}

#[derive(Clone, Debug)]
pub struct Udp {
    pub source_port: u16,
    pub destination_port: u16,
    pub payload: Payload,
}

#[derive(Clone, Debug)]
pub struct Tcp {
    pub source_port: u16,
    pub destination_port: u16,
    pub segment: Segment,
}

#[derive(Clone, Debug)]
pub enum Body {
    Udp(Arc<Udp>),
    Tcp(Arc<Tcp>),
    Igmp(Arc<igmp::Message>),
}

/// Explicit congestion notification: the two bits of the IP header (RFC 3168, section 5).
pub const ECN_MASK: u8 = 0b11;
pub const ECN_CONGESTION_EXPERIENCED: u8 = 0b11;

/// Time to live of new packets (RFC 1340's default, and Linux').
pub const DEFAULT_TTL: u8 = 64;

/// An IPv4 packet in an Ethernet frame of `len` octets.
#[derive(Clone, Debug)]
pub struct Packet {
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub ttl: u8,
    pub ecn: u8,
    /// Octets on the link: the frame from its destination address to the end of the IP packet, without FCS.
    pub len: u32,
    pub body: Body,
}

impl Packet {
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, body: Body) -> Self {
        let ttl = if matches!(body, Body::Igmp(_)) { 1 } else { DEFAULT_TTL };
        let len = frame::length(&body) as u32;
        Self { source, destination, ttl, ecn: 0, len, body }
    }

    pub fn udp(source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16), payload: Payload) -> Self {
        let udp = Udp { source_port: source.1, destination_port: destination.1, payload };
        Self::new(source.0, destination.0, Body::Udp(Arc::new(udp)))
    }

    pub fn tcp(source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16), segment: Segment) -> Self {
        let tcp = Tcp { source_port: source.1, destination_port: destination.1, segment };
        Self::new(source.0, destination.0, Body::Tcp(Arc::new(tcp)))
    }

    pub fn is_ecn_capable(&self) -> bool {
        self.ecn & ECN_MASK != 0
    }
}

/// A packet in the form in which it travels a link.
#[derive(Clone, Debug)]
pub enum Load {
    Packet(Packet),
    /// A frame, as a P4 switch wrote it.
    Frame(Arc<[u8]>),
}

impl Load {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32 {
        match self {
            Load::Packet(packet) => packet.len,
            Load::Frame(frame) => frame.len() as u32,
        }
    }

    pub fn is_ecn_capable(&self) -> bool {
        match self {
            Load::Packet(packet) => packet.is_ecn_capable(),
            Load::Frame(frame) => frame::is_ecn_capable(frame),
        }
    }

    /// A queue marks the packet.
    pub fn mark(&mut self) {
        match self {
            Load::Packet(packet) => packet.ecn = ECN_CONGESTION_EXPERIENCED,
            Load::Frame(frame) => {
                let mut octets = frame.to_vec();
                frame::mark(&mut octets);
                *frame = octets.into();
            }
        }
    }
}
