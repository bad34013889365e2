//! A network in virtual time.

#![forbid(unsafe_code)]

pub mod tcp;
pub mod time;
