//! The packet replication engine: multicast groups and clone sessions.

use std::collections::BTreeMap;

use ahash::AHashMap;

use crate::{CloneSession, ControlError, Replica};

/// As BMv2's default; 0 means no multicast.
const MAX_GROUPS: usize = 32_767;
/// Replicas of all groups together, against exhaustion of memory.
const MAX_REPLICAS: usize = 1 << 20;
/// As BMv2: the highest bit of a session id marks that there is one.
const MAX_SESSION: u32 = (1 << 15) - 1;

#[derive(Debug, Default)]
pub(crate) struct Pre {
    groups: AHashMap<u16, Box<[Replica]>>,
    sessions: AHashMap<u32, CloneSession>,
    replicas: usize,
}

/// Replicas in the order of the list given; the same port and instance twice is refused, as in BMv2.
fn check(replicas: &[Replica]) -> Result<(), ControlError> {
    let mut seen: Vec<Replica> = replicas.to_vec();
    seen.sort_unstable();
    match seen.iter().zip(seen.iter().skip(1)).find(|(a, b)| a == b) {
        Some((twice, _)) => {
            let message = format!("replica (port {}, instance {}) is given twice", twice.port, twice.instance);
            Err(ControlError::invalid(message))
        }
        None => Ok(()),
    }
}

impl Pre {
    #[inline]
    pub(crate) fn group(&self, group: u16) -> Option<&[Replica]> {
        self.groups.get(&group).map(|replicas| &**replicas)
    }

    #[inline]
    pub(crate) fn session(&self, session: u32) -> Option<&CloneSession> {
        self.sessions.get(&session)
    }

    fn put_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        check(replicas)?;
        let old = self.groups.get(&group).map_or(0, |replicas| replicas.len());
        let total = self.replicas - old + replicas.len();
        if total > MAX_REPLICAS {
            return Err(ControlError::exhausted(format!("more than {MAX_REPLICAS} replicas")));
        }
        self.replicas = total;
        self.groups.insert(group, replicas.into());
        Ok(())
    }

    pub(crate) fn add_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        if group == 0 || usize::from(group) > MAX_GROUPS {
            return Err(ControlError::invalid(format!("multicast group {group} is not in 1..={MAX_GROUPS}")));
        }
        if self.groups.contains_key(&group) {
            return Err(ControlError::exists(format!("multicast group {group} exists")));
        }
        self.put_group(group, replicas)
    }

    pub(crate) fn modify_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), ControlError> {
        if !self.groups.contains_key(&group) {
            return Err(ControlError::not_found(format!("no multicast group {group}")));
        }
        self.put_group(group, replicas)
    }

    pub(crate) fn delete_group(&mut self, group: u16) -> Result<(), ControlError> {
        let old = self.groups.remove(&group);
        let old = old.ok_or_else(|| ControlError::not_found(format!("no multicast group {group}")))?;
        self.replicas -= old.len();
        Ok(())
    }

    pub(crate) fn groups(&self) -> BTreeMap<u16, Vec<Replica>> {
        self.groups.iter().map(|(&group, replicas)| (group, replicas.to_vec())).collect()
    }

    pub(crate) fn set_session(&mut self, session: u32, config: &CloneSession) -> Result<(), ControlError> {
        if session > MAX_SESSION {
            return Err(ControlError::invalid(format!("clone session {session} is above {MAX_SESSION}")));
        }
        check(&config.replicas)?;
        if config.replicas.len() > MAX_REPLICAS {
            return Err(ControlError::exhausted(format!("more than {MAX_REPLICAS} replicas")));
        }
        self.sessions.insert(session, config.clone());
        Ok(())
    }

    pub(crate) fn delete_session(&mut self, session: u32) -> Result<(), ControlError> {
        let old = self.sessions.remove(&session);
        old.map(|_| ()).ok_or_else(|| ControlError::not_found(format!("no clone session {session}")))
    }

    pub(crate) fn sessions(&self) -> BTreeMap<u32, CloneSession> {
        self.sessions.iter().map(|(&session, config)| (session, config.clone())).collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    fn replicas(ports: &[u16]) -> Vec<Replica> {
        ports.iter().map(|&port| Replica { port, instance: 1 }).collect()
    }

    #[test]
    fn a_group_is_added_changed_and_deleted() {
        let mut pre = Pre::default();
        pre.add_group(7, &replicas(&[1, 2])).unwrap();
        assert_eq!(pre.add_group(7, &[]).unwrap_err().code, ErrorCode::AlreadyExists);
        pre.modify_group(7, &replicas(&[3])).unwrap();
        assert_eq!(pre.group(7), Some(&replicas(&[3])[..]));
        pre.delete_group(7).unwrap();
        assert_eq!(pre.group(7), None);
        assert_eq!(pre.delete_group(7).unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(pre.modify_group(7, &[]).unwrap_err().code, ErrorCode::NotFound);
    }

    #[test]
    fn bad_groups_are_refused_and_change_nothing() {
        let mut pre = Pre::default();
        assert_eq!(pre.add_group(0, &[]).unwrap_err().code, ErrorCode::InvalidArgument);
        assert_eq!(pre.add_group(40_000, &[]).unwrap_err().code, ErrorCode::InvalidArgument);
        assert_eq!(pre.add_group(1, &replicas(&[4, 5, 4])).unwrap_err().code, ErrorCode::InvalidArgument);
        assert!(pre.groups().is_empty());
    }

    #[test]
    fn one_port_may_have_several_instances() {
        let mut pre = Pre::default();
        let list = [Replica { port: 1, instance: 1 }, Replica { port: 1, instance: 2 }];
        pre.add_group(1, &list).unwrap();
        assert_eq!(pre.group(1), Some(&list[..]));
    }

    #[test]
    fn replicas_are_counted_over_all_groups() {
        let mut pre = Pre::default();
        let many: Vec<Replica> = (0..u16::MAX).map(|port| Replica { port, instance: 0 }).collect();
        for group in 1..=16 {
            pre.add_group(group, &many).unwrap();
        }
        assert_eq!(pre.add_group(17, &many).unwrap_err().code, ErrorCode::ResourceExhausted);
        pre.delete_group(1).unwrap();
        pre.add_group(17, &many).unwrap();
    }

    #[test]
    fn sessions_are_set_and_deleted() {
        let mut pre = Pre::default();
        let config = CloneSession { replicas: replicas(&[9]), packet_length: 64, class_of_service: 1 };
        pre.set_session(5, &config).unwrap();
        assert_eq!(pre.session(5), Some(&config));
        assert_eq!(pre.set_session(40_000, &config).unwrap_err().code, ErrorCode::InvalidArgument);
        pre.delete_session(5).unwrap();
        assert_eq!(pre.delete_session(5).unwrap_err().code, ErrorCode::NotFound);
    }
}
