//! Controls: the walk from table to table.

use crate::ir::{Next, Node, Table, END};
use crate::machine::Machine;
use crate::phv;
use crate::table::profile::ProfileState;
use crate::table::{EntryRef, TableState};
use crate::trace::Observer;
use crate::value::{words_for, MAX_VALUE_WORDS};

/// The tables of a switch, with what they share.
pub(crate) struct Tables<'a> {
    pub tables: &'a mut [TableState],
    pub profiles: &'a [ProfileState],
    /// Reused for packet keys.
    pub key: &'a mut Vec<u64>,
}

/// Run a control from `start` to its end or an `exit`. The loader has made sure that it has no cycle.
pub(crate) fn run<O: Observer>(m: &mut Machine<'_>, tables: &mut Tables<'_>, start: Next, observer: &mut O) {
    let mut next = start;
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

fn build_key(m: &Machine<'_>, table: &Table, key: &mut Vec<u64>) {
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

fn apply<O: Observer>(m: &mut Machine<'_>, tables: &mut Tables<'_>, index: u32, observer: &mut O) -> Next {
    let program = m.program;
    let (Some(table), Some(state)) = (program.tables.get(index as usize), tables.tables.get_mut(index as usize)) else {
        return END;
    };
    let place = if table.key.is_empty() {
        None
    } else {
        build_key(m, table, tables.key);
        state.index.lookup(tables.key)
    };
    observer.table(m, table, tables.key, place);
    let entry = place.and_then(|place| state.entries.get_mut(place as usize)?.as_mut());
    let Some(entry) = entry else {
        return match &state.default {
            Some(call) => {
                let next = run_slot(m, table, call.slot, &call.args, observer);
                table.hit_miss.map_or(next, |(_, miss)| miss)
            }
            None => table.hit_miss.map_or(table.base_next, |(_, miss)| miss),
        };
    };
    entry.last_hit_ns = m.now_ns;
    if table.counters {
        entry.counter.add(u64::from(m.state.ingress_length));
    }
    if let Some((meter, target)) = table.meter {
        let bytes = program.meters.get(meter as usize).is_some_and(|meter| meter.bytes);
        let units = if bytes { u64::from(m.state.ingress_length) } else { 1 };
        phv::set_field(m.phv, Some(target), entry.meter.execute(units, m.now_ns) as u64);
    }
    let next = match &entry.target {
        EntryRef::Call(call) => run_slot(m, table, call.slot, &call.args, observer),
        EntryRef::Member(member) => run_member(m, table, tables.profiles, Some(*member), observer),
        EntryRef::Group(group) => {
            let member = choose(m, table, tables.profiles, *group);
            run_member(m, table, tables.profiles, member, observer)
        }
    };
    table.hit_miss.map_or(next, |(hit, _)| hit)
}

#[inline]
fn run_slot<O: Observer>(m: &mut Machine<'_>, table: &Table, slot: u32, args: &[u64], observer: &mut O) -> Next {
    let Some((action, next)) = table.actions.get(slot as usize) else { return table.base_next };
    observer.act(m, *action, args);
    *next
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

/// Run a member's action; one of an empty group does nothing.
fn run_member<O: Observer>(
    m: &mut Machine<'_>,
    table: &Table,
    profiles: &[ProfileState],
    member: Option<u32>,
    observer: &mut O,
) -> Next {
    let member = table.profile.zip(member).and_then(|(p, id)| profiles.get(p as usize)?.members.get(&id));
    let Some(member) = member else { return table.base_next };
    match table.actions.iter().position(|(action, _)| *action == member.action) {
        Some(slot) => run_slot(m, table, slot as u32, &member.args, observer),
        None => table.base_next,
    }
}
