//! Fields, and lists of them.

use std::sync::Arc;

use crate::value::mask64;

/// A field's place in the packet header vector (see `phv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its first word; of a varbit, the word with its current length in bits, before its value.
    pub word: u32,
    /// Width; of a varbit, the largest.
    pub bits: u32,
    /// The bits of its value's lowest word.
    pub mask: u64,
    pub signed: bool,
    /// Values beyond the range are clamped, not cut (P4_14).
    pub saturating: bool,
    pub varbit: bool,
}

impl Field {
    /// An unsigned one of constant width.
    pub(crate) fn plain(word: u32, bits: u32) -> Self {
        Self { word, bits, mask: mask64(bits), signed: false, saturating: false, varbit: false }
    }
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
