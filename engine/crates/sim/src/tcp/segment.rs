//! What a TCP sender and receiver tell each other: the header's fields that matter, without ports and payload.
//!
//! Sequence numbers are the wire's 32 bits, so that a segment survives being written into a frame and read back. Each
//! end keeps 64-bit counts and unwraps what it hears against them.

/// SACK blocks a segment can carry; RFC 2018 fits four into the options, three beside timestamps, as ns-2 and Linux do.
pub const MAX_SACK_BLOCKS: usize = 3;

/// One direction's acknowledged islands: half-open ranges of sequence numbers, the newest first (RFC 2018, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: u8,
}

impl SackBlocks {
    /// Adds a block; one beyond `MAX_SACK_BLOCKS` is left out.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (start, end);
            self.count += 1;
        }
    }

    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Octets the option takes in the header, padded to a multiple of four (RFC 2018, section 3).
    pub fn option_len(&self) -> usize {
        match self.count {
            0 => 0,
            n => 4 + 8 * usize::from(n),
        }
    }
}

/// The flags of explicit congestion notification (RFC 3168, section 6.1; AccECN's AE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFlags {
    /// Congestion was experienced: an echo.
    pub ece: bool,
    /// The congestion window was reduced.
    pub cwr: bool,
    /// On a SYN with both others: counts are wanted.
    pub ae: bool,
}

/// The timestamps option (RFC 7323, section 3), in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamps {
    pub value: u32,
    /// The value of the segment that this one answers.
    pub echo: u32,
}

/// Octets of the timestamps option with its padding, and of AccECN's with one count.
const TIMESTAMPS_LEN: usize = 12;
const MARKED_OCTETS_LEN: usize = 8;

/// A segment. `len` octets of payload are counted, not carried: a simulated transfer has no content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    pub seq: u32,
    /// Next octet expected; every segment but the first SYN carries one.
    pub ack: u32,
    pub syn: bool,
    /// Set on the segment with the transfer's last octet.
    pub fin: bool,
    pub len: u32,
    pub sack: SackBlocks,
    pub ecn: EcnFlags,
    pub timestamps: Option<Timestamps>,
    /// Octets that came with congestion experienced, modulo 2^24 (AccECN's ECEB).
    pub marked_octets: Option<u32>,
}

impl Segment {
    /// Octets of all options in the header.
    pub fn options_len(&self) -> usize {
        self.timestamps.map_or(0, |_| TIMESTAMPS_LEN)
            + self.marked_octets.map_or(0, |_| MARKED_OCTETS_LEN)
            + self.sack.option_len()
    }
}

/// The 64-bit count whose low 32 bits are `wire` and that lies nearest to `reference`.
pub fn unwrap(reference: u64, wire: u32) -> u64 {
    let distance = wire.wrapping_sub(reference as u32) as i32;
    reference.saturating_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrapping_finds_the_nearest_count() {
        let four_gib = 1u64 << 32;
        assert_eq!(unwrap(10, 12), 12);
        assert_eq!(unwrap(four_gib + 10, 5), four_gib + 5);
        assert_eq!(unwrap(four_gib - 2, 3), four_gib + 3);
        assert_eq!(unwrap(four_gib + 3, u32::MAX), four_gib - 1);
    }

    #[test]
    fn blocks_beyond_the_options_are_left_out() {
        let mut sack = SackBlocks::default();
        assert_eq!(sack.option_len(), 0);
        for i in 0..5 {
            sack.push(i, i + 1);
        }
        assert_eq!(sack.as_slice(), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(sack.option_len(), 28);
    }
}
