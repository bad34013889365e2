//! Fields, and lists of them.

use std::sync::Arc;

/// A field's place in the packet header vector (see `phv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its first word; of a varbit, the word with its current length in bits, before its value.
    pub word: u32,
    /// Width; of a varbit, the largest.
    pub bits: u32,
    pub signed: bool,
    /// Values beyond the range are clamped, not cut (P4_14).
    pub saturating: bool,
    pub varbit: bool,
}

/// Fields that survive resubmission, recirculation and cloning.
#[derive(Debug, Default)]
pub(crate) struct FieldList {
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct LearnList {
    pub name: Arc<str>,
    pub fields: Vec<Field>,
}
