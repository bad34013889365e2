//! A packet in the form in which it travels a link.

use std::sync::Arc;

use crate::ecn;
use crate::frame;
use crate::packet::Packet;

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
            Load::Packet(packet) => packet.ecn = ecn::CONGESTION_EXPERIENCED,
            Load::Frame(frame) => {
                let mut octets = frame.to_vec();
                frame::mark(&mut octets);
                *frame = octets.into();
            }
        }
    }
}
