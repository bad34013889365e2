//! What the tests share.

pub mod stf;
