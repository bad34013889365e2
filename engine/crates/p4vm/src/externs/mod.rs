//! v1model's externs and the state they keep.

pub(crate) mod calculation;
pub(crate) mod cells;
pub(crate) mod counter;
pub(crate) mod meter;
pub(crate) mod random;
pub(crate) mod register;
