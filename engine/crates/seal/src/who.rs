//! Who sealed a packet, as it says, and what is authenticated with it.

use std::net::SocketAddrV4;

/// An address and port, as the wire has them.
pub type Endpoint = SocketAddrV4;

/// Bytes of sender, counter and time.
pub const WHO: usize = 16;
/// Bytes of two addresses and ports.
const ADDRESSES: usize = 12;

pub struct Who {
    pub epoch: u8,
    pub sender: u64,
    pub counter: u32,
    /// Unix time, modulo 2^32.
    pub sealed_s: u32,
}

impl Who {
    /// `rest`: sender, counter and time.
    pub fn read(epoch: u8, rest: &[u8]) -> Self {
        let word = |at: usize| u32::from_be_bytes(rest[at..at + 4].try_into().expect("4 bytes"));
        let sender = u64::from_be_bytes(rest[..8].try_into().expect("8 bytes"));
        Self { epoch, sender, counter: word(8), sealed_s: word(12) }
    }

    /// All but the epoch, which stands elsewhere.
    pub fn write(&self, into: &mut [u8]) {
        into[..8].copy_from_slice(&self.sender.to_be_bytes());
        into[8..12].copy_from_slice(&self.counter.to_be_bytes());
        into[12..].copy_from_slice(&self.sealed_s.to_be_bytes());
    }
}

/// What is authenticated beside the encrypted bytes.
pub fn known_of(header: &[u8], source: Endpoint, destination: Endpoint) -> Vec<u8> {
    let mut known = Vec::with_capacity(header.len() + ADDRESSES);
    known.extend_from_slice(header);
    for address in [source, destination] {
        known.extend_from_slice(&address.ip().octets());
        known.extend_from_slice(&address.port().to_be_bytes());
    }
    known
}
