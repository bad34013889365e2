//! Checksums and hashes, and what they are computed over.

use super::{BoolExpr, Field};
use crate::hash::Algorithm;

#[derive(Debug)]
pub(crate) struct Checksum {
    pub header: u32,
    pub target: Field,
    pub calculation: u32,
    pub condition: Option<BoolExpr>,
    pub update: bool,
    pub verify: bool,
}

#[derive(Debug)]
pub(crate) struct Calculation {
    pub input: Vec<CalculationInput>,
    pub payload: bool,
    pub algorithm: Algorithm,
}

#[derive(Debug)]
pub(crate) enum CalculationInput {
    Field { header: u32, field: Field },
    Constant { words: Box<[u64]>, bits: u32 },
    Header(u32),
}
