//! Actions and their primitives.

use super::{BoolExpr, Expr, Field, HeaderRef, Program, UnionRef};
use crate::value::{bytes, words_for};
use crate::ActionCall;

/// The arguments of an action call, laid out like fields.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub name: String,
    pub bits: u32,
    pub word: u32,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub name: String,
    pub params: Vec<Param>,
    pub arg_words: u32,
    pub body: Vec<Primitive>,
}

impl Program {
    /// An action with its packed parameters, as the control plane gave it.
    pub(crate) fn unpack(&self, action: u32, args: &[u64]) -> Option<ActionCall> {
        let action = self.actions.get(action as usize)?;
        let params = action.params.iter().map(|param| {
            let start = param.word as usize;
            let words = args.get(start..start + words_for(param.bits) as usize).unwrap_or_default();
            bytes::from_words(words, param.bits)
        });
        Some(ActionCall { action: action.name.clone(), params: params.collect() })
    }
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

#[derive(Debug)]
pub(crate) enum Primitive {
    /// `phv[word] = value`
    Set {
        word: u32,
        value: u64,
    },
    /// `phv[to] = phv[from] & mask`
    Copy {
        to: u32,
        from: u32,
        mask: u64,
    },
    /// `phv[to] = args[from] & mask`
    Argument {
        to: u32,
        from: u32,
        mask: u64,
    },
    Assign {
        to: Target,
        value: Expr,
    },
    AssignVarbit {
        to: Field,
        from: Field,
    },
    AssignHeader {
        to: HeaderRef,
        from: HeaderRef,
    },
    AssignStack {
        to: u32,
        from: u32,
    },
    AssignUnion {
        to: UnionRef,
        from: UnionRef,
    },
    AssignUnionStack {
        to: u32,
        from: u32,
    },
    AddHeader(HeaderRef),
    RemoveHeader(HeaderRef),
    Push {
        stack: u32,
        count: Expr,
    },
    Pop {
        stack: u32,
        count: Expr,
    },
    PushUnion {
        stack: u32,
        count: Expr,
    },
    PopUnion {
        stack: u32,
        count: Expr,
    },
    MarkToDrop {
        egress_spec: Field,
        mcast_grp: Option<Field>,
    },
    RegisterRead {
        to: Target,
        register: u32,
        index: Expr,
    },
    RegisterWrite {
        register: u32,
        index: Expr,
        value: Expr,
    },
    Count {
        counter: u32,
        index: Expr,
    },
    ExecuteMeter {
        meter: u32,
        index: Expr,
        to: Target,
    },
    Hash {
        to: Target,
        base: Expr,
        calculation: u32,
        size: Expr,
    },
    Random {
        to: Target,
        low: Expr,
        high: Expr,
    },
    Digest(Expr),
    CloneIngress {
        session: Expr,
        fields: Expr,
    },
    CloneEgress {
        session: Expr,
        fields: Expr,
    },
    Resubmit(Expr),
    Recirculate(Expr),
    Truncate(Expr),
    Log {
        format: String,
        values: Vec<Expr>,
    },
    Assert(BoolExpr),
    Exit,
    Jump(u32),
    JumpIfZero {
        condition: Expr,
        to: u32,
    },
}
