//! What is sent: packets of one size, cut from a transfer that may be without end.

use crate::tcp::segment::{unwrap, Segment};

/// Payload starts one sequence number after the SYN.
const FIRST_OCTET: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Octets of payload in a packet.
    mss: u64,
    octets: Option<u64>,
}

impl Transfer {
    pub fn new(mss: u32, octets: Option<u64>) -> Self {
        Self { mss: u64::from(mss.max(1)), octets }
    }

    /// Octets of payload in a packet.
    pub fn mss(&self) -> u64 {
        self.mss
    }

    /// Packets that it has.
    pub fn packets(&self) -> u64 {
        self.octets.map_or(u64::MAX, |octets| octets.div_ceil(self.mss))
    }

    /// Octets of the packets below `end`.
    pub fn octets_below(&self, end: u64) -> u64 {
        let octets = end.saturating_mul(self.mss);
        self.octets.map_or(octets, |all| octets.min(all))
    }

    /// Packets that end at or below a sequence number, near packet `around`.
    pub fn packets_below(&self, wire: u32, around: u64) -> u64 {
        let octets = unwrap(FIRST_OCTET + around.saturating_mul(self.mss), wire).saturating_sub(FIRST_OCTET);
        match self.octets {
            Some(all) if octets >= all => self.packets(),
            _ => octets / self.mss,
        }
    }

    pub fn segment(&self, packet: u64) -> Segment {
        let start = packet * self.mss;
        Segment {
            seq: (FIRST_OCTET + start) as u32,
            ack: 1,
            fin: packet + 1 == self.packets(),
            len: (self.octets_below(packet + 1) - start) as u32,
            ..Segment::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_has_what_is_left() {
        let transfer = Transfer::new(1000, Some(2_500));
        assert_eq!(transfer.packets(), 3);
        let last = transfer.segment(2);
        assert_eq!((last.seq, last.len, last.fin), (2_001, 500, true));
        assert_eq!((transfer.packets_below(2_001, 0), transfer.packets_below(2_501, 0)), (2, 3));
        assert_eq!(transfer.packets_below(2_500, 2), 2);
    }

    #[test]
    fn numbers_wrap_every_four_gibioctets() {
        let transfer = Transfer::new(1448, None);
        let packet = (1u64 << 33) / 1448;
        let segment = transfer.segment(packet);
        assert_eq!(transfer.packets_below(segment.seq, packet - 1_000), packet);
        assert_eq!(transfer.packets_below(segment.seq, packet + 1_000), packet);
    }
}
