//! The operators of an expression.

use super::range::{self, ones, Range};
use super::rewrite;
use super::typed::{example, field_at, load_field, same_layout, to_bool, valid, Scope, Typed};
use crate::ir::{BoolExpr, Compare, Field, HeaderRef, Op, UnionRef, Value};
use crate::json::{At, Result};
use crate::LoadError;

/// Widest cast that the arithmetic is made for.
const MAX_CAST: u64 = 2048;

/// An operator and the place of its operands. Its kinds have functions of their own, so that the frame of the recursion
/// through nested expressions stays small.
struct Operator<'a, 'b> {
    at: &'b At<'a>,
    op: &'a str,
    scope: &'b Scope<'b>,
    operand: &'b dyn Fn(&At<'_>) -> Result<Typed>,
}

/// `operand` says what an operand stands for.
pub(crate) fn operation(at: &At<'_>, scope: &Scope<'_>, operand: &dyn Fn(&At<'_>) -> Result<Typed>) -> Result<Typed> {
    let operator = Operator { at, op: at.string("op")?, scope, operand };
    match operator.op {
        "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<<" | ">>" => operator.arithmetic(),
        "~" | "b2d" | "two_comp_mod" | "usat_cast" | "sat_cast" => operator.conversion(),
        "and" | "or" | "not" | "d2b" => operator.logic(),
        "==" | "!=" => operator.equality(),
        "<" | "<=" | ">" | ">=" => operator.order(),
        "?" => operator.choice(),
        "valid" | "valid_union" | "last_stack_index" | "size_stack" => operator.property(),
        "dereference_header_stack" | "dereference_union_stack" => operator.element(),
        "access_union_header" | "access_field" => operator.part(),
        op => Err(at.error(format!("unknown operator {op}"))),
    }
}

impl Operator<'_, '_> {
    fn wrong(&self, what: &str) -> LoadError {
        self.at.error(format!("{} needs {what}", self.op))
    }

    fn side(&self, key: &str) -> Result<Typed> {
        (self.operand)(&self.at.get(key)?)
    }

    /// Unary operators have their operand on the right; some on the left.
    fn only(&self) -> Result<Typed> {
        self.side(if self.at.opt("right").is_some() { "right" } else { "left" })
    }

    fn data(&self, operand: Typed) -> Result<Value> {
        match operand {
            Typed::Number(value) => Ok(value),
            Typed::Bool(condition) => Ok(Value::FromBool(Box::new(condition))),
            _ => Err(self.wrong("numbers")),
        }
    }

    fn condition(&self, operand: Typed) -> Result<BoolExpr> {
        match operand {
            Typed::Bool(condition) => Ok(condition),
            Typed::Number(value) => Ok(to_bool(value)),
            _ => Err(self.wrong("conditions")),
        }
    }

    fn arithmetic(&self) -> Result<Typed> {
        let op = match self.op {
            "+" => Op::Add,
            "-" => Op::Sub,
            "*" => Op::Mul,
            "/" => Op::Div,
            "%" => Op::Mod,
            "&" => Op::And,
            "|" => Op::Or,
            "^" => Op::Xor,
            "<<" => Op::Shl,
            _ => Op::Shr,
        };
        // Unary plus and minus have no left side.
        let left = match self.at.opt("left") {
            None if matches!(op, Op::Add | Op::Sub) => Value::Const(0),
            _ => self.data(self.side("left")?)?,
        };
        Ok(Typed::Number(binary(op, left, self.data(self.side("right")?)?)))
    }

    fn width(&self) -> Result<u32> {
        let width = self.at.get("right")?;
        match (self.operand)(&width)? {
            Typed::Number(Value::Const(bits)) if (1..=MAX_CAST as i64).contains(&bits) => Ok(bits as u32),
            _ => Err(width.error(format!("{} needs a constant width of at most {MAX_CAST} bits", self.op))),
        }
    }

    fn conversion(&self) -> Result<Typed> {
        if self.op == "b2d" {
            return Ok(Typed::Number(Value::FromBool(Box::new(self.condition(self.only()?)?))));
        }
        if self.op == "~" {
            return Ok(Typed::Number(Value::Not(Box::new(self.data(self.only()?)?))));
        }
        let value = Box::new(self.data(self.side("left")?)?);
        let width = self.width()?;
        Ok(Typed::Number(match self.op {
            "two_comp_mod" => Value::TwoCompMod(value, width),
            "usat_cast" => Value::USatCast(value, width),
            _ => Value::SatCast(value, width),
        }))
    }

    fn logic(&self) -> Result<Typed> {
        Ok(Typed::Bool(match self.op {
            "d2b" => to_bool(self.data(self.only()?)?),
            "not" => BoolExpr::Not(Box::new(self.condition(self.only()?)?)),
            op => {
                let sides = Box::new((self.condition(self.side("left")?)?, self.condition(self.side("right")?)?));
                if op == "and" {
                    BoolExpr::And(sides)
                } else {
                    BoolExpr::Or(sides)
                }
            }
        }))
    }

    fn equality(&self) -> Result<Typed> {
        let equal = match (self.side("left")?, self.side("right")?) {
            (Typed::Number(left), Typed::Number(right)) => compared(Compare::Eq, left, right),
            (Typed::Bool(left), Typed::Bool(right)) => BoolExpr::Same(Box::new((left, right))),
            (Typed::Header(left), Typed::Header(right)) if same_layout(&left, &right, self.scope) => {
                BoolExpr::SameHeader(left, right)
            }
            // Headers of different types are never equal.
            (Typed::Header(_), Typed::Header(_)) => BoolExpr::Const(false),
            (Typed::Varbit(left), Typed::Varbit(right)) if left.bits == right.bits => BoolExpr::SameVarbit(left, right),
            (Typed::Union(left), Typed::Union(right)) => BoolExpr::SameUnion(left, right),
            _ => return Err(self.at.error("compares things of different kinds")),
        };
        Ok(Typed::Bool(if self.op == "==" { equal } else { BoolExpr::Not(Box::new(equal)) }))
    }

    fn order(&self) -> Result<Typed> {
        let op = match self.op {
            "<" => Compare::Lt,
            "<=" => Compare::Le,
            ">" => Compare::Gt,
            _ => Compare::Ge,
        };
        let (left, right) = (self.data(self.side("left")?)?, self.data(self.side("right")?)?);
        Ok(Typed::Bool(compared(op, left, right)))
    }

    fn choice(&self) -> Result<Typed> {
        let condition = self.condition(self.side("cond")?)?;
        Ok(match (self.side("left")?, self.side("right")?) {
            (Typed::Bool(then), Typed::Bool(otherwise)) => {
                Typed::Bool(BoolExpr::Choose(Box::new((condition, then, otherwise))))
            }
            (Typed::Header(then), Typed::Header(otherwise)) if same_layout(&then, &otherwise, self.scope) => {
                Typed::Header(HeaderRef::Choose(Box::new((condition, then, otherwise))))
            }
            (then, otherwise) => {
                let (then, otherwise) = (Box::new(self.data(then)?), Box::new(self.data(otherwise)?));
                Typed::Number(Value::Choose(Box::new(condition), then, otherwise))
            }
        })
    }

    fn property(&self) -> Result<Typed> {
        Ok(match (self.op, self.only()?) {
            ("valid", Typed::Header(header)) => Typed::Bool(valid(header, self.scope)),
            ("valid_union", Typed::Union(union)) => Typed::Bool(BoolExpr::ValidUnion(union)),
            ("last_stack_index", Typed::Stack(stack)) => Typed::Number(Value::LastIndex(stack)),
            ("size_stack", Typed::Stack(stack)) => Typed::Number(Value::StackSize(stack)),
            ("valid", _) => return Err(self.wrong("a header")),
            ("valid_union", _) => return Err(self.wrong("a header union")),
            _ => return Err(self.wrong("a header stack")),
        })
    }

    /// An element of a stack, by constant or computed index.
    fn element(&self) -> Result<Typed> {
        let left = self.side("left")?;
        let right = self.at.get("right")?;
        let index = rewrite::expr((self.operand)(&right)?.number(&right)?, None);
        let stack = match (self.op, left) {
            ("dereference_header_stack", Typed::Stack(stack)) => stack,
            ("dereference_union_stack", Typed::UnionStack(stack)) => {
                return Ok(Typed::Union(UnionRef::Element { stack, index: Box::new(index) }));
            }
            _ => return Err(self.wrong("a stack")),
        };
        let headers = self.scope.names.headers.stacks.get(stack as usize).map(|s| s.headers.as_slice());
        let headers = headers.unwrap_or_default();
        if let Value::Const(index) = &index.value {
            let header = usize::try_from(*index).ok().and_then(|i| headers.get(i));
            let header = header.ok_or_else(|| right.error(format!("the stack has no element {index}")))?;
            return Ok(Typed::Header(HeaderRef::Header(*header)));
        }
        if headers.is_empty() {
            return Err(self.wrong("a stack with elements"));
        }
        Ok(Typed::Header(HeaderRef::Element { stack, index: Box::new(index) }))
    }

    /// A member of a union or a field of a header, by position.
    fn part(&self) -> Result<Typed> {
        let left = self.side("left")?;
        let right = self.at.get("right")?;
        let index = right.number(u64::from(u32::MAX))? as u32;
        match (self.op, left) {
            ("access_union_header", Typed::Union(union)) => {
                let header = HeaderRef::Member { union, member: index };
                if example(&header, self.scope).is_none() {
                    return Err(right.error("the union has no such member"));
                }
                Ok(Typed::Header(header))
            }
            ("access_field", Typed::Header(header)) => {
                let field = field_at(&header, index, self.scope);
                let field = field.ok_or_else(|| right.error("the header has no such field"))?;
                match header {
                    HeaderRef::Header(_) => Ok(Typed::Number(load_field(&right, field)?)),
                    _ if field.varbit => Err(right.error("a varbit field is not a number")),
                    header => {
                        let Field { bits, signed, .. } = field;
                        Ok(Typed::Number(Value::In { header, index, bits, signed }))
                    }
                }
            }
            ("access_union_header", _) => Err(self.wrong("a header union")),
            _ => Err(self.wrong("a header")),
        }
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

fn compared(op: Compare, left: Value, right: Value) -> BoolExpr {
    if let (Compare::Eq, Value::Field { word, .. }, Value::Const(value)) = (op, &left, &right) {
        if let Ok(value) = u64::try_from(*value) {
            return BoolExpr::FieldIs { word: *word, value };
        }
    }
    rewrite::compare(op, left, right)
}
