//! Multicast groups and clone sessions.

use std::collections::BTreeMap;

use super::Result;
use crate::{CloneSession, Replica, Switch};

impl Switch {
    /// Copies are made in the order of `replicas`. Group 0 does not exist.
    pub fn mcast_group_add(&mut self, group: u16, replicas: &[Replica]) -> Result<()> {
        self.pre.add_group(group, replicas)
    }

    /// Replace the replicas of a group.
    pub fn mcast_group_modify(&mut self, group: u16, replicas: &[Replica]) -> Result<()> {
        self.pre.modify_group(group, replicas)
    }

    /// Delete a group; packets to it are dropped and counted.
    pub fn mcast_group_delete(&mut self, group: u16) -> Result<()> {
        self.pre.delete_group(group)
    }

    /// All groups with their replicas.
    pub fn mcast_groups(&self) -> BTreeMap<u16, Vec<Replica>> {
        self.pre.groups()
    }

    /// Create or replace a clone session.
    pub fn clone_session_set(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        self.pre.set_session(session, config)
    }

    /// Delete a session; clones to it are dropped and counted.
    pub fn clone_session_delete(&mut self, session: u32) -> Result<()> {
        self.pre.delete_session(session)
    }

    /// All clone sessions.
    pub fn clone_sessions(&self) -> BTreeMap<u32, CloneSession> {
        self.pre.sessions()
    }
}
