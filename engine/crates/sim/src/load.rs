//! A packet in the form in which it travels a link.

use link::{frame, Arrival};

use crate::packet::Packet;

/// A packet in the form in which it travels a link.
#[derive(Clone, Debug)]
pub enum Load {
    Packet(Packet),
    /// A frame, as a P4 switch wrote it.
    Frame(Vec<u8>),
}

impl Load {
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32 {
        match self {
            Load::Packet(packet) => packet.len,
            Load::Frame(frame) => frame.len() as u32,
        }
    }

    /// What a queue wants to know of it: its flow only if it sorts by that.
    pub fn arrival(&self, with_flow: bool) -> Arrival {
        match self {
            Load::Packet(packet) => packet.arrival(with_flow),
            Load::Frame(frame) => frame::arrival(frame),
        }
    }

    /// A queue marks the packet.
    pub fn mark(&mut self) {
        match self {
            Load::Packet(packet) => packet.mark(),
            Load::Frame(frame) => frame::mark(frame),
        }
    }
}
