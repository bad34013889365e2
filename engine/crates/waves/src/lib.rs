//! WEBRC's waves (RFC 3738) where there are many packets: in which order a sender's channels send, what each of them
//! sends at a moment, and the symbols that a receiver has of a block. No I/O, no clock. `hosts/protocols/webrc` has the
//! protocol.

#![forbid(unsafe_code)]

mod channels;
mod slots;
mod symbols;

pub use channels::{ChannelPackets, PacketError, Run};
pub use slots::{Channel, Fluid, OrderError, SlotOrder};
pub use symbols::BlockSymbols;

/// Channel, slot index and number in the channel of a packet (RFC 3738, 5.1).
pub type Place = (u32, u32, u32);
