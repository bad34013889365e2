//! What an expression may stand for, and what is known of that before it runs.

use super::rewrite;
use super::Names;
use crate::ir::{BoolExpr, Field, HeaderRef, Param, UnionRef, Value};
use crate::json::{At, Result};

/// What names in an expression mean.
pub(crate) struct Scope<'a> {
    pub names: &'a Names,
    /// The parameters of the action around it.
    pub params: &'a [Param],
}

/// What an expression stands for.
pub(crate) enum Typed {
    Number(Value),
    Bool(BoolExpr),
    Header(HeaderRef),
    Stack(u32),
    Union(UnionRef),
    UnionStack(u32),
    Varbit(Field),
}

impl Typed {
    /// The bare number, of which `at` tells where it stands.
    pub(crate) fn number(self, at: &At<'_>) -> Result<Value> {
        match self {
            Self::Number(value) => Ok(value),
            Self::Bool(condition) => Ok(Value::FromBool(Box::new(condition))),
            _ => Err(at.error("not a number")),
        }
    }
}

pub(crate) fn load_field(at: &At<'_>, field: Field) -> Result<Value> {
    let Field { word, bits, signed, varbit, .. } = field;
    if varbit {
        return Err(at.error("a varbit field is not a number"));
    }
    Ok(if bits <= 64 && !signed { Value::Field { word, bits } } else { Value::AnyField { word, bits, signed } })
}

pub(crate) fn to_bool(value: Value) -> BoolExpr {
    match value {
        Value::Field { word, bits: 1 } => BoolExpr::FieldIs { word, value: 1 },
        Value::FromBool(condition) => *condition,
        Value::Const(value) => BoolExpr::Const(value != 0),
        other => BoolExpr::FromData(Box::new(rewrite::expr(other, None))),
    }
}

pub(crate) fn valid(header: HeaderRef, scope: &Scope<'_>) -> BoolExpr {
    match header {
        HeaderRef::Header(index) => match scope.names.headers.headers.get(index as usize) {
            Some(header) => BoolExpr::FieldIs { word: header.base, value: 1 },
            None => BoolExpr::Const(false),
        },
        other => BoolExpr::Valid(other),
    }
}

/// A header that stands for all that a reference may mean: they have one layout.
pub(crate) fn example(header: &HeaderRef, scope: &Scope<'_>) -> Option<u32> {
    let headers = &scope.names.headers;
    match header {
        HeaderRef::Header(header) => Some(*header),
        HeaderRef::Element { stack, .. } | HeaderRef::Last(stack) => {
            headers.stacks.get(*stack as usize)?.headers.first().copied()
        }
        HeaderRef::Member { union, member } => {
            let members = match union {
                UnionRef::Union(union) => &headers.unions.get(*union as usize)?.headers,
                UnionRef::Element { stack, .. } => headers.union_stacks.get(*stack as usize)?.elements.first()?,
            };
            members.get(*member as usize).copied()
        }
        HeaderRef::Choose(parts) => example(&parts.1, scope),
    }
}

pub(crate) fn field_at(header: &HeaderRef, index: u32, scope: &Scope<'_>) -> Option<Field> {
    let header = scope.names.headers.headers.get(example(header, scope)? as usize)?;
    header.fields.get(index as usize).copied()
}

/// The layouts of two headers agree, so that one can be compared with or copied to the other.
pub(crate) fn same_layout(a: &HeaderRef, b: &HeaderRef, scope: &Scope<'_>) -> bool {
    let shape = |header| {
        let header = scope.names.headers.headers.get(example(header, scope)? as usize)?;
        let widths: Vec<_> = header.fields.iter().map(|f| (f.bits, f.varbit, f.word - header.base)).collect();
        Some((header.words, widths))
    };
    let (a, b) = (shape(a), shape(b));
    a.is_some() && a == b
}
