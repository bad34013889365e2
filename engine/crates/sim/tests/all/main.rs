//! Networks against theory, and TCP against its papers; one binary, so that the library is linked once.

mod dumbbell;
mod modern_recovery;
mod modern_tcp;
mod network;
mod p4_and_plain;
mod pair;
mod queueing;
mod tcp_any_network;
mod tcp_network;
mod tcp_recovery;
