//! A packet on its way. Plain nodes pass its fields; P4 switches pass bytes, which are built when first needed.

use std::any::Any;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use link::ecn::CONGESTION_EXPERIENCED;
use link::{frame, Arrival, Ecn};

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

/// Octets of the headers.
pub(crate) const ETHERNET: usize = 14;
pub(crate) const IPV4: usize = 20;
/// IGMP travels with the router alert option (RFC 3376, section 4; RFC 2113).
pub(crate) const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0x00, 0x00];
pub(crate) const UDP: usize = 8;
pub(crate) const TCP: usize = 20;

/// IPv4's numbers.
pub(crate) const PROTOCOL_IGMP: u8 = 2;
pub(crate) const PROTOCOL_TCP: u8 = 6;
pub(crate) const PROTOCOL_UDP: u8 = 17;

impl Body {
    /// Octets of the frame that carries it.
    pub(crate) fn frame_octets(&self) -> usize {
        ETHERNET
            + IPV4
            + match self {
                Body::Udp(udp) => UDP + udp.payload.as_slice().len(),
                Body::Tcp(tcp) => TCP + tcp.segment.options_len() + tcp.segment.len as usize,
                Body::Igmp(message) => ROUTER_ALERT.len() + message.octets(),
            }
    }
}

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
        let len = body.frame_octets() as u32;
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

    /// What a queue wants to know of it: its flow only if it sorts by that.
    pub fn arrival(&self, with_flow: bool) -> Arrival {
        let flow = if with_flow { self.flow() } else { 0 };
        Arrival { len: self.len, ecn: Ecn::from_tos(self.ecn), flow }
    }

    fn flow(&self) -> u32 {
        let (protocol, ports) = match &self.body {
            Body::Udp(udp) => (PROTOCOL_UDP, (udp.source_port, udp.destination_port)),
            Body::Tcp(tcp) => (PROTOCOL_TCP, (tcp.source_port, tcp.destination_port)),
            Body::Igmp(_) => (PROTOCOL_IGMP, (0, 0)),
        };
        frame::flow_hash(self.source.into(), self.destination.into(), protocol, ports)
    }

    /// Sets congestion experienced, if the packet is ECN capable.
    pub fn mark(&mut self) {
        if Ecn::from_tos(self.ecn).is_capable() {
            self.ecn = CONGESTION_EXPERIENCED;
        }
    }
}
