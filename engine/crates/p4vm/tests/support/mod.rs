//! What the tests share.
//!
//! The programs in `data/` are ours. After a change: `p4c-bm2-ss --arch v1model -o NAME.json NAME.p4` in that folder.

pub mod stf;
