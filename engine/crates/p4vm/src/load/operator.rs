//! The operators of an expression.

use super::expr::{example, field_at, load_field, number, ones, same_layout, to_bool, typed, Scope, Typed};
use super::range::{self, Range};
use crate::expr::{BoolExpr, Compare, Op, Value};
use crate::ir::{Field, HeaderRef, UnionRef};
use crate::json::{At, Result};

/// Widest cast that the arithmetic is made for.
const MAX_CAST: u64 = 2048;

pub(crate) fn operation(at: &At<'_>, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Typed> {
    let op = at.string("op")?;
    let side = |key: &str| -> Result<Typed> { typed(&at.get(key)?, scope, own) };
    // Unary operators have their operand on the right; some on the left.
    let only = || if at.opt("right").is_some() { side("right") } else { side("left") };
    let wrong = |what: &str| at.error(format!("{op} needs {what}"));
    let data = |typed: Typed| match typed {
        Typed::Number(value) => Ok(value),
        Typed::Bool(condition) => Ok(Value::FromBool(Box::new(condition))),
        _ => Err(wrong("numbers")),
    };
    let bool_of = |typed: Typed| match typed {
        Typed::Bool(condition) => Ok(condition),
        Typed::Number(value) => Ok(to_bool(value)),
        _ => Err(wrong("conditions")),
    };
    let width = || {
        let width = at.get("right")?;
        match typed(&width, scope, own)? {
            Typed::Number(Value::Const(bits)) if (1..=MAX_CAST as i64).contains(&bits) => Ok(bits as u32),
            _ => Err(width.error(format!("{op} needs a constant width of at most {MAX_CAST} bits"))),
        }
    };
    let arithmetic = match op {
        "+" => Some(Op::Add),
        "-" => Some(Op::Sub),
        "*" => Some(Op::Mul),
        "/" => Some(Op::Div),
        "%" => Some(Op::Mod),
        "&" => Some(Op::And),
        "|" => Some(Op::Or),
        "^" => Some(Op::Xor),
        "<<" => Some(Op::Shl),
        ">>" => Some(Op::Shr),
        _ => None,
    };
    if let Some(op) = arithmetic {
        // Unary plus and minus have no left side.
        let left = match at.opt("left") {
            None if matches!(op, Op::Add | Op::Sub) => Value::Const(0),
            _ => data(side("left")?)?,
        };
        return Ok(Typed::Number(binary(op, left, data(side("right")?)?)));
    }
    Ok(match op {
        "~" => Typed::Number(Value::Not(Box::new(data(only()?)?))),
        "two_comp_mod" => Typed::Number(Value::TwoCompMod(Box::new(data(side("left")?)?), width()?)),
        "usat_cast" => Typed::Number(Value::USatCast(Box::new(data(side("left")?)?), width()?)),
        "sat_cast" => Typed::Number(Value::SatCast(Box::new(data(side("left")?)?), width()?)),
        "d2b" => Typed::Bool(to_bool(data(only()?)?)),
        "b2d" => Typed::Number(Value::FromBool(Box::new(bool_of(only()?)?))),
        "and" => Typed::Bool(BoolExpr::And(Box::new((bool_of(side("left")?)?, bool_of(side("right")?)?)))),
        "or" => Typed::Bool(BoolExpr::Or(Box::new((bool_of(side("left")?)?, bool_of(side("right")?)?)))),
        "not" => Typed::Bool(BoolExpr::Not(Box::new(bool_of(only()?)?))),
        "==" => Typed::Bool(equality(at, side("left")?, side("right")?, scope)?),
        "!=" => Typed::Bool(BoolExpr::Not(Box::new(equality(at, side("left")?, side("right")?, scope)?))),
        "<" => compare(Compare::Lt, data(side("left")?)?, data(side("right")?)?),
        "<=" => compare(Compare::Le, data(side("left")?)?, data(side("right")?)?),
        ">" => compare(Compare::Gt, data(side("left")?)?, data(side("right")?)?),
        ">=" => compare(Compare::Ge, data(side("left")?)?, data(side("right")?)?),
        "?" => {
            let condition = bool_of(side("cond")?)?;
            match (side("left")?, side("right")?) {
                (Typed::Bool(then), Typed::Bool(otherwise)) => {
                    Typed::Bool(BoolExpr::Choose(Box::new((condition, then, otherwise))))
                }
                (Typed::Header(then), Typed::Header(otherwise)) if same_layout(&then, &otherwise, scope) => {
                    Typed::Header(HeaderRef::Choose(Box::new((condition, then, otherwise))))
                }
                (then, otherwise) => {
                    let (then, otherwise) = (Box::new(data(then)?), Box::new(data(otherwise)?));
                    Typed::Number(Value::Choose(Box::new(condition), then, otherwise))
                }
            }
        }
        "valid" => match only()? {
            Typed::Header(header) => Typed::Bool(valid(header, scope)),
            _ => return Err(wrong("a header")),
        },
        "valid_union" => match only()? {
            Typed::Union(union) => Typed::Bool(BoolExpr::ValidUnion(union)),
            _ => return Err(wrong("a header union")),
        },
        "last_stack_index" => match only()? {
            Typed::Stack(stack) => Typed::Number(Value::LastIndex(stack)),
            _ => return Err(wrong("a header stack")),
        },
        "size_stack" => match only()? {
            Typed::Stack(stack) => Typed::Number(Value::StackSize(stack)),
            _ => return Err(wrong("a header stack")),
        },
        _ => access(at, op, scope, own)?,
    })
}

/// Operators that reach into stacks, unions and headers.
fn access(at: &At<'_>, op: &str, scope: &Scope<'_>, own: Option<&[Field]>) -> Result<Typed> {
    let left = typed(&at.get("left")?, scope, own)?;
    let right = at.get("right")?;
    let wrong = |what: &str| at.error(format!("{op} needs {what}"));
    Ok(match (op, left) {
        ("dereference_header_stack", Typed::Stack(stack)) => {
            let index = number(&right, scope, own)?;
            let headers = scope.names.headers.stacks.get(stack as usize).map(|s| s.headers.as_slice());
            match &index.value {
                Value::Const(index) => {
                    let header = usize::try_from(*index).ok().and_then(|i| headers?.get(i));
                    let header = header.ok_or_else(|| right.error(format!("the stack has no element {index}")))?;
                    Typed::Header(HeaderRef::Header(*header))
                }
                _ if headers.is_some_and(<[u32]>::is_empty) => return Err(wrong("a stack with elements")),
                _ => Typed::Header(HeaderRef::Element { stack, index: Box::new(index) }),
            }
        }
        ("dereference_union_stack", Typed::UnionStack(stack)) => {
            Typed::Union(UnionRef::Element { stack, index: Box::new(number(&right, scope, own)?) })
        }
        ("access_union_header", Typed::Union(union)) => {
            let header = HeaderRef::Member { union, member: right.number(u64::from(u32::MAX))? as u32 };
            if example(&header, scope).is_none() {
                return Err(right.error("the union has no such member"));
            }
            Typed::Header(header)
        }
        ("access_field", Typed::Header(header)) => {
            let index = right.number(u64::from(u32::MAX))? as u32;
            let field = field_at(&header, index, scope).ok_or_else(|| right.error("the header has no such field"))?;
            match header {
                HeaderRef::Header(_) => Typed::Number(load_field(&right, field)?),
                _ if field.varbit => return Err(right.error("a varbit field is not a number")),
                header => Typed::Number(Value::In { header, index, bits: field.bits, signed: field.signed }),
            }
        }
        ("dereference_header_stack", _) => return Err(wrong("a header stack")),
        ("dereference_union_stack", _) => return Err(wrong("a stack of header unions")),
        ("access_union_header", _) => return Err(wrong("a header union")),
        ("access_field", _) => return Err(wrong("a header")),
        _ => return Err(at.error(format!("unknown operator {op}"))),
    })
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

fn binary(op: Op, left: Value, right: Value) -> Value {
    if let (Op::And, Some(ones)) = (op, ones(&right)) {
        // p4c masks what cannot be wider than the mask.
        if let Range { pos, neg: None } = range::analyse(&left, None, &mut 0) {
            if pos <= ones {
                return left;
            }
        }
    }
    Value::Binary(op, Box::new(left), Box::new(right))
}

fn compare(op: Compare, left: Value, right: Value) -> Typed {
    Typed::Bool(compared(op, left, right))
}

fn compared(op: Compare, left: Value, right: Value) -> BoolExpr {
    if let (Compare::Eq, Value::Field { word, .. }, Value::Const(value)) = (op, &left, &right) {
        if let Ok(value) = u64::try_from(*value) {
            return BoolExpr::FieldIs { word: *word, value };
        }
    }
    let mut need = 0;
    range::analyse(&left, None, &mut need);
    range::analyse(&right, None, &mut need);
    BoolExpr::Compare(op, range::tier(need), Box::new((left, right)))
}

fn equality(at: &At<'_>, left: Typed, right: Typed, scope: &Scope<'_>) -> Result<BoolExpr> {
    Ok(match (left, right) {
        (Typed::Number(left), Typed::Number(right)) => compared(Compare::Eq, left, right),
        (Typed::Bool(left), Typed::Bool(right)) => BoolExpr::Same(Box::new((left, right))),
        (Typed::Header(left), Typed::Header(right)) if same_layout(&left, &right, scope) => {
            BoolExpr::SameHeader(left, right)
        }
        // Headers of different types are never equal.
        (Typed::Header(_), Typed::Header(_)) => BoolExpr::Const(false),
        (Typed::Varbit(left), Typed::Varbit(right)) if left.bits == right.bits => BoolExpr::SameVarbit(left, right),
        (Typed::Union(left), Typed::Union(right)) => BoolExpr::SameUnion(left, right),
        _ => return Err(at.error("compares things of different kinds")),
    })
}
