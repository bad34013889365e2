//! Expressions as trees, which the loader has typed, and what they name. `expr` computes them.

use super::Field;

/// The number that an expression is computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    I64,
    I128,
    W192,
    W576,
    Widest,
    /// No arithmetic, only bits: computed word by word where it is written.
    Words,
}

/// A number and the tier that is exact for it.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub tier: Tier,
    pub value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Const(i64),
    /// Two's complement words, least significant first.
    WideConst(Box<[u64]>),
    /// An unsigned field of up to 64 bits.
    Field {
        word: u32,
        bits: u32,
    },
    /// Any other field.
    AnyField {
        word: u32,
        bits: u32,
        signed: bool,
    },
    /// So many bits from bit `shift` (0 to 63) of this word on: a slice of an unsigned field.
    Part {
        word: u32,
        shift: u32,
        bits: u32,
    },
    /// Parts side by side, lowest first, with zeros between them: a concatenation.
    Join(Box<[JoinPart]>),
    Argument {
        word: u32,
        bits: u32,
    },
    /// Field `index` of a header that is only known when it runs.
    In {
        header: HeaderRef,
        index: u32,
        bits: u32,
        signed: bool,
    },
    Register {
        register: u32,
        index: Box<Expr>,
        bits: u32,
    },
    Binary(Op, Box<Value>, Box<Value>),
    Not(Box<Value>),
    Choose(Box<BoolExpr>, Box<Value>, Box<Value>),
    FromBool(Box<BoolExpr>),
    TwoCompMod(Box<Value>, u32),
    USatCast(Box<Value>, u32),
    SatCast(Box<Value>, u32),
    LastIndex(u32),
    StackSize(u32),
}

/// The low `bits` bits of a value, from bit `shift` of the whole on.
#[derive(Debug, Clone)]
pub(crate) struct JoinPart {
    pub shift: u32,
    pub bits: u32,
    pub value: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Debug, Clone)]
pub(crate) enum BoolExpr {
    Const(bool),
    /// The tier is exact for both sides.
    Compare(Compare, Tier, Box<(Value, Value)>),
    /// Are the value's low `words` words zero? It has bits in no others.
    NoBits {
        value: Box<Value>,
        words: u32,
    },
    /// A field of up to 64 bits against a constant, the most frequent condition.
    FieldIs {
        word: u32,
        value: u64,
    },
    FromData(Box<Expr>),
    And(Box<(BoolExpr, BoolExpr)>),
    Or(Box<(BoolExpr, BoolExpr)>),
    Not(Box<BoolExpr>),
    Same(Box<(BoolExpr, BoolExpr)>),
    Choose(Box<(BoolExpr, BoolExpr, BoolExpr)>),
    Valid(HeaderRef),
    ValidUnion(UnionRef),
    SameHeader(HeaderRef, HeaderRef),
    SameUnion(UnionRef, UnionRef),
    SameVarbit(Field, Field),
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
