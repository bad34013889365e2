//! WEBRC's waves (RFC 3738) where there are many packets: in which order a sender's channels send, and what each of them
//! sends at a moment. No I/O, no clock. `hosts/protocols/webrc` has the protocol.

#![forbid(unsafe_code)]

mod channels;
mod slots;

pub use channels::{ChannelPackets, PacketError, Run};
pub use slots::{Channel, Fluid, OrderError, SlotOrder};

/// Channel, slot index and number in the channel of a packet (RFC 3738, 5.1).
pub type Place = (u32, u32, u32);
