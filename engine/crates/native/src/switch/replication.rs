//! The packet replication engine of a `Switch`: multicast groups and clone sessions.

use std::collections::BTreeMap;

use p4vm::{CloneSession, ControlError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Switch;
use crate::convert;

/// A multicast group that P4Runtime carries as uint32.
fn group_id(group: u32) -> Result<u16, ControlError> {
    u16::try_from(group).map_err(|_| convert::invalid(format!("{group} is not a multicast group: 1 to 65535")))
}

#[pymethods]
impl Switch {
    fn mcast_group_add(&self, py: Python<'_>, group: u32, replicas: Vec<(u32, u32)>) -> PyResult<()> {
        self.control(py, |s| s.mcast_group_add(group_id(group)?, &convert::replicas(&replicas)?))
    }

    fn mcast_group_modify(&self, py: Python<'_>, group: u32, replicas: Vec<(u32, u32)>) -> PyResult<()> {
        self.control(py, |s| s.mcast_group_modify(group_id(group)?, &convert::replicas(&replicas)?))
    }

    fn mcast_group_delete(&self, py: Python<'_>, group: u32) -> PyResult<()> {
        self.control(py, |s| s.mcast_group_delete(group_id(group)?))
    }

    fn mcast_groups(&self, py: Python<'_>) -> BTreeMap<u16, Vec<(u16, u16)>> {
        let groups = self.read(py, p4vm::Switch::mcast_groups);
        let pairs = |replicas: Vec<p4vm::Replica>| replicas.into_iter().map(|r| (r.port, r.instance)).collect();
        groups.into_iter().map(|(group, replicas)| (group, pairs(replicas))).collect()
    }

    #[pyo3(signature = (session, replicas, packet_length = 0, class_of_service = 0))]
    fn clone_session_set(
        &self,
        py: Python<'_>,
        session: u32,
        replicas: Vec<(u32, u32)>,
        packet_length: u32,
        class_of_service: u32,
    ) -> PyResult<()> {
        self.control(py, |s| {
            let replicas = convert::replicas(&replicas)?;
            s.clone_session_set(session, &CloneSession { replicas, packet_length, class_of_service })
        })
    }

    fn clone_session_delete(&self, py: Python<'_>, session: u32) -> PyResult<()> {
        self.control(py, |s| s.clone_session_delete(session))
    }

    fn clone_sessions<'py>(&self, py: Python<'py>) -> PyResult<BTreeMap<u32, Bound<'py, PyDict>>> {
        let sessions = self.read(py, p4vm::Switch::clone_sessions);
        sessions.iter().map(|(id, session)| Ok((*id, convert::clone_session(py, session)?))).collect()
    }
}
