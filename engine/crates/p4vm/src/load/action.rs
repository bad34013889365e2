//! Actions and the primitives they are made of.

use std::collections::HashMap;

use super::expr;
use super::headers::MAX_FIELD_BITS;
use super::typed::{same_layout, Scope, Typed};
use super::{rewrite, Names};
use crate::ir::{Action, BoolExpr, Expr, Field, HeaderRef, Op, Param, Primitive, Target, Tier, Value};
use crate::json::{At, Result};
use crate::value::{mask64, words_for};

pub(crate) fn load(root: &At<'_>, names: &mut Names) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    for at in root.list("actions")? {
        let name = at.string("name")?.to_owned();
        let (mut params, mut words) = (Vec::new(), 0u32);
        for param in at.list("runtime_data")? {
            let bits = param.u32("bitwidth", MAX_FIELD_BITS)?;
            params.push(Param { name: param.string("name")?.to_owned(), bits, word: words });
            words += words_for(bits);
        }
        let scope = Scope { names, params: &params };
        let body = primitives(&at.list("primitives")?, &scope)?;
        let index = actions.len() as u32;
        if names.actions.insert(at.get("id")?.id()?, index).is_some() {
            return Err(at.error("the id is used twice"));
        }
        names.action_names.entry(name.clone()).or_insert(index);
        actions.push(Action { name, params, arg_words: words, body });
    }
    Ok(actions)
}

/// A sequence of primitives, among which jumps go forward only: it always ends.
pub(crate) fn primitives(list: &[At<'_>], scope: &Scope<'_>) -> Result<Vec<Primitive>> {
    let mut body = Vec::with_capacity(list.len());
    for (index, at) in list.iter().enumerate() {
        let primitive = primitive(at, scope)?;
        if let Primitive::Jump(to) | Primitive::JumpIfZero { to, .. } = &primitive {
            let to = *to as usize;
            if to <= index || to > list.len() {
                return Err(at.error(format!("jumps to {to}: only forward, and to {} at most", list.len())));
            }
        }
        body.push(primitive);
    }
    Ok(body)
}

/// A primitive's parameters, checked for their number.
struct Params<'a, 'b> {
    at: &'b At<'a>,
    list: Vec<At<'a>>,
    scope: &'b Scope<'b>,
}

impl<'a> Params<'a, '_> {
    fn get(&self, index: usize) -> Result<&At<'a>> {
        self.list.get(index).ok_or_else(|| self.at.error(format!("needs a parameter {index}")))
    }

    fn number(&self, index: usize) -> Result<Expr> {
        expr::number(self.get(index)?, self.scope, None)
    }

    fn low_bits(&self, index: usize) -> Result<Expr> {
        expr::assigned(self.get(index)?, self.scope, 64)
    }

    fn target(&self, index: usize) -> Result<Target> {
        Ok(self.target_field(index)?.0)
    }

    fn target_field(&self, index: usize) -> Result<(Target, Field)> {
        let at = self.get(index)?;
        let (target, field) = expr::target(at, self.scope)?;
        if field.varbit {
            return Err(at.error("a varbit field is not a number"));
        }
        Ok((target, field))
    }

    fn header(&self, index: usize) -> Result<HeaderRef> {
        expr::header(self.get(index)?, self.scope)
    }

    fn named(&self, index: usize, kind: &str, objects: &HashMap<String, u32>) -> Result<u32> {
        let at = self.get(index)?;
        if at.string("type")? != kind {
            return Err(at.error(format!("not of type {kind}")));
        }
        let name = at.get("value")?;
        objects.get(name.str()?).copied().ok_or_else(|| name.error(format!("no {kind} {}", name.value)))
    }

    /// A constant index of a primitive.
    fn constant(&self, index: usize) -> Result<u32> {
        let at = self.get(index)?;
        match self.number(index)?.value {
            Value::Const(value) => u32::try_from(value).map_err(|_| at.error("out of range")),
            _ => Err(at.error("not a constant")),
        }
    }
}

fn parameter_count(op: &str) -> Option<usize> {
    Some(match op {
        "exit" | "drop" | "no_op" => 0,
        "add_header" | "add_header_fast" | "remove_header" | "mark_to_drop" | "resubmit" | "recirculate"
        | "truncate" | "assert" | "assume" | "_jump" => 1,
        "assign"
        | "modify_field"
        | "assign_VL"
        | "assign_header"
        | "copy_header"
        | "assign_header_stack"
        | "assign_union"
        | "assign_union_stack"
        | "push"
        | "pop"
        | "count"
        | "generate_digest"
        | "clone_ingress_pkt_to_egress"
        | "clone_egress_pkt_to_egress"
        | "log_msg"
        | "_jump_if_zero"
        | "add_to_field"
        | "subtract_from_field" => 2,
        "register_read"
        | "register_write"
        | "execute_meter"
        | "modify_field_rng_uniform"
        | "add"
        | "subtract"
        | "bit_xor"
        | "bit_or"
        | "bit_and"
        | "shift_left"
        | "shift_right" => 3,
        "modify_field_with_hash_based_offset" => 4,
        _ => return None,
    })
}

pub(crate) fn primitive(at: &At<'_>, scope: &Scope<'_>) -> Result<Primitive> {
    let op_at = at.get("op")?;
    let op = op_at.str()?;
    let list = at.list("parameters")?;
    let wanted = parameter_count(op).ok_or_else(|| op_at.error(format!("unknown primitive {op}")))?;
    if list.len() != wanted {
        return Err(at.get("parameters").unwrap_or(at.clone()).error(format!("{op} has {wanted} parameters")));
    }
    let p = Params { at, list, scope };
    let names = scope.names;
    Ok(match op {
        "assign" | "modify_field" | "assign_VL" => assign(&p)?,
        "assign_header" | "copy_header" => {
            let (to, from) = (p.header(0)?, p.header(1)?);
            if !same_layout(&to, &from, scope) {
                return Err(at.error("the headers are of different types"));
            }
            Primitive::AssignHeader { to, from }
        }
        "assign_header_stack" | "assign_union" | "assign_union_stack" => assign_many(&p)?,
        "add_header" | "add_header_fast" => Primitive::AddHeader(p.header(0)?),
        "remove_header" => Primitive::RemoveHeader(p.header(0)?),
        "push" | "pop" => push_or_pop(&p, op == "push")?,
        "mark_to_drop" => {
            let HeaderRef::Header(header) = p.header(0)? else { return Err(p.get(0)?.error("not a header")) };
            let name =
                names.headers.headers.get(header as usize).map(|header| header.name.as_str()).unwrap_or_default();
            mark_to_drop(at, names, name, name)?
        }
        "drop" => mark_to_drop(at, names, "standard_metadata", "intrinsic_metadata")?,
        "no_op" => Primitive::Assert(BoolExpr::Const(true)),
        "register_read" => Primitive::RegisterRead {
            to: p.target(0)?,
            register: p.named(1, "register_array", &names.registers)?,
            index: p.number(2)?,
        },
        "register_write" => {
            let register = p.named(0, "register_array", &names.registers)?;
            let bits = names.register_bits.get(register as usize).copied().unwrap_or(0);
            Primitive::RegisterWrite { register, index: p.number(1)?, value: expr::assigned(p.get(2)?, scope, bits)? }
        }
        "count" => Primitive::Count { counter: p.named(0, "counter_array", &names.counters)?, index: p.number(1)? },
        "execute_meter" => Primitive::ExecuteMeter {
            meter: p.named(0, "meter_array", &names.meters)?,
            index: p.number(1)?,
            to: p.target(2)?,
        },
        "modify_field_with_hash_based_offset" => Primitive::Hash {
            to: p.target(0)?,
            base: p.low_bits(1)?,
            calculation: p.named(2, "calculation", &names.calculations)?,
            size: p.low_bits(3)?,
        },
        "modify_field_rng_uniform" => Primitive::Random { to: p.target(0)?, low: p.low_bits(1)?, high: p.low_bits(2)? },
        "generate_digest" => Primitive::Digest(p.number(1)?),
        "clone_ingress_pkt_to_egress" => Primitive::CloneIngress { session: p.number(0)?, fields: p.number(1)? },
        "clone_egress_pkt_to_egress" => Primitive::CloneEgress { session: p.number(0)?, fields: p.number(1)? },
        "resubmit" => Primitive::Resubmit(p.number(0)?),
        "recirculate" => Primitive::Recirculate(p.number(0)?),
        "truncate" => Primitive::Truncate(p.number(0)?),
        "log_msg" => log_message(&p)?,
        "assert" | "assume" => Primitive::Assert(expr::condition(p.get(0)?, scope)?),
        "exit" => Primitive::Exit,
        "_jump" => Primitive::Jump(p.constant(0)?),
        "_jump_if_zero" => Primitive::JumpIfZero { condition: p.number(0)?, to: p.constant(1)? },
        _ => arithmetic(&p, op)?,
    })
}

fn assign(p: &Params<'_, '_>) -> Result<Primitive> {
    let (to, field) = expr::target(p.get(0)?, p.scope)?;
    if field.varbit {
        let from = p.get(1)?;
        let (Target::Field(to), (Target::Field(from_field), _)) = (to, expr::target(from, p.scope)?) else {
            return Err(from.error("not a varbit field"));
        };
        if !from_field.varbit || from_field.bits != to.bits {
            return Err(from.error("not a varbit field of the same width"));
        }
        return Ok(Primitive::AssignVarbit { to, from: from_field });
    }
    if field.saturating {
        return Ok(Primitive::Assign { to, value: p.number(1)? });
    }
    let value = expr::assigned(p.get(1)?, p.scope, field.bits)?;
    Ok(simplify(to, field, value))
}

/// The most frequent assignments have primitives of their own.
fn simplify(to: Target, field: Field, value: Expr) -> Primitive {
    let mask = mask64(field.bits);
    match (&to, &value.value) {
        (Target::Field(_), _) if field.bits > 64 => Primitive::Assign { to, value },
        (Target::Field(to), Value::Const(value)) => Primitive::Set { word: to.word, value: *value as u64 & mask },
        (Target::Field(to), Value::Field { word, .. }) => Primitive::Copy { to: to.word, from: *word, mask },
        (Target::Field(to), Value::Argument { word, bits }) if *bits <= 64 => {
            Primitive::Argument { to: to.word, from: *word, mask }
        }
        _ => Primitive::Assign { to, value },
    }
}

fn assign_many(p: &Params<'_, '_>) -> Result<Primitive> {
    let headers = &p.scope.names.headers;
    let sides = (expr::typed(p.get(0)?, p.scope, None)?, expr::typed(p.get(1)?, p.scope, None)?);
    let stack = |at: u32| headers.stacks.get(at as usize).map(|s| s.elements.as_slice()).unwrap_or_default();
    let unions = |at: u32| headers.union_stacks.get(at as usize).map(|s| s.elements.as_slice()).unwrap_or_default();
    let alike = |a: &[Vec<u32>], b: &[Vec<u32>]| {
        let same = |(a, b): (&u32, &u32)| same_layout(&HeaderRef::Header(*a), &HeaderRef::Header(*b), p.scope);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(same))
    };
    match sides {
        (Typed::Stack(to), Typed::Stack(from)) if alike(stack(to), stack(from)) => {
            Ok(Primitive::AssignStack { to, from })
        }
        (Typed::UnionStack(to), Typed::UnionStack(from)) if alike(unions(to), unions(from)) => {
            Ok(Primitive::AssignUnionStack { to, from })
        }
        // Members whose layouts differ are left alone when it runs.
        (Typed::Union(to), Typed::Union(from)) => Ok(Primitive::AssignUnion { to, from }),
        _ => Err(p.at.error("assigns things of different kinds")),
    }
}

fn push_or_pop(p: &Params<'_, '_>, push: bool) -> Result<Primitive> {
    let (at, count) = (p.get(0)?, p.number(1)?);
    Ok(match (expr::typed(at, p.scope, None)?, push) {
        (Typed::Stack(stack), true) => Primitive::Push { stack, count },
        (Typed::Stack(stack), false) => Primitive::Pop { stack, count },
        (Typed::UnionStack(stack), true) => Primitive::PushUnion { stack, count },
        (Typed::UnionStack(stack), false) => Primitive::PopUnion { stack, count },
        _ => return Err(at.error("not a stack")),
    })
}

fn mark_to_drop(at: &At<'_>, names: &Names, header: &str, mcast_header: &str) -> Result<Primitive> {
    let egress_spec = names.headers.find(header, "egress_spec");
    let egress_spec = egress_spec.ok_or_else(|| at.error(format!("{header} has no egress_spec")))?;
    Ok(Primitive::MarkToDrop { egress_spec, mcast_grp: names.headers.find(mcast_header, "mcast_grp") })
}

fn log_message(p: &Params<'_, '_>) -> Result<Primitive> {
    let format = p.get(0)?.get("value")?.str()?.to_owned();
    let values = p.get(1)?.get("value")?;
    // p4c writes an empty object where there are no values.
    let list: Vec<_> = if values.value.is_object() { Vec::new() } else { values.items()?.collect() };
    let values = list.iter().map(|value| expr::number(value, p.scope, None)).collect::<Result<_>>()?;
    Ok(Primitive::Log { format, values })
}

/// P4_14's arithmetic primitives are assignments.
fn arithmetic(p: &Params<'_, '_>, op: &str) -> Result<Primitive> {
    let (to, field) = p.target_field(0)?;
    let (left, right) = match op {
        "add_to_field" | "subtract_from_field" => (0, 1),
        _ => (1, 2),
    };
    let op = match op {
        "add" | "add_to_field" => Op::Add,
        "subtract" | "subtract_from_field" => Op::Sub,
        "bit_and" => Op::And,
        "bit_or" => Op::Or,
        "bit_xor" => Op::Xor,
        "shift_left" => Op::Shl,
        _ => Op::Shr,
    };
    let (left, right) = (expr::value(p.get(left)?, p.scope)?, expr::value(p.get(right)?, p.scope)?);
    let value = Value::Binary(op, Box::new(left), Box::new(right));
    if field.saturating {
        return Ok(Primitive::Assign { to, value: Expr { tier: Tier::Widest, value } });
    }
    Ok(simplify(to, field, rewrite::expr(value, Some(field.bits))))
}
