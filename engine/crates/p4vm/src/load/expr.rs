//! Expressions: typing them, and giving each the number it is computed in.

use super::operator::{operation, valid};
use super::range;
use super::Names;
use crate::expr::{BoolExpr, Expr, Value};
use crate::ir::{Field, HeaderRef, Param, Target, UnionRef};
use crate::json::{At, Result};
use crate::value::{words_for, Int, Widest};

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

/// A number of which every bit matters. `own`: the fields that locals mean in P4_14's length expressions.
pub(crate) fn number(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Expr> {
    Ok(range::expr(as_written(at, scope, own)?, None))
}

/// A number that is written to `bits` bits.
pub(crate) fn assigned(at: &At<'_>, scope: &Scope<'_>, bits: u32) -> Result<Expr> {
    Ok(range::expr(value(at, scope)?, Some(bits)))
}

/// For constants 2^n - 1: n.
pub(crate) fn ones(value: &Value) -> Option<u32> {
    match value {
        Value::Const(value) if *value >= 0 && value & value.wrapping_add(1) == 0 => Some(value.trailing_ones()),
        Value::WideConst(words) => {
            let wide = Widest::from_words(words, words.len() as u32 * 64, true);
            let plain = !wide.is_negative() && wide.and(&wide.add(&Widest::from_i64(1))).is_zero();
            plain.then(|| words.iter().map(|word| word.count_ones()).sum())
        }
        _ => None,
    }
}

/// The bare number, before its tier is known and before it is simplified.
pub(crate) fn value(at: &At<'_>, scope: &Scope<'_>) -> Result<Value> {
    as_written(at, scope, None)
}

fn as_written(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Value> {
    match typed(at, scope, own)? {
        Typed::Number(value) => Ok(value),
        Typed::Bool(condition) => Ok(Value::FromBool(Box::new(condition))),
        _ => Err(at.error("not a number")),
    }
}

pub(crate) fn condition(at: &At<'_>, scope: &Scope<'_>) -> Result<BoolExpr> {
    match typed(at, scope, None)? {
        Typed::Bool(condition) => Ok(condition),
        Typed::Number(value) => Ok(to_bool(value)),
        _ => Err(at.error("not a condition")),
    }
}

pub(crate) fn header(at: &At<'_>, scope: &Scope<'_>) -> Result<HeaderRef> {
    match typed(at, scope, None)? {
        Typed::Header(header) => Ok(header),
        _ => Err(at.error("not a header")),
    }
}

/// A place that can be written.
pub(crate) fn target(at: &At<'_>, scope: &Scope<'_>) -> Result<(Target, Field)> {
    let value = at.get("value")?;
    match at.string("type")? {
        "field" => {
            let (_, field) = scope.names.headers.field(&value)?;
            Ok((Target::Field(field), field))
        }
        "expression" if value.opt("op").is_none() => target(&value, scope),
        "expression" | "stack_field" => match typed(at, scope, None)? {
            Typed::Number(Value::In { header, index, .. }) => {
                let field = field_at(&header, index, scope).ok_or_else(|| at.error("no such field"))?;
                Ok((Target::In { header, index }, field))
            }
            Typed::Number(Value::Field { word, bits }) => Ok(plain(word, bits, false)),
            Typed::Number(Value::AnyField { word, bits, signed }) => Ok(plain(word, bits, signed)),
            _ => Err(at.error("cannot be written to")),
        },
        other => Err(at.error(format!("{other} cannot be written to"))),
    }
}

fn plain(word: u32, bits: u32, signed: bool) -> (Target, Field) {
    let field = Field { word, bits, signed, saturating: false, varbit: false };
    (Target::Field(field), field)
}

pub(crate) fn typed(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Typed> {
    let (kind, value) = (at.get("type")?, at.get("value")?);
    let headers = &scope.names.headers;
    Ok(match kind.str()? {
        "expression" if value.opt("op").is_some() => operation(&value, scope, own)?,
        "expression" => typed(&value, scope, own)?,
        "field" if value.value.get(0).is_some_and(serde_json::Value::is_object) => {
            field_of_element(&value, scope, own)?
        }
        "field" => match headers.field(&value)?.1 {
            field if field.varbit => Typed::Varbit(field),
            field => Typed::Number(load_field(&value, field)?),
        },
        "hexstr" => Typed::Number(constant(&value)?),
        "bool" => Typed::Bool(BoolExpr::Const(value.value.as_bool().ok_or_else(|| value.error("not true or false"))?)),
        "local" | "runtime_data" => Typed::Number(local(&value, scope, own)?),
        "header" => Typed::Header(HeaderRef::Header(headers.header(&value)?)),
        "header_stack" => Typed::Stack(headers.stack(&value)?),
        "header_union" => Typed::Union(UnionRef::Union(headers.union(&value)?)),
        "header_union_stack" => Typed::UnionStack(headers.union_stack(&value)?),
        "stack_field" => {
            let stack = headers.stack(&value.at(0)?)?;
            let found = headers.stack_field(stack, &value.at(1)?);
            // The last header itself, unless that is the name of a field.
            if found.is_err() && value.at(1)?.value == "last" {
                return Ok(Typed::Header(HeaderRef::Last(stack)));
            }
            let (index, Field { bits, signed, varbit, .. }) = found?;
            if varbit {
                return Err(value.error("a varbit field is not a number"));
            }
            Typed::Number(Value::In { header: HeaderRef::Last(stack), index, bits, signed })
        }
        "register" => {
            let name = value.at(0)?;
            let register = scope.names.registers.get(name.str()?).copied();
            let register = register.ok_or_else(|| name.error("no such register array"))?;
            let bits = scope.names.register_bits.get(register as usize).copied().unwrap_or(0);
            let index = Box::new(number(&value.at(1)?, scope, own)?);
            Typed::Number(Value::Register { register, index, bits })
        }
        other => return Err(kind.error(format!("an expression has no part of type {other}"))),
    })
}

/// p4c writes `stack[index].field` with a computed index as a pair of an operation and a name.
fn field_of_element(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Typed> {
    let (element, name) = (at.at(0)?, at.at(1)?);
    let Typed::Header(header) = operation(&element, scope, own)? else { return Err(element.error("not a header")) };
    if name.str()? == "$valid$" {
        return Ok(Typed::Number(Value::FromBool(Box::new(valid(header, scope)))));
    }
    let example = example(&header, scope).ok_or_else(|| element.error("the stack is empty"))?;
    let (index, field) = scope.names.headers.field_of(Some(example), &name)?;
    if field.varbit {
        return Err(name.error("a varbit field is not a number"));
    }
    Ok(Typed::Number(Value::In { header, index, bits: field.bits, signed: field.signed }))
}

pub(crate) fn load_field(at: &At<'_>, field: Field) -> Result<Value> {
    let Field { word, bits, signed, varbit, .. } = field;
    if varbit {
        return Err(at.error("a varbit field is not a number"));
    }
    Ok(if bits <= 64 && !signed { Value::Field { word, bits } } else { Value::AnyField { word, bits, signed } })
}

pub(crate) fn constant(at: &At<'_>) -> Result<Value> {
    let (bytes, negative) = at.hex()?;
    let bits = bytes.len() as u32 * 8;
    let words = crate::value::bytes::to_words(&bytes, bits).unwrap_or_default();
    let magnitude = Widest::from_words(&words, bits, false);
    let wide = if negative { Widest::from_i64(0).sub(&magnitude) } else { magnitude };
    if bits > 2112 {
        return Err(at.error("the constant is wider than 2,112 bits"));
    }
    let small = wide.low() as i64;
    if wide == Widest::from_i64(small) {
        return Ok(Value::Const(small));
    }
    // One word more than the magnitude needs, for the sign.
    Ok(Value::WideConst((0..words_for(bits) as usize + 1).map(|i| wide.limb(i)).collect()))
}

fn local(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Value> {
    let index = at.number(u64::from(u32::MAX))? as usize;
    if let Some(fields) = own {
        let field = fields.get(index).ok_or_else(|| at.error(format!("the header has no field {index}")))?;
        return load_field(at, *field);
    }
    let param = scope.params.get(index).ok_or_else(|| at.error(format!("the action has no parameter {index}")))?;
    Ok(Value::Argument { word: param.word, bits: param.bits })
}

pub(crate) fn to_bool(value: Value) -> BoolExpr {
    match value {
        Value::Field { word, bits: 1 } => BoolExpr::FieldIs { word, value: 1 },
        Value::FromBool(condition) => *condition,
        Value::Const(value) => BoolExpr::Const(value != 0),
        other => BoolExpr::FromData(Box::new(range::expr(other, None))),
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
