//! Explicit congestion notification: the two bits of the IP header (RFC 3168, section 5).

pub const MASK: u8 = 0b11;
pub const CONGESTION_EXPERIENCED: u8 = 0b11;
/// ECN capable: the codepoint of most senders, and that of scalable ones (RFC 9331).
pub const ECT_0: u8 = 0b10;
pub const ECT_1: u8 = 0b01;
