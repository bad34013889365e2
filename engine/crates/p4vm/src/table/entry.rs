//! A table's entries and default action.

use std::ops::{Deref, DerefMut};

use crate::externs::counter::Counter;
use crate::externs::meter::Meter;
use crate::ir::{Call, Table};
use crate::table::calls::Calls;
use crate::table::key::EntryKey;
use crate::table::{Hit, Index};
use crate::{ControlError, MatchKey};

/// What an entry is to run.
#[derive(Debug)]
pub(crate) enum Target {
    Call(Call),
    Member(u32),
    Group(u32),
}

/// What an entry runs, its call by number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryRef {
    Call(u32),
    Member(u32),
    Group(u32),
}

/// What a packet that hits the entry needs, in one cache line; the rest is behind a pointer.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Entry {
    pub target: EntryRef,
    pub counter: Counter,
    pub last_hit_ns: u64,
    details: Box<Details>,
}

#[derive(Debug)]
pub(crate) struct Details {
    pub key: Vec<MatchKey>,
    pub priority: i32,
    pub meter: Meter,
    pub is_const: bool,
    /// 0: never.
    pub idle_timeout_ns: u64,
    /// When the last idle timeout was reported.
    pub reported_ns: u64,
}

impl Deref for Entry {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.details
    }
}

impl DerefMut for Entry {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.details
    }
}

#[derive(Debug)]
pub(crate) struct TableState {
    pub index: Index,
    /// Entries keep their place; None where one was deleted.
    pub entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    pub calls: Calls,
    /// A packet needs of the entry that it hits what this runs, and nothing else.
    plain: bool,
    pub default: Option<Call>,
    /// Whether entries may change.
    pub writable: bool,
    pub max_size: usize,
}

impl TableState {
    /// The table after loading, with its const entries.
    pub(crate) fn new(table: &Table) -> Self {
        let index = Index::new(table.lookup, &table.layout);
        let mut state = Self {
            index,
            entries: Vec::new(),
            free: Vec::new(),
            calls: Calls::default(),
            plain: !table.counters && !table.timeout && table.meter.is_none() && table.profile.is_none(),
            default: table.default.clone(),
            writable: !table.is_const,
            max_size: table.max_size,
        };
        for entry in &table.entries {
            // The loader has checked the keys; of two equal entries the first holds.
            if let Ok((key, shown)) = EntryKey::new(&table.key, &table.layout, &entry.key) {
                let target = Target::Call(entry.call.clone());
                let _ = state.add(table, key, shown, entry.priority, target, 0, 0, true);
            }
        }
        state
    }

    /// Let entries change, those of the program among them, up to a size.
    pub(crate) fn open(&mut self, max_size: usize) {
        self.writable = true;
        self.max_size = max_size;
        for entry in self.entries.iter_mut().flatten() {
            entry.is_const = false;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn add(
        &mut self,
        table: &Table,
        key: EntryKey,
        shown: Vec<MatchKey>,
        priority: i32,
        target: Target,
        idle_timeout_ns: u64,
        now_ns: u64,
        is_const: bool,
    ) -> Result<(), ControlError> {
        if self.index.find(&key, priority).is_some() {
            return Err(ControlError::exists(format!("table {} has this entry already", table.name)));
        }
        if !is_const && self.len() >= self.max_size {
            let message = format!("table {} is full ({} entries)", table.name, self.max_size);
            return Err(ControlError::exhausted(message));
        }
        let (target, call) = self.refer(target);
        let meter = Meter::default();
        let details = Details { key: shown, priority, meter, is_const, idle_timeout_ns, reported_ns: now_ns };
        let entry = Entry { target, counter: Counter::default(), last_hit_ns: now_ns, details: Box::new(details) };
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.entries.push(None);
                self.entries.len() as u32 - 1
            }
        };
        if let Some(slot) = self.entries.get_mut(place as usize) {
            *slot = Some(entry);
        }
        self.index.insert(key, priority, Hit { entry: place, call });
        Ok(())
    }

    /// A target as it is kept, and as the index has it.
    fn refer(&mut self, target: Target) -> (EntryRef, u32) {
        match target {
            Target::Call(call) => {
                let call = self.calls.take(call);
                (EntryRef::Call(call), if self.plain { call } else { Hit::ENTRY_SAYS })
            }
            Target::Member(member) => (EntryRef::Member(member), Hit::ENTRY_SAYS),
            Target::Group(group) => (EntryRef::Group(group), Hit::ENTRY_SAYS),
        }
    }

    /// Give an entry something else to run. None: there is no such entry.
    pub(crate) fn redirect(&mut self, key: &EntryKey, priority: i32, target: Target) -> Option<&mut Entry> {
        let place = self.index.find(key, priority)?;
        let (target, call) = self.refer(target);
        let entry = self.entries.get_mut(place as usize)?.as_mut()?;
        if let EntryRef::Call(old) = std::mem::replace(&mut entry.target, target) {
            self.calls.give(old);
        }
        self.index.runs(key, Hit { entry: place, call });
        Some(entry)
    }

    pub(crate) fn find(&self, key: &EntryKey, priority: i32) -> Option<&Entry> {
        self.entries.get(self.index.find(key, priority)? as usize)?.as_ref()
    }

    pub(crate) fn find_mut(&mut self, key: &EntryKey, priority: i32) -> Option<&mut Entry> {
        let place = self.index.find(key, priority)?;
        self.entries.get_mut(place as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, key: &EntryKey, priority: i32) -> Option<Entry> {
        let place = self.index.find(key, priority)?;
        self.index.remove(key, priority);
        self.free.push(place);
        let entry = self.entries.get_mut(place as usize)?.take();
        if let Some(Entry { target: EntryRef::Call(call), .. }) = entry {
            self.calls.give(call);
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Option<Entry>>(), 64);
    }
}
