//! Tables with their keys, actions, default and const entries; action profiles.

use std::collections::HashMap;

use super::calculation;
use super::expr;
use super::headers::MAX_FIELD_BITS;
use super::range;
use super::rewrite;
use super::typed::Scope;
use super::{next, Names, NodeNames};
use crate::ir::{Action, Call, ConstEntry, Field, KeyField, KeyLayout, Lookup, Next, Profile, Table, END};
use crate::json::{At, Result};
use crate::table::key::EntryKey;
use crate::value::bytes;
use crate::{MatchKey, MatchKind};

/// Words of a packed key, against absurd keys.
const MAX_KEY_WORDS: usize = 512;

/// Entries of one table.
const MAX_ENTRIES: u64 = 1 << 24;

/// Entries where the program does not say how many.
const DEFAULT_SIZE: usize = 1024;

pub(crate) fn profile(at: &At<'_>, names: &Names) -> Result<Profile> {
    let selector = at.opt("selector");
    Ok(Profile {
        name: at.string("name")?.to_owned(),
        actions: Vec::new(),
        max_size: max_size(at)?,
        has_selector: selector.is_some(),
        selector: selector.map(|selector| calculation::calculation(&selector, names)).transpose()?,
    })
}

fn max_size(at: &At<'_>) -> Result<usize> {
    match at.opt("max_size") {
        Some(size) => Ok(size.number(u64::MAX)?.min(MAX_ENTRIES) as usize),
        None => Ok(DEFAULT_SIZE),
    }
}

pub(crate) fn table(
    at: &At<'_>,
    names: &Names,
    actions: &[Action],
    nodes: &NodeNames,
    profiles: &mut [Profile],
    profile_names: &HashMap<String, u32>,
) -> Result<Table> {
    let key = at.list("key")?.iter().map(|field| key_field(field, names)).collect::<Result<Vec<_>>>()?;
    let layout = KeyLayout::new(key.iter().map(|field| field.bits));
    if layout.words > MAX_KEY_WORDS {
        return Err(at.error("the key is wider than 32,768 bits"));
    }
    let lookup = lookup(at, &key)?;
    let profile = match (at.string("type")?, at.opt("action_profile")) {
        ("simple", _) => None,
        ("indirect" | "indirect_ws", Some(name)) => {
            let profile = profile_names.get(name.str()?).copied();
            Some(profile.ok_or_else(|| name.error("no such action profile"))?)
        }
        (kind, _) => return Err(at.error(format!("tables of type {kind} are not supported"))),
    };
    let (table_actions, hit_miss) = successors(at, names, actions, nodes)?;
    if let Some(profile) = profile.and_then(|profile| profiles.get_mut(profile as usize)) {
        for (action, _) in &table_actions {
            if !profile.actions.contains(action) {
                profile.actions.push(*action);
            }
        }
    }
    let meter = match at.opt("direct_meters") {
        Some(name) => {
            let meter = names.meters.get(name.str()?).copied();
            let meter = meter.ok_or_else(|| name.error("no such meter array"))?;
            Some((meter, meter_target(at, name.str()?, names)?))
        }
        None => None,
    };
    let mut table = Table {
        name: at.string("name")?.into(),
        key,
        layout,
        lookup,
        actions: table_actions,
        hit_miss,
        base_next: next(at.opt("base_default_next"), nodes)?,
        default: None,
        const_default_action: false,
        const_default_entry: false,
        max_size: max_size(at)?,
        counters: at.bool_or("with_counters", false)?,
        meter,
        timeout: at.bool_or("support_timeout", false)?,
        profile,
        entries: Vec::new(),
        is_const: at.opt("entries").is_some(),
    };
    if let Some(default) = at.opt("default_entry") {
        table.default = Some(call(&default, &table, names, actions)?);
        table.const_default_action = default.bool_or("action_const", false)?;
        table.const_default_entry = default.bool_or("action_entry_const", false)?;
    }
    table.entries = const_entries(at, &table, names, actions)?;
    Ok(table)
}

fn key_field(at: &At<'_>, names: &Names) -> Result<KeyField> {
    let (match_type, target) = (at.get("match_type")?, at.get("target")?);
    let kind = match match_type.str()? {
        "exact" => MatchKind::Exact,
        "lpm" => MatchKind::Lpm,
        "ternary" => MatchKind::Ternary,
        "range" => MatchKind::Range,
        "optional" => MatchKind::Optional,
        "valid" => MatchKind::Valid,
        other => return Err(match_type.error(format!("unknown match kind {other}"))),
    };
    let (field, expr, default_name) = if target.value.is_object() {
        let value = expr::value(&target, &Scope { names, params: &[] })?;
        let bits = range::analyse(&value, None, &mut 0).pos;
        if bits > MAX_FIELD_BITS {
            return Err(target.error("wider than any field"));
        }
        (Field::plain(0, bits), Some(value), String::new())
    } else if kind == MatchKind::Valid {
        let header = names.headers.header(&target)?;
        let word = names.headers.headers.get(header as usize).map_or(0, |header| header.base);
        (Field::plain(word, 1), None, target.str()?.to_owned())
    } else {
        let (_, field) = names.headers.field(&target)?;
        (field, None, format!("{}.{}", target.at(0)?.str()?, target.at(1)?.str()?))
    };
    let expr = expr.map(|value| rewrite::expr(value, Some(field.bits)));
    if field.varbit {
        return Err(target.error("a varbit field is no key"));
    }
    let name = at.opt("name").map_or(Ok(default_name), |name| name.str().map(str::to_owned))?;
    let mask = match at.opt("mask") {
        Some(mask) => {
            let (value, _) = mask.hex()?;
            let words = bytes::to_words(&value, field.bits);
            Some(words.ok_or_else(|| mask.error(format!("wider than the {} bits of the field", field.bits)))?.into())
        }
        None => None,
    };
    Ok(KeyField { name, kind, bits: field.bits, field, expr, mask })
}

fn lookup(at: &At<'_>, key: &[KeyField]) -> Result<Lookup> {
    let kind = at.get("match_type")?;
    let position = |wanted: &[MatchKind]| key.iter().position(|field| wanted.contains(&field.kind));
    let needs_priority = position(&[MatchKind::Ternary, MatchKind::Range, MatchKind::Optional]).is_some();
    let lpm = position(&[MatchKind::Lpm]);
    if key.iter().filter(|field| field.kind == MatchKind::Lpm).count() > 1 {
        return Err(at.error("the key has two lpm fields"));
    }
    Ok(match (kind.str()?, lpm) {
        ("exact" | "lpm" | "ternary" | "range", _) if key.is_empty() => Lookup::None,
        ("ternary" | "range", _) => Lookup::Ternary,
        ("exact" | "lpm", _) if needs_priority => {
            return Err(kind.error("the key has ternary or range fields"));
        }
        ("lpm", Some(index)) => Lookup::Lpm(index as u32),
        ("exact", Some(_)) => return Err(kind.error("the key has an lpm field")),
        ("exact" | "lpm", None) => Lookup::Exact,
        (other, _) => return Err(kind.error(format!("unknown match kind {other}"))),
    })
}

type Successors = (Vec<(u32, Next)>, Option<(Next, Next)>);

/// The table's actions, and what follows each, or a hit and a miss.
fn successors(at: &At<'_>, names: &Names, actions: &[Action], nodes: &NodeNames) -> Result<Successors> {
    let next_tables = at.get("next_tables")?;
    let hit_miss = if next_tables.value.member("__HIT__").is_some() || next_tables.value.member("__MISS__").is_some() {
        Some((next(next_tables.opt("__HIT__"), nodes)?, next(next_tables.opt("__MISS__"), nodes)?))
    } else {
        None
    };
    let mut found = Vec::new();
    let mut add = |action: u32| -> Result<()> {
        let name = actions.get(action as usize).map(|action| action.name.as_str()).unwrap_or_default();
        let after = match hit_miss {
            Some(_) => END,
            None => next(next_tables.opt(name), nodes)?,
        };
        found.push((action, after));
        Ok(())
    };
    if let Some(ids) = at.opt("action_ids") {
        for id in ids.items()? {
            add(names.actions.get(&id.id()?).copied().ok_or_else(|| id.error("no action has this id"))?)?;
        }
    } else {
        for name in at.list("actions")? {
            add(names.action_names.get(name.str()?).copied().ok_or_else(|| name.error("no such action"))?)?;
        }
    }
    Ok((found, hit_miss))
}

/// The field that a direct meter writes its colour to, which stands with the meter.
fn meter_target(at: &At<'_>, name: &str, names: &Names) -> Result<Field> {
    names.meter_targets.get(name).copied().ok_or_else(|| at.error(format!("meter {name} is not direct")))
}

/// An action with arguments: of a default entry or a const entry.
fn call(at: &At<'_>, table: &Table, names: &Names, actions: &[Action]) -> Result<Call> {
    let id = at.get("action_id")?;
    let action = names.actions.get(&id.id()?).copied().ok_or_else(|| id.error("no action has this id"))?;
    let slot = table.actions.iter().position(|(candidate, _)| *candidate == action);
    let slot = slot.ok_or_else(|| id.error("the table does not have this action"))?;
    let params = actions.get(action as usize).map(|action| action.params.as_slice()).unwrap_or_default();
    let data = at.list("action_data")?;
    if data.len() != params.len() {
        return Err(at.error(format!("the action has {} parameters, not {}", params.len(), data.len())));
    }
    let mut args = Vec::new();
    for (value, param) in data.iter().zip(params) {
        let (bytes, negative) = value.hex()?;
        let words = bytes::to_words(&bytes, param.bits).filter(|_| !negative);
        args.extend(words.ok_or_else(|| value.error(format!("does not fit {} bits", param.bits)))?);
    }
    Ok(Call { slot: slot as u32, args: args.into_boxed_slice().into() })
}

fn const_entries(at: &At<'_>, table: &Table, names: &Names, actions: &[Action]) -> Result<Vec<ConstEntry>> {
    let list = at.list("entries")?;
    if !list.is_empty() && table.profile.is_some() {
        return Err(at.error("a table with an action profile has no const entries"));
    }
    // In the JSON the smallest priority wins; everywhere else in here the largest.
    let mut priorities = Vec::with_capacity(list.len());
    for entry in &list {
        priorities.push(entry.opt("priority").map_or(Ok(1), |p| p.number(u64::from(u32::MAX >> 2)))? as i32);
    }
    let top = priorities.iter().copied().max().unwrap_or(0) + 1;
    let mut entries = Vec::with_capacity(list.len());
    for (entry, priority) in list.iter().zip(priorities) {
        let key = entry.list("match_key")?;
        if key.len() != table.key.len() {
            return Err(entry.error(format!("the key has {} fields, not {}", table.key.len(), key.len())));
        }
        let key = key.iter().zip(&table.key).map(|(at, field)| match_key(at, field)).collect::<Result<Vec<_>>>()?;
        EntryKey::new(&table.key, &table.layout, &key).map_err(|e| entry.error(e.message))?;
        let call = call(&entry.get("action_entry")?, table, names, actions)?;
        let priority = if table.lookup == Lookup::Ternary { top - priority } else { 0 };
        entries.push(ConstEntry { key, priority, call });
    }
    Ok(entries)
}

fn match_key(at: &At<'_>, field: &KeyField) -> Result<MatchKey> {
    let bytes = |key: &str| at.get(key)?.hex().map(|(bytes, _)| bytes);
    let kind = at.get("match_type")?;
    Ok(match (field.kind, kind.str()?) {
        (MatchKind::Exact, "exact") => MatchKey::Value(bytes("key")?),
        (MatchKind::Valid, "valid") => {
            let key = at.get("key")?;
            MatchKey::Value(vec![u8::from(key.value.as_bool().ok_or_else(|| key.error("not true or false"))?)])
        }
        (MatchKind::Lpm, "lpm") => MatchKey::Prefix(bytes("key")?, at.u32("prefix_length", field.bits)?),
        (MatchKind::Ternary, "ternary") => MatchKey::Pair(bytes("key")?, bytes("mask")?),
        (MatchKind::Optional, "optional" | "ternary") => {
            let mask = bytes("mask")?;
            if mask.iter().all(|&byte| byte == 0) {
                MatchKey::Any
            } else {
                MatchKey::Value(bytes("key")?)
            }
        }
        (MatchKind::Range, "range") => MatchKey::Pair(bytes("start")?, bytes("end")?),
        (wanted, other) => return Err(kind.error(format!("the field is matched {}, not {other}", wanted.as_str()))),
    })
}
