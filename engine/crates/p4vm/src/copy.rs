//! Packets between ingress and egress, in buffers that are used again.

use std::ops::Deref;
use std::sync::Arc;

use crate::machine::PacketState;
use crate::InstanceType;

/// What copies of one packet share: it is never written while there is more than one.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    pub phv: Vec<u64>,
    pub payload: Vec<u8>,
    pub state: PacketState,
    /// Resubmissions, recirculations and egress clones so far.
    pub passes: u32,
    /// Different for each packet that has several copies; 0: none.
    pub serial: u64,
}

/// A packet's only copy has its flight for itself, which saves counting holders, a locked instruction each time.
#[derive(Debug)]
pub(crate) enum Buffer {
    Own(Box<Flight>),
    Shared(Arc<Flight>),
}

impl Buffer {
    /// To write to, where nobody else reads it.
    #[inline]
    pub(crate) fn get_mut(&mut self) -> Option<&mut Flight> {
        match self {
            Self::Own(flight) => Some(flight),
            // To look first is cheaper than `get_mut` alone.
            Self::Shared(flight) if Arc::strong_count(flight) == 1 => Arc::get_mut(flight),
            Self::Shared(_) => None,
        }
    }
}

impl Deref for Buffer {
    type Target = Flight;

    #[inline]
    fn deref(&self) -> &Flight {
        match self {
            Self::Own(flight) => flight,
            Self::Shared(flight) => flight,
        }
    }
}

/// A copy on its way from ingress to egress. Dropping one is right anywhere (a full queue, a dead port);
/// [`Switch::recycle`](crate::Switch::recycle) does the same but keeps its buffer for the next packet. Copies of one
/// packet share their buffer.
#[derive(Debug)]
pub struct PacketCopy {
    pub(crate) flight: Buffer,
    pub(crate) port: u16,
    pub(crate) instance: u16,
    pub(crate) len: u32,
    pub(crate) priority: u32,
    pub(crate) instance_type: InstanceType,
}

impl PacketCopy {
    /// The egress port.
    #[inline]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where the packet that it is made of came in.
    #[inline]
    pub fn ingress_port(&self) -> u16 {
        self.flight.state.ingress_port
    }

    /// Bytes on the wire if egress processing neither adds nor removes any.
    #[allow(clippy::len_without_is_empty)]
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Replication, clone or normal.
    #[inline]
    pub fn instance_type(&self) -> InstanceType {
        self.instance_type
    }

    /// `egress_rid`: the replica's instance.
    #[inline]
    pub fn instance(&self) -> u16 {
        self.instance
    }

    /// `standard_metadata.priority` (`intrinsic_metadata.priority`) as ingress left it, or a clone session's class of
    /// service; 0 is the lowest.
    #[inline]
    pub fn priority(&self) -> u32 {
        self.priority
    }
}

/// Buffers that wait for the next packet, with some earlier packet's content.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    #[allow(clippy::vec_box)]
    own: Vec<Box<Flight>>,
    shared: Vec<Arc<Flight>>,
}

/// More than are in flight at once in a switch with full queues (512 packets on each of 16 ports).
const POOL_SIZE: usize = 8192;

impl Pool {
    /// For one copy.
    #[inline]
    pub(crate) fn own(&mut self) -> Box<Flight> {
        self.own.pop().unwrap_or_default()
    }

    /// For several copies; nobody else holds it.
    #[inline]
    pub(crate) fn shared(&mut self) -> Arc<Flight> {
        self.shared.pop().unwrap_or_default()
    }

    /// Keep a buffer if this was its last holder.
    #[inline]
    pub(crate) fn give(&mut self, flight: Buffer) {
        match flight {
            Buffer::Own(flight) if self.own.len() < POOL_SIZE => self.own.push(flight),
            Buffer::Shared(flight) if self.shared.len() < POOL_SIZE && Arc::strong_count(&flight) == 1 => {
                self.shared.push(flight);
            }
            _ => {}
        }
    }
}
