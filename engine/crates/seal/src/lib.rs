//! Packets that only members of a group can make or read, without I/O, clock or randomness.
//!
//! A sealed packet is HEADER (20 bytes, readable by the network), the packet encrypted, TAG (16 bytes). AES-256-GCM (RFC
//! 5116) authenticates header, source and destination with it. Each start of an endpoint is a *sender* with a random
//! number of 64 bits, and its key comes from the epoch's secret and that number (HKDF with SHA-256, RFC 5869); its nonces
//! count packets. So none comes twice under a key, across restarts either. docs/security.md has the format.

mod hop;
mod key;
mod seal;
mod sign;
mod who;
mod window;

pub use hop::tag as hop_tag;
pub use seal::{opened_bytes, Refused, Seal, FEEDBACK_GROWTH, FRESH_S, GROWTH, MOST_SENDERS};
pub use sign::{verify, Signer, PUBLIC, SEED, SIGNATURE};
pub use who::Endpoint;
pub use window::{Window, WINDOW};
