//! Expressions: typing them, and giving each the number it is computed in.

use super::operator::operation;
use super::rewrite;
use super::typed::{example, field_at, load_field, to_bool, valid, Scope, Typed};
use crate::document::Json;
use crate::ir::{BoolExpr, Expr, Field, HeaderRef, Target, UnionRef, Value};
use crate::json::{At, Result};
use crate::value::{words_for, Int, Widest};

/// A number of which every bit matters. `own`: the fields that locals mean in P4_14's length expressions.
pub(crate) fn number(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Expr> {
    Ok(rewrite::expr(as_written(at, scope, own)?, None))
}

/// A number that is written to `bits` bits.
pub(crate) fn assigned(at: &At<'_>, scope: &Scope<'_>, bits: u32) -> Result<Expr> {
    Ok(rewrite::expr(value(at, scope)?, Some(bits)))
}

/// The bare number, before its tier is known and before it is simplified.
pub(crate) fn value(at: &At<'_>, scope: &Scope<'_>) -> Result<Value> {
    as_written(at, scope, None)
}

fn as_written(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Value> {
    typed(at, scope, own)?.number(at)
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
    let field = Field { signed, ..Field::plain(word, bits) };
    (Target::Field(field), field)
}

pub(crate) fn typed(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Typed> {
    let (kind, value) = (at.get("type")?, at.get("value")?);
    let headers = &scope.names.headers;
    Ok(match kind.str()? {
        "expression" if value.opt("op").is_some() => operation(&value, scope, &|at| typed(at, scope, own))?,
        "expression" => typed(&value, scope, own)?,
        "field" if value.value.element(0).is_some_and(Json::is_object) => field_of_element(&value, scope, own)?,
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
            if found.is_err() && value.at(1)?.value.as_str() == Some("last") {
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
    let Typed::Header(header) = operation(&element, scope, &|at| typed(at, scope, own))? else {
        return Err(element.error("not a header"));
    };
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
