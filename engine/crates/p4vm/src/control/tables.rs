//! Tables: entries and default actions.

use super::{action_info, find, pack, Result};
use crate::ir::{Call, Lookup, Table};
use crate::table::key::EntryKey;
use crate::table::{Entry, EntryRef, TableState, Target};
use crate::{ActionCall, ActionInfo, ControlError, EntryTarget, KeyFieldInfo, MatchKey, Switch, TableEntry, TableInfo};

impl Switch {
    fn table(&self, name: &str) -> Result<usize> {
        find(&self.program.tables, "table", name, |table| &table.name)
    }

    /// Each table's name, the number of its entries, and of those that it has room for.
    pub fn table_sizes(&self) -> Vec<(String, usize, usize)> {
        let states = self.program.tables.iter().zip(&self.tables);
        states.map(|(table, state)| (table.name.to_string(), state.len(), state.max_size)).collect()
    }

    /// Names of all tables, also those that p4c made of statements.
    pub fn tables(&self) -> Vec<String> {
        self.program.tables.iter().map(|table| table.name.to_string()).collect()
    }

    /// All actions of the program.
    pub fn actions(&self) -> Vec<ActionInfo> {
        self.program.actions.iter().map(action_info).collect()
    }

    /// What the program says about a table.
    pub fn table_info(&self, table: &str) -> Result<TableInfo> {
        let program = &self.program;
        let at = self.table(table)?;
        let table = program.tables.get(at).ok_or_else(|| ControlError::not_found(table))?;
        let profile = table.profile.and_then(|p| program.profiles.get(p as usize));
        let actions = table.actions.iter().filter_map(|(action, _)| program.actions.get(*action as usize));
        let meter = table.meter.and_then(|(meter, _)| program.meters.get(meter as usize));
        let key =
            |field: &crate::ir::KeyField| KeyFieldInfo { name: field.name.clone(), kind: field.kind, bits: field.bits };
        Ok(TableInfo {
            name: table.name.to_string(),
            key: table.key.iter().map(key).collect(),
            actions: actions.map(action_info).collect(),
            max_size: table.max_size,
            needs_priority: table.lookup == Lookup::Ternary,
            profile: profile.map(|profile| profile.name.clone()),
            has_selector: profile.is_some_and(|profile| profile.has_selector),
            is_const: table.is_const,
            has_const_default: table.const_default_entry,
            has_counters: table.counters,
            meter: meter.map(|meter| meter.name.clone()),
            supports_timeout: table.timeout,
        })
    }

    /// The table's index, and the key in the form that is stored.
    fn locate(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<(usize, EntryKey, Vec<MatchKey>, i32)> {
        let at = self.table(table)?;
        let def = self.program.tables.get(at).ok_or_else(|| ControlError::not_found(table))?;
        if def.key.is_empty() {
            return Err(ControlError::invalid(format!("table {table} has no key, hence no entries")));
        }
        let (key, shown) = EntryKey::new(&def.key, &def.layout, key)?;
        // Without choice between several hits a priority says nothing.
        let priority = if def.lookup == Lookup::Ternary { priority } else { 0 };
        Ok((at, key, shown, priority))
    }

    /// A table whose entries change.
    fn changing(&mut self, at: usize) -> Option<&mut TableState> {
        self.flows.forget();
        self.tables.get_mut(at)
    }

    fn check_writable(&self, at: usize) -> Result<&Table> {
        let def = self.program.tables.get(at).ok_or_else(|| ControlError::not_found("no such table"))?;
        if self.tables.get(at).is_some_and(|state| !state.writable) {
            return Err(ControlError::invalid(format!("the entries of table {} are constant", def.name)));
        }
        Ok(def)
    }

    fn call(&self, table: &Table, call: &ActionCall) -> Result<Call> {
        let actions = table.actions.iter().enumerate();
        let mut named = actions.filter_map(|(slot, (action, _))| {
            let action = self.program.actions.get(*action as usize)?;
            (action.name == call.action).then_some((slot, action))
        });
        let (slot, action) = named.next().ok_or_else(|| {
            ControlError::invalid(format!("table {} does not have action {}", table.name, call.action))
        })?;
        Ok(Call { slot: slot as u32, args: pack(action, &call.params)?.into() })
    }

    fn target(&self, table: &Table, target: &EntryTarget) -> Result<Target> {
        let Some(profile) = table.profile else {
            return match target {
                EntryTarget::Action(call) => Ok(Target::Call(self.call(table, call)?)),
                _ => Err(ControlError::invalid(format!("table {} has no action profile", table.name))),
            };
        };
        let state = self.profiles.get(profile as usize);
        let def = self.program.profiles.get(profile as usize);
        match target {
            EntryTarget::Action(_) => {
                let message = format!("entries of table {} refer to members of its action profile", table.name);
                Err(ControlError::invalid(message))
            }
            EntryTarget::Member(member) => match state.and_then(|state| state.members.get(member)) {
                Some(_) => Ok(Target::Member(*member)),
                None => Err(ControlError::not_found(format!("no member {member} in the action profile"))),
            },
            EntryTarget::Group(_) if !def.is_some_and(|def| def.has_selector) => {
                Err(ControlError::invalid(format!("the action profile of table {} has no selector", table.name)))
            }
            EntryTarget::Group(group) => match state.and_then(|state| state.groups.get(group)) {
                Some(_) => Ok(Target::Group(*group)),
                None => Err(ControlError::not_found(format!("no group {group} in the action selector"))),
            },
        }
    }

    fn idle_timeout_ns(table: &Table, idle_timeout_us: u64) -> Result<u64> {
        if idle_timeout_us > 0 && !table.timeout {
            return Err(ControlError::invalid(format!("table {} does not support idle timeouts", table.name)));
        }
        Ok(idle_timeout_us.saturating_mul(1000))
    }

    /// Let the entries of a table change that the program has filled, and have others, up to `max_size` altogether. The
    /// JSON does not say whether the program meant them to be constant, and gives their number for the size.
    pub fn table_open(&mut self, table: &str, max_size: usize) -> Result<()> {
        let at = self.table(table)?;
        self.tables.get_mut(at).ok_or_else(|| no_table(table))?.open(max_size);
        Ok(())
    }

    /// Add an entry. `priority` counts only in tables that need one (see [`TableInfo`]); larger wins.
    pub fn table_add(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        target: &EntryTarget,
        idle_timeout_us: u64,
    ) -> Result<()> {
        let (at, key, shown, priority) = self.locate(table, key, priority)?;
        let def = self.check_writable(at)?;
        let target = self.target(def, target)?;
        let idle = Self::idle_timeout_ns(def, idle_timeout_us)?;
        let (program, now_ns) = (std::sync::Arc::clone(&self.program), self.now_ns);
        let (def, state) = program.tables.get(at).zip(self.changing(at)).ok_or_else(|| no_table(table))?;
        state.add(def, key, shown, priority, target, idle, now_ns, false)
    }

    /// Give an entry another action or timeout; its counter and meter stay.
    pub fn table_modify(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        target: &EntryTarget,
        idle_timeout_us: u64,
    ) -> Result<()> {
        let (at, key, _, priority) = self.locate(table, key, priority)?;
        let def = self.check_writable(at)?;
        let target = self.target(def, target)?;
        let idle = Self::idle_timeout_ns(def, idle_timeout_us)?;
        let now_ns = self.now_ns;
        let state = self.changing(at).ok_or_else(|| no_table(table))?;
        let entry = state.redirect(&key, priority, target).ok_or_else(|| no_entry(table))?;
        entry.idle_timeout_ns = idle;
        entry.last_hit_ns = now_ns;
        entry.reported_ns = now_ns;
        Ok(())
    }

    /// Delete an entry.
    pub fn table_delete(&mut self, table: &str, key: &[MatchKey], priority: i32) -> Result<()> {
        let (at, key, _, priority) = self.locate(table, key, priority)?;
        self.check_writable(at)?;
        let removed = self.changing(at).and_then(|state| state.remove(&key, priority));
        removed.map(|_| ()).ok_or_else(|| no_entry(table))
    }

    pub(super) fn entry_mut(&mut self, table: &str, at: usize, key: &EntryKey, priority: i32) -> Result<&mut Entry> {
        self.tables.get_mut(at).and_then(|state| state.find_mut(key, priority)).ok_or_else(|| no_entry(table))
    }

    /// An entry by key, for direct counters and meters.
    pub(super) fn located_mut(&mut self, table: &str, key: &[MatchKey], priority: i32) -> Result<(usize, &mut Entry)> {
        let (at, key, _, priority) = self.locate(table, key, priority)?;
        Ok((at, self.entry_mut(table, at, &key, priority)?))
    }

    pub(super) fn located(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<(usize, &Entry)> {
        let (at, key, _, priority) = self.locate(table, key, priority)?;
        let entry = self.tables.get(at).and_then(|state| state.find(&key, priority));
        Ok((at, entry.ok_or_else(|| no_entry(table))?))
    }

    pub(crate) fn show(&self, at: usize, entry: &Entry) -> TableEntry {
        let target = match entry.target {
            EntryRef::Call(id) => {
                let nothing = || ActionCall { action: String::new(), params: Vec::new() };
                EntryTarget::Action(self.shown_call(at, id).unwrap_or_else(nothing))
            }
            EntryRef::Member(member) => EntryTarget::Member(member),
            EntryRef::Group(group) => EntryTarget::Group(group),
        };
        TableEntry {
            key: entry.key.clone(),
            priority: entry.priority,
            target,
            is_const: entry.is_const,
            idle_timeout_us: entry.idle_timeout_ns / 1000,
            idle_for_us: self.now_ns.saturating_sub(entry.last_hit_ns) / 1000,
        }
    }

    fn shown_call(&self, at: usize, id: u32) -> Option<ActionCall> {
        let call = self.tables.get(at)?.calls.get(id)?;
        let (action, _) = self.program.tables.get(at)?.actions.get(call.slot as usize)?;
        self.program.unpack(*action, &call.args)
    }

    /// Read an entry back.
    pub fn table_get(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<TableEntry> {
        let (at, entry) = self.located(table, key, priority)?;
        Ok(self.show(at, entry))
    }

    /// All entries, const ones too.
    pub fn table_entries(&self, table: &str) -> Result<Vec<TableEntry>> {
        let at = self.table(table)?;
        let state = self.tables.get(at).ok_or_else(|| no_table(table))?;
        Ok(state.entries.iter().flatten().map(|entry| self.show(at, entry)).collect())
    }

    /// None: a miss does nothing.
    pub fn table_default(&self, table: &str) -> Result<Option<ActionCall>> {
        let at = self.table(table)?;
        let (def, state) = self.program.tables.get(at).zip(self.tables.get(at)).ok_or_else(|| no_table(table))?;
        let Some(call) = &state.default else { return Ok(None) };
        let action = def.actions.get(call.slot as usize).map(|(action, _)| *action);
        Ok(action.and_then(|action| self.program.unpack(action, &call.args)))
    }

    /// Replace the default action, which a miss runs.
    pub fn table_set_default(&mut self, table: &str, action: &ActionCall) -> Result<()> {
        let at = self.table(table)?;
        let def = self.program.tables.get(at).ok_or_else(|| no_table(table))?;
        if def.profile.is_some() {
            let message = format!("table {table} has an action profile: its default cannot be set");
            return Err(ControlError::unimplemented(message));
        }
        if def.const_default_entry {
            return Err(ControlError::invalid(format!("the default action of table {table} is constant")));
        }
        let call = self.call(def, action)?;
        if def.const_default_action && def.default.as_ref().is_some_and(|default| default.slot != call.slot) {
            let message = format!("table {table} keeps its default action, only its parameters may change");
            return Err(ControlError::invalid(message));
        }
        let state = self.tables.get_mut(at).ok_or_else(|| no_table(table))?;
        state.default = Some(call);
        Ok(())
    }

    /// Back to the program's default action.
    pub fn table_reset_default(&mut self, table: &str) -> Result<()> {
        let at = self.table(table)?;
        let (def, state) = self.program.tables.get(at).zip(self.tables.get_mut(at)).ok_or_else(|| no_table(table))?;
        state.default = def.default.clone();
        Ok(())
    }
}

fn no_table(table: &str) -> ControlError {
    ControlError::not_found(format!("no table {table}"))
}

fn no_entry(table: &str) -> ControlError {
    ControlError::not_found(format!("table {table} does not have this entry"))
}
