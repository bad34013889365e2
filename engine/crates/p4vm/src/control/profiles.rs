//! Action profiles and selectors.

use std::collections::BTreeMap;

use super::{find, pack, Result};
use crate::ir::Profile;
use crate::table::profile::{Group, Member, ProfileState};
use crate::table::EntryRef;
use crate::{ActionCall, ControlError, GroupMembers, Switch};

/// Sum of a group's weights, against exhaustion of memory.
const MAX_WEIGHTS: u64 = 65_536;

impl Switch {
    /// Names of the action profiles and selectors.
    pub fn profiles(&self) -> Vec<String> {
        self.program.profiles.iter().map(|profile| profile.name.clone()).collect()
    }

    fn profile(&self, name: &str) -> Result<(usize, &Profile, &ProfileState)> {
        let at = find(&self.program.profiles, "action profile", name, |profile| &profile.name)?;
        let found = self.program.profiles.get(at).zip(self.profiles.get(at));
        found.map(|(def, state)| (at, def, state)).ok_or_else(|| ControlError::not_found(name))
    }

    fn member(&self, profile: &Profile, call: &ActionCall) -> Result<Member> {
        let named = profile.actions.iter().find_map(|&action| {
            let def = self.program.actions.get(action as usize)?;
            (def.name == call.action).then_some((action, def))
        });
        let (action, def) = named.ok_or_else(|| {
            let message = format!("action profile {} does not have action {}", profile.name, call.action);
            ControlError::invalid(message)
        })?;
        Ok(Member { action, args: pack(def, &call.params)? })
    }

    /// Add a member with its action.
    pub fn member_add(&mut self, profile: &str, member: u32, action: &ActionCall) -> Result<()> {
        let (at, def, state) = self.profile(profile)?;
        if state.members.contains_key(&member) {
            return Err(ControlError::exists(format!("action profile {profile} has member {member}")));
        }
        if state.members.len() >= def.max_size {
            let message = format!("action profile {profile} is full ({} members)", def.max_size);
            return Err(ControlError::exhausted(message));
        }
        let new = self.member(def, action)?;
        if let Some(state) = self.profiles.get_mut(at) {
            state.members.insert(member, new);
        }
        Ok(())
    }

    /// Give a member another action.
    pub fn member_modify(&mut self, profile: &str, member: u32, action: &ActionCall) -> Result<()> {
        let (at, def, state) = self.profile(profile)?;
        if !state.members.contains_key(&member) {
            return Err(no_member(profile, member));
        }
        let new = self.member(def, action)?;
        if let Some(state) = self.profiles.get_mut(at) {
            state.members.insert(member, new);
        }
        Ok(())
    }

    /// An entry of a table refers to this member or group of the profile.
    fn is_referred_to(&self, profile: usize, wanted: impl Fn(&EntryRef) -> bool) -> bool {
        let tables = self.program.tables.iter().zip(&self.tables);
        let mut entries = tables
            .filter(|(table, _)| table.profile == Some(profile as u32))
            .flat_map(|(_, state)| state.entries.iter().flatten());
        entries.any(|entry| wanted(&entry.target))
    }

    /// Refused while an entry or a group uses it.
    pub fn member_delete(&mut self, profile: &str, member: u32) -> Result<()> {
        let (at, _, state) = self.profile(profile)?;
        if !state.members.contains_key(&member) {
            return Err(no_member(profile, member));
        }
        let in_group = state.groups.values().any(|group| group.members.contains_key(&member));
        if in_group || self.is_referred_to(at, |target| matches!(target, EntryRef::Member(m) if *m == member)) {
            return Err(ControlError::invalid(format!("member {member} of {profile} is in use")));
        }
        if let Some(state) = self.profiles.get_mut(at) {
            state.members.remove(&member);
        }
        Ok(())
    }

    /// All members of a profile.
    pub fn members(&self, profile: &str) -> Result<BTreeMap<u32, ActionCall>> {
        let (_, _, state) = self.profile(profile)?;
        let members = state.sorted_members().into_iter();
        Ok(members.filter_map(|(id, m)| Some((id, self.program.unpack(m.action, &m.args)?))).collect())
    }

    /// Create or replace a group. `max_size` bounds the sum of the weights; 0: no limit but this machine's (65,536).
    pub fn group_set(&mut self, profile: &str, group: u32, members: &GroupMembers, max_size: u32) -> Result<()> {
        let (at, def, state) = self.profile(profile)?;
        if !def.has_selector {
            return Err(ControlError::invalid(format!("action profile {profile} has no selector")));
        }
        if let Some(missing) = members.keys().find(|member| !state.members.contains_key(member)) {
            return Err(no_member(profile, *missing));
        }
        if let Some((member, _)) = members.iter().find(|(_, &weight)| weight == 0) {
            return Err(ControlError::invalid(format!("member {member} has weight 0")));
        }
        let total: u64 = members.values().map(|&weight| u64::from(weight)).sum();
        let limit = if max_size == 0 { MAX_WEIGHTS } else { MAX_WEIGHTS.min(u64::from(max_size)) };
        if total > limit {
            return Err(ControlError::exhausted(format!("the weights of group {group} sum up to more than {limit}")));
        }
        if let Some(state) = self.profiles.get_mut(at) {
            state.groups.insert(group, Group::new(members));
        }
        Ok(())
    }

    /// Refused while an entry uses it.
    pub fn group_delete(&mut self, profile: &str, group: u32) -> Result<()> {
        let (at, _, state) = self.profile(profile)?;
        if !state.groups.contains_key(&group) {
            return Err(ControlError::not_found(format!("action selector {profile} has no group {group}")));
        }
        if self.is_referred_to(at, |target| matches!(target, EntryRef::Group(g) if *g == group)) {
            return Err(ControlError::invalid(format!("group {group} of {profile} is in use")));
        }
        if let Some(state) = self.profiles.get_mut(at) {
            state.groups.remove(&group);
        }
        Ok(())
    }

    /// All groups of a selector.
    pub fn groups(&self, profile: &str) -> Result<BTreeMap<u32, GroupMembers>> {
        let (_, _, state) = self.profile(profile)?;
        Ok(state.groups.iter().map(|(&id, group)| (id, group.members.clone())).collect())
    }
}

fn no_member(profile: &str, member: u32) -> ControlError {
    ControlError::not_found(format!("action profile {profile} has no member {member}"))
}
