//! Action profiles and selectors: actions that entries share by reference.

use std::collections::BTreeMap;

use ahash::AHashMap;

use crate::GroupMembers;

#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Index into the program's actions.
    pub action: u32,
    pub args: Box<[u64]>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub members: GroupMembers,
    /// Each member as often as its weight says, by member id: what the hash selects from.
    pub choices: Vec<u32>,
}

impl Group {
    pub(crate) fn new(members: &GroupMembers) -> Self {
        let choices = members.iter().flat_map(|(&member, &weight)| std::iter::repeat_n(member, weight as usize));
        Self { members: members.clone(), choices: choices.collect() }
    }

    #[inline]
    pub(crate) fn choose(&self, hash: u64) -> Option<u32> {
        let len = self.choices.len() as u64;
        let index = if len == 0 { return None } else { hash % len };
        self.choices.get(index as usize).copied()
    }
}

#[derive(Debug, Default)]
pub(crate) struct ProfileState {
    pub members: AHashMap<u32, Member>,
    pub groups: AHashMap<u32, Group>,
}

impl ProfileState {
    pub(crate) fn sorted_members(&self) -> BTreeMap<u32, &Member> {
        self.members.iter().map(|(&id, member)| (id, member)).collect()
    }
}
