//! Headers and the fields in them, and how expressions and primitives name them.

use std::sync::Arc;

use crate::expr::{BoolExpr, Expr};

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

#[derive(Debug)]
pub(crate) struct Header {
    pub name: String,
    /// First word, which holds the validity; the fields follow.
    pub base: u32,
    /// Words with the validity.
    pub words: u32,
    pub fields: Vec<Field>,
    pub field_names: Vec<String>,
    /// Width without the varbit field.
    pub bits: u32,
    /// Index of the varbit field.
    pub varbit: Option<usize>,
    pub metadata: bool,
    pub union: Option<u32>,
    /// Length of the varbit field, where `extract` does not give it (P4_14).
    pub var_length: Option<Expr>,
    pub max_bytes: u32,
}

#[derive(Debug)]
pub(crate) struct Stack {
    pub headers: Vec<u32>,
    /// The headers of each element, one by one.
    pub elements: Vec<Vec<u32>>,
    /// The word that counts the headers pushed, P4's `nextIndex`.
    pub next: u32,
}

#[derive(Debug)]
pub(crate) struct Union {
    pub headers: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct UnionStack {
    pub unions: Vec<u32>,
    /// The headers of each element.
    pub elements: Vec<Vec<u32>>,
    pub next: u32,
}

/// A header named in an expression or primitive.
#[derive(Debug, Clone)]
pub(crate) enum HeaderRef {
    Header(u32),
    Element { stack: u32, index: Box<Expr> },
    Last(u32),
    Member { union: UnionRef, member: u32 },
    Choose(Box<(BoolExpr, HeaderRef, HeaderRef)>),
}

#[derive(Debug, Clone)]
pub(crate) enum UnionRef {
    Union(u32),
    Element { stack: u32, index: Box<Expr> },
}

/// Where a primitive writes a value.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Field(Field),
    /// Field `index` of a header that is only known when it runs.
    In {
        header: HeaderRef,
        index: u32,
    },
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
