//! Headers, stacks of them and unions.

use super::{Expr, Field};

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
