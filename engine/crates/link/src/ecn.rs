//! Explicit congestion notification, and what a queue wants to know of a packet that arrives.

/// The two bits of the IP header (RFC 3168, section 5; RFC 9331 for ECT(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The transport does not understand marks: it is told of congestion by a drop.
    #[default]
    NotEct,
    /// Of L4S: a scalable congestion control.
    Ect1,
    Ect0,
    /// Congestion experienced: marked already.
    Ce,
}

/// The ECN field's bits in the IPv4 TOS byte.
pub const ECN_MASK: u8 = 0b11;
/// And their value in a packet that was marked.
pub const CONGESTION_EXPERIENCED: u8 = 0b11;
/// ECN capable: the codepoint of most senders, and that of scalable ones (RFC 9331).
pub const ECT_0: u8 = 0b10;
pub const ECT_1: u8 = 0b01;

impl Ecn {
    /// From IPv4's TOS byte, or from the field alone.
    pub fn from_tos(tos: u8) -> Self {
        match tos & ECN_MASK {
            0b00 => Ecn::NotEct,
            ECT_1 => Ecn::Ect1,
            ECT_0 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Whether a queue may mark the packet instead of dropping it.
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }

    /// Whether the packet belongs into the low-latency queue of a dual queue (RFC 9331, section 5.1).
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// A packet as it arrives at a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes.
    pub len: u32,
    pub ecn: Ecn,
    /// A hash of what makes the packet one of its flow; only queues that sort by flow look at it.
    pub flow: u32,
}

/// A packet that cannot be marked, of the flow 0.
impl From<u32> for Arrival {
    fn from(len: u32) -> Self {
        Self { len, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codepoints_of_rfc_3168() {
        let codepoints = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (bits, expected) in codepoints.into_iter().enumerate() {
            assert_eq!(Ecn::from_tos(0b1011_1000 | bits as u8), expected); // the DSCP does not matter
        }
        assert_eq!(codepoints.map(Ecn::is_capable), [false, true, true, true]);
        assert_eq!(codepoints.map(Ecn::is_l4s), [false, true, false, true]);
    }
}
