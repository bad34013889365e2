//! Parser and deparser.

use super::{BoolExpr, Expr, Field, HeaderRef, KeyLayout, Next, Primitive};

#[derive(Debug)]
pub(crate) struct Parser {
    pub states: Vec<ParseState>,
    pub start: Next,
}

#[derive(Debug)]
pub(crate) struct ParseState {
    pub ops: Vec<ParserOp>,
    pub key: Vec<SelectKey>,
    pub layout: KeyLayout,
    pub cases: Vec<Case>,
    pub default: Next,
}

#[derive(Debug)]
pub(crate) enum ParserOp {
    Extract(u32),
    ExtractVarbit {
        header: u32,
        bits: Expr,
    },
    /// To a header that is only known when it runs.
    ExtractTo {
        header: HeaderRef,
        bits: Option<Expr>,
    },
    ExtractNext(u32),
    ExtractNextVarbit {
        stack: u32,
        bits: Expr,
    },
    ExtractNextUnion {
        stack: u32,
        member: u32,
        bits: Option<Expr>,
    },
    Set {
        to: Field,
        value: Expr,
    },
    SetVarbit {
        to: Field,
        from: Field,
    },
    SetLookahead {
        to: Field,
        offset: u32,
        bits: u32,
    },
    Verify {
        condition: BoolExpr,
        error: Expr,
    },
    Primitive(Primitive),
    Advance(Expr),
}

#[derive(Debug)]
pub(crate) enum SelectKey {
    Field(Field),
    /// A field of the last element of a stack.
    Last {
        stack: u32,
        index: u32,
        bits: u32,
    },
    LastUnion {
        stack: u32,
        member: u32,
        index: u32,
        bits: u32,
    },
    Lookahead {
        offset: u32,
        bits: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Case {
    pub when: CaseValue,
    pub next: Next,
}

#[derive(Debug)]
pub(crate) enum CaseValue {
    /// Both laid out as the state's key.
    Masked {
        value: Box<[u64]>,
        mask: Box<[u64]>,
    },
    Set {
        set: u32,
        mask: Option<Box<[u64]>>,
    },
}

#[derive(Debug)]
pub(crate) struct ValueSet {
    pub name: String,
    /// Width of each field and how it lies in the key; empty when no state uses the set.
    pub layout: KeyLayout,
}

#[derive(Debug)]
pub(crate) struct Deparser {
    pub order: Vec<u32>,
    /// How long the headers are, in that order.
    pub lengths: Vec<HeaderLength>,
    pub ops: Vec<Primitive>,
}

/// What says how long a header is, apart from all else about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderLength {
    /// The word with its validity.
    pub base: u32,
    pub bits: u32,
    /// The word with the bits of its varbit field.
    pub varbit: Option<u32>,
}

/// Values of core.p4's errors in this program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoreErrors {
    pub no_error: u32,
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub header_too_short: u32,
    pub parser_timeout: u32,
    pub parser_invalid_argument: u32,
}
