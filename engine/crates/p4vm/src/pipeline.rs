//! Controls: the walk from table to table.

use crate::ir::{Next, Node, Pipeline, Table, END};
use crate::machine::Machine;
use crate::phv;
use crate::table::profile::ProfileState;
use crate::table::{EntryRef, Flows, TableState};
use crate::trace::{Observer, Silent};
use crate::value::{words_for, MAX_VALUE_WORDS};

/// The tables of a switch, with what they share.
pub(crate) struct Tables<'a> {
    pub tables: &'a mut [TableState],
    pub profiles: &'a [ProfileState],
    pub flows: &'a mut Flows,
    /// Reused for packet keys.
    pub key: &'a mut Vec<u64>,
}

/// Run a control to its end or an `exit`. The loader has made sure that it has no cycle.
#[inline(never)]
pub(crate) fn run<O: Observer>(m: &mut Machine<'_>, tables: &mut Tables<'_>, control: &Pipeline, observer: &mut O) {
    phv::mark_all(m.phv, &m.program.live.groups);
    let mut next = control.start;
    while next != END && !m.state.exit {
        next = match m.program.nodes.get(next as usize) {
            Some(Node::If { condition, then, otherwise }) => {
                let holds = condition.eval(m.env(&[]));
                observer.condition(m, next, holds);
                if holds {
                    *then
                } else {
                    *otherwise
                }
            }
            Some(Node::Call { action, args, next }) => {
                observer.act(m, *action, args);
                *next
            }
            Some(Node::Apply(table)) => apply(m, tables, *table, observer),
            None => END,
        };
    }
}

pub(crate) fn build_key(m: &Machine<'_>, table: &Table, key: &mut Vec<u64>) {
    key.clear();
    key.resize(table.layout.words, 0);
    for (i, (field, part)) in table.key.iter().zip(&table.layout.parts).enumerate() {
        if field.bits <= 64 && field.expr.is_none() && field.mask.is_none() {
            // Most fields: one word to one word.
            let word = m.phv.get(phv::value_words(&field.field).start).copied().unwrap_or(0);
            if let Some(slot) = key.get_mut(part.word as usize) {
                *slot |= word << part.shift;
            }
            continue;
        }
        if let Some(expr) = &field.expr {
            let mut computed = [0; MAX_VALUE_WORDS];
            let words = computed.get_mut(..words_for(field.bits) as usize).unwrap_or_default();
            expr.eval_words(m.env(&[]), field.bits, words);
            table.layout.put(i, words, key);
            continue;
        }
        let words = m.phv.get(phv::value_words(&field.field)).unwrap_or_default();
        match &field.mask {
            None => table.layout.put(i, words, key),
            Some(mask) => {
                let mut masked = [0; MAX_VALUE_WORDS];
                for ((out, word), mask) in masked.iter_mut().zip(words).zip(mask) {
                    *out = word & mask;
                }
                table.layout.put(i, masked.get(..words.len()).unwrap_or_default(), key);
            }
        }
    }
}

/// What a look-up says is to be done.
pub(crate) struct Found<'a> {
    /// The table's action; None: no action.
    pub slot: Option<u32>,
    pub args: &'a [u64],
    pub hit: bool,
}

fn apply<O: Observer>(m: &mut Machine<'_>, tables: &mut Tables<'_>, index: u32, observer: &mut O) -> Next {
    let Some(table) = m.program.tables.get(index as usize) else { return END };
    let Tables { tables, profiles, flows, key } = tables;
    build_key(m, table, key);
    let Found { slot, args, hit } = look_up(m, tables, profiles, flows, index, key, observer);
    let call = slot.and_then(|slot| table.actions.get(slot as usize));
    if let Some((action, _)) = call {
        observer.act(m, *action, args);
    }
    let next = call.map_or(table.base_next, |(_, next)| *next);
    table.hit_miss.map_or(next, |(after_hit, after_miss)| if hit { after_hit } else { after_miss })
}

/// What a packed key finds in a table; its entry's counter and meter have done their work.
#[inline]
pub(crate) fn find<'a>(
    m: &mut Machine<'_>,
    tables: &'a mut [TableState],
    profiles: &'a [ProfileState],
    flows: &mut Flows,
    index: u32,
    key: &[u64],
) -> Found<'a> {
    look_up(m, tables, profiles, flows, index, key, &mut Silent)
}

#[inline]
fn look_up<'a, O: Observer>(
    m: &mut Machine<'_>,
    tables: &'a mut [TableState],
    profiles: &'a [ProfileState],
    flows: &mut Flows,
    index: u32,
    key: &[u64],
    observer: &mut O,
) -> Found<'a> {
    const NOTHING: Found<'_> = Found { slot: None, args: &[], hit: false };
    let program = m.program;
    let (Some(table), Some(state)) = (program.tables.get(index as usize), tables.get_mut(index as usize)) else {
        return NOTHING;
    };
    let hit = if table.key.is_empty() { None } else { flows.lookup(index, &mut state.index, key, m.phv) };
    observer.table(m, table, key, hit.map(|hit| hit.entry));
    let Some(hit) = hit else {
        return match &state.default {
            Some(call) => Found { slot: Some(call.slot), args: &call.args, hit: false },
            None => NOTHING,
        };
    };
    if let Some(call) = state.calls.get(hit.call) {
        return Found { slot: Some(call.slot), args: &call.args, hit: true };
    }
    let Some(entry) = state.entries.get_mut(hit.entry as usize).and_then(Option::as_mut) else { return NOTHING };
    entry.last_hit_ns = m.now_ns;
    if table.counters {
        entry.counter.add(u64::from(m.state.ingress_length));
    }
    if let Some((meter, target)) = table.meter {
        let bytes = program.meters.get(meter as usize).is_some_and(|meter| meter.bytes);
        let units = if bytes { u64::from(m.state.ingress_length) } else { 1 };
        phv::set_field(m.phv, Some(target), entry.meter.execute(units, m.now_ns) as u64);
    }
    let member = match entry.target {
        EntryRef::Call(call) => {
            let call = state.calls.get(call);
            return Found { slot: call.map(|call| call.slot), args: call.map_or(&[], |call| &call.args), hit: true };
        }
        EntryRef::Member(member) => Some(member),
        EntryRef::Group(group) => choose(m, table, profiles, group),
    };
    // One of an empty group does nothing.
    let member = table.profile.zip(member).and_then(|(p, id)| profiles.get(p as usize)?.members.get(&id));
    let Some(member) = member else { return Found { hit: true, ..NOTHING } };
    let slot = table.actions.iter().position(|(action, _)| *action == member.action);
    Found { slot: slot.map(|slot| slot as u32), args: &member.args, hit: true }
}

/// The member of a group that the selector's hash picks.
fn choose(m: &mut Machine<'_>, table: &Table, profiles: &[ProfileState], group: u32) -> Option<u32> {
    let profile = table.profile? as usize;
    let group = profiles.get(profile)?.groups.get(&group)?;
    let hash = match m.program.profiles.get(profile).and_then(|profile| profile.selector.as_ref()) {
        Some(selector) => crate::externs::calculation::compute(m.program, selector, m.phv, m.payload, m.scratch),
        None => 0,
    };
    group.choose(hash)
}
