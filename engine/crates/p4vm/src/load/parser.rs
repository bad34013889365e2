//! The parser's states and the value sets they use.

use std::collections::HashMap;

use super::expr;
use super::typed::Scope;
use super::{action, Names};
use crate::ir::{
    Case, CaseValue, Expr, Field, KeyLayout, Next, ParseState, Parser, ParserOp, SelectKey, Tier, Value, ValueSet, END,
};
use crate::json::{At, Result};
use crate::value::bytes;
use crate::LoadError;

/// A packet has at most 65,535 bytes.
const MAX_LOOKAHEAD: u32 = 65_535 * 8;

pub(crate) fn value_sets(root: &At<'_>, names: &mut Names) -> Result<Vec<ValueSet>> {
    let mut sets = Vec::new();
    for at in root.list("parse_vsets")? {
        let name = at.string("name")?.to_owned();
        names.value_sets.insert(name.clone(), sets.len() as u32);
        sets.push(ValueSet { name, layout: KeyLayout::default() });
    }
    Ok(sets)
}

pub(crate) fn load(root: &At<'_>, names: &Names, sets: &mut [ValueSet]) -> Result<Parser> {
    let Some(parser) = root.list("parsers")?.into_iter().next() else {
        return Err(LoadError::new("parsers", "there is none"));
    };
    let list = parser.list("parse_states")?;
    let mut by_name = HashMap::new();
    for (index, at) in list.iter().enumerate() {
        by_name.insert(at.string("name")?, index as Next);
    }
    let start = next_state(parser.opt("init_state"), &by_name)?;
    let scope = Scope { names, params: &[] };
    let mut states = Vec::with_capacity(list.len());
    for at in &list {
        states.push(state(at, &scope, &by_name, sets)?);
    }
    Ok(Parser { states, start })
}

fn next_state(at: Option<At<'_>>, by_name: &HashMap<&str, Next>) -> Result<Next> {
    let Some(at) = at else { return Ok(END) };
    by_name.get(at.str()?).copied().ok_or_else(|| at.error(format!("no parse state {}", at.value)))
}

fn state(at: &At<'_>, scope: &Scope<'_>, by_name: &HashMap<&str, Next>, sets: &mut [ValueSet]) -> Result<ParseState> {
    let ops = at.list("parser_ops")?.iter().map(|op| parser_op(op, scope)).collect::<Result<_>>()?;
    let key = at.list("transition_key")?.iter().map(|part| select_key(part, scope)).collect::<Result<Vec<_>>>()?;
    let widths: Vec<u32> = key.iter().map(width).collect();
    let layout = KeyLayout::new(widths.iter().copied());
    let (mut cases, mut default) = (Vec::new(), END);
    for transition in at.list("transitions")? {
        let next = next_state(transition.opt("next_state"), by_name)?;
        let value = transition.opt("value");
        let kind = transition.opt("type").map_or(Ok("hexstr"), |kind| kind.str())?;
        if kind == "default" || value.as_ref().is_some_and(|value| value.value.as_str() == Some("default")) {
            default = next;
            continue;
        }
        let value = value.ok_or_else(|| transition.error("has no value"))?;
        let mask = transition.opt("mask").map(|mask| packed(&mask, &widths, &layout)).transpose()?;
        let when = match kind {
            "hexstr" => {
                let mut value = packed(&value, &widths, &layout)?;
                let mask = mask.unwrap_or_else(|| vec![u64::MAX; layout.words].into());
                value.iter_mut().zip(&mask).for_each(|(value, mask)| *value &= mask);
                CaseValue::Masked { value, mask }
            }
            "parse_vset" => {
                let index = scope.names.value_sets.get(value.str()?).copied();
                let index = index.ok_or_else(|| value.error("no such value set"))?;
                bind(&value, sets.get_mut(index as usize), &layout)?;
                CaseValue::Set { set: index, mask }
            }
            other => return Err(transition.error(format!("no transition is of type {other}"))),
        };
        cases.push(Case { when, next });
    }
    Ok(ParseState { ops, key, layout, cases, default })
}

/// A value set takes the layout of the key that it is compared with; several states must agree.
fn bind(at: &At<'_>, set: Option<&mut ValueSet>, layout: &KeyLayout) -> Result<()> {
    let Some(set) = set else { return Ok(()) };
    if !set.layout.parts.is_empty() && set.layout != *layout {
        return Err(at.error("the value set is used with keys of different widths"));
    }
    set.layout.clone_from(layout);
    Ok(())
}

fn width(part: &SelectKey) -> u32 {
    match part {
        SelectKey::Field(field) => field.bits,
        SelectKey::Last { bits, .. } | SelectKey::LastUnion { bits, .. } | SelectKey::Lookahead { bits, .. } => *bits,
    }
}

/// A value or mask of a transition: its fields in order, each padded to whole bytes.
fn packed(at: &At<'_>, widths: &[u32], layout: &KeyLayout) -> Result<Box<[u64]>> {
    let (value, _) = at.hex()?;
    let total: usize = widths.iter().map(|bits| bits.div_ceil(8) as usize).sum();
    if value.len() != total {
        return Err(at.error(format!("has {} bytes, the key {total}", value.len())));
    }
    let mut out = vec![0; layout.words];
    let mut rest = value.as_slice();
    for (i, &bits) in widths.iter().enumerate() {
        let (field, after) = rest.split_at(bits.div_ceil(8) as usize);
        rest = after;
        let words = bytes::to_words(field, bits);
        let words = words.ok_or_else(|| at.error(format!("field {i} of the key has {bits} bits only")))?;
        layout.put(i, &words, &mut out);
    }
    Ok(out.into())
}

fn select_key(at: &At<'_>, scope: &Scope<'_>) -> Result<SelectKey> {
    let (kind, value) = (at.get("type")?, at.get("value")?);
    let headers = &scope.names.headers;
    let plain = |field: Field| if field.varbit { Err(at.error("a varbit field is no key")) } else { Ok(field) };
    Ok(match kind.str()? {
        "field" => SelectKey::Field(plain(headers.field(&value)?.1)?),
        "stack_field" => {
            let stack = headers.stack(&value.at(0)?)?;
            let (index, field) = headers.stack_field(stack, &value.at(1)?)?;
            SelectKey::Last { stack, index, bits: plain(field)?.bits }
        }
        "union_stack_field" => {
            let stack = headers.union_stack(&value.at(0)?)?;
            let member = headers.union_stack_member(stack, &value.at(1)?)?;
            let (index, field) = headers.union_stack_field(stack, member, &value.at(2)?)?;
            SelectKey::LastUnion { stack, member, index, bits: plain(field)?.bits }
        }
        "lookahead" => {
            let (offset, bits) = lookahead(&value)?;
            SelectKey::Lookahead { offset, bits }
        }
        other => return Err(kind.error(format!("a transition key has no part of type {other}"))),
    })
}

fn lookahead(at: &At<'_>) -> Result<(u32, u32)> {
    let offset = at.at(0)?.number(u64::from(MAX_LOOKAHEAD))? as u32;
    let bits = at.at(1)?.number(u64::from(super::headers::MAX_FIELD_BITS))? as u32;
    Ok((offset, bits))
}

fn parser_op(at: &At<'_>, scope: &Scope<'_>) -> Result<ParserOp> {
    let op = at.get("op")?;
    let params = at.get("parameters")?;
    Ok(match op.str()? {
        "extract" => extract(&params.at(0)?, None, scope)?,
        "extract_VL" => extract(&params.at(0)?, Some(expr::number(&params.at(1)?, scope, None)?), scope)?,
        "set" => set(&params, scope)?,
        "verify" => {
            let error = params.at(1)?;
            let error = match error.id() {
                Ok(code) => Expr { tier: Tier::I64, value: Value::Const(code) },
                Err(_) => expr::number(&error, scope, None)?,
            };
            ParserOp::Verify { condition: expr::condition(&params.at(0)?, scope)?, error }
        }
        "primitive" => {
            let list: Vec<_> = params.items()?.collect();
            let mut body = action::primitives(&list, scope)?;
            match (body.pop(), body.is_empty()) {
                (Some(primitive), true) => ParserOp::Primitive(primitive),
                _ => return Err(params.error("not exactly one primitive")),
            }
        }
        "shift" => {
            let bytes = params.at(0)?.number(u64::from(MAX_LOOKAHEAD))?;
            ParserOp::Advance(Expr { tier: Tier::I64, value: Value::Const(bytes as i64 * 8) })
        }
        "advance" => ParserOp::Advance(expr::number(&params.at(0)?, scope, None)?),
        other => return Err(op.error(format!("unknown parser operation {other}"))),
    })
}

fn extract(at: &At<'_>, bits: Option<Expr>, scope: &Scope<'_>) -> Result<ParserOp> {
    let (kind, value) = (at.get("type")?, at.get("value")?);
    let headers = &scope.names.headers;
    Ok(match (kind.str()?, bits) {
        ("regular", bits) if value.value.is_object() => {
            ParserOp::ExtractTo { header: expr::header(&value, scope)?, bits }
        }
        ("regular", None) => ParserOp::Extract(headers.header(&value)?),
        ("regular", Some(bits)) => ParserOp::ExtractVarbit { header: headers.header(&value)?, bits },
        ("stack", None) => ParserOp::ExtractNext(headers.stack(&value)?),
        ("stack", Some(bits)) => ParserOp::ExtractNextVarbit { stack: headers.stack(&value)?, bits },
        ("union_stack", bits) => {
            let stack = headers.union_stack(&value.at(0)?)?;
            let member = headers.union_stack_member(stack, &value.at(1)?)?;
            ParserOp::ExtractNextUnion { stack, member, bits }
        }
        (other, _) => return Err(kind.error(format!("nothing of type {other} can be extracted"))),
    })
}

fn set(params: &At<'_>, scope: &Scope<'_>) -> Result<ParserOp> {
    let (to_at, from) = (params.at(0)?, params.at(1)?);
    if to_at.string("type")? != "field" {
        return Err(to_at.error("only fields can be set"));
    }
    let (_, to) = scope.names.headers.field(&to_at.get("value")?)?;
    match from.string("type")? {
        "lookahead" if !to.varbit => {
            let (offset, bits) = lookahead(&from.get("value")?)?;
            Ok(ParserOp::SetLookahead { to, offset, bits })
        }
        "field" if to.varbit => {
            let (_, from_field) = scope.names.headers.field(&from.get("value")?)?;
            if !from_field.varbit || from_field.bits != to.bits {
                return Err(from.error("not a varbit field of the same width"));
            }
            Ok(ParserOp::SetVarbit { to, from: from_field })
        }
        _ if to.varbit => Err(to_at.error("a varbit field takes the value of another only")),
        _ if to.saturating => Ok(ParserOp::Set { to, value: expr::number(&from, scope, None)? }),
        _ => Ok(ParserOp::Set { to, value: expr::assigned(&from, scope, to.bits)? }),
    }
}
