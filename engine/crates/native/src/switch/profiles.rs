//! Action profiles and selectors of a `Switch`.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{call, Switch};
use crate::convert;

#[pymethods]
impl Switch {
    fn member_add(
        &self,
        py: Python<'_>,
        profile: &str,
        member: u32,
        action: String,
        params: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let action = call(action, params);
        self.control(py, |s| s.member_add(profile, member, &action))
    }

    fn member_modify(
        &self,
        py: Python<'_>,
        profile: &str,
        member: u32,
        action: String,
        params: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let action = call(action, params);
        self.control(py, |s| s.member_modify(profile, member, &action))
    }

    fn member_delete(&self, py: Python<'_>, profile: &str, member: u32) -> PyResult<()> {
        self.control(py, |s| s.member_delete(profile, member))
    }

    fn members<'py>(&self, py: Python<'py>, profile: &str) -> PyResult<BTreeMap<u32, Bound<'py, PyDict>>> {
        let members = self.control(py, |s| s.members(profile))?;
        members.into_iter().map(|(id, action)| Ok((id, convert::action_call(py, &action)?))).collect()
    }

    /// Create or replace a group: member id -> weight.
    #[pyo3(signature = (profile, group, members, max_size = 0))]
    fn group_set(
        &self,
        py: Python<'_>,
        profile: &str,
        group: u32,
        members: BTreeMap<u32, u32>,
        max_size: u32,
    ) -> PyResult<()> {
        self.control(py, |s| s.group_set(profile, group, &members, max_size))
    }

    fn group_delete(&self, py: Python<'_>, profile: &str, group: u32) -> PyResult<()> {
        self.control(py, |s| s.group_delete(profile, group))
    }

    fn groups(&self, py: Python<'_>, profile: &str) -> PyResult<BTreeMap<u32, BTreeMap<u32, u32>>> {
        self.control(py, |s| s.groups(profile))
    }
}
