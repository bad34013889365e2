//! Tables and parser value sets of a `Switch`.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{call, Switch};
use crate::convert::{self, Key};

#[pymethods]
impl Switch {
    /// Add an entry that runs an action, or a member or group of the action profile.
    #[pyo3(signature = (table, r#match, action = None, params = Vec::new(), priority = 0, idle_timeout_us = 0, *,
                        member = None, group = None))]
    #[allow(clippy::too_many_arguments)]
    fn table_add(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        action: Option<String>,
        params: Vec<Vec<u8>>,
        priority: i32,
        idle_timeout_us: u64,
        member: Option<u32>,
        group: Option<u32>,
    ) -> PyResult<()> {
        let (key, target) = (convert::keys(r#match), convert::target(action, params, member, group)?);
        self.control(py, |s| s.table_add(table, &key, priority, &target, idle_timeout_us))
    }

    /// Give an entry another target and timeout.
    #[pyo3(signature = (table, r#match, action = None, params = Vec::new(), priority = 0, idle_timeout_us = 0, *,
                        member = None, group = None))]
    #[allow(clippy::too_many_arguments)]
    fn table_modify(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        action: Option<String>,
        params: Vec<Vec<u8>>,
        priority: i32,
        idle_timeout_us: u64,
        member: Option<u32>,
        group: Option<u32>,
    ) -> PyResult<()> {
        let (key, target) = (convert::keys(r#match), convert::target(action, params, member, group)?);
        self.control(py, |s| s.table_modify(table, &key, priority, &target, idle_timeout_us))
    }

    #[pyo3(signature = (table, r#match, priority = 0))]
    fn table_delete(&self, py: Python<'_>, table: &str, r#match: Vec<Key>, priority: i32) -> PyResult<()> {
        let key = convert::keys(r#match);
        self.control(py, |s| s.table_delete(table, &key, priority))
    }

    #[pyo3(signature = (table, r#match, priority = 0))]
    fn table_get<'py>(
        &self,
        py: Python<'py>,
        table: &str,
        r#match: Vec<Key>,
        priority: i32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let key = convert::keys(r#match);
        convert::table_entry(py, &self.control(py, |s| s.table_get(table, &key, priority))?)
    }

    fn table_entries<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.control(py, |s| s.table_entries(table))?.iter().map(|entry| convert::table_entry(py, entry)).collect()
    }

    fn table_default<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.control(py, |s| s.table_default(table))?.map(|default| convert::action_call(py, &default)).transpose()
    }

    fn table_set_default(&self, py: Python<'_>, table: &str, action: String, params: Vec<Vec<u8>>) -> PyResult<()> {
        let default = call(action, params);
        self.control(py, |s| s.table_set_default(table, &default))
    }

    fn table_reset_default(&self, py: Python<'_>, table: &str) -> PyResult<()> {
        self.control(py, |s| s.table_reset_default(table))
    }

    /// Let the entries of a table change that the program has filled, and have others, up to `max_size` altogether.
    fn table_open(&self, py: Python<'_>, table: &str, max_size: usize) -> PyResult<()> {
        self.control(py, |s| s.table_open(table, max_size))
    }

    /// Replace the members of a value set.
    fn value_set_write(&self, py: Python<'_>, value_set: &str, members: Vec<Vec<Key>>) -> PyResult<()> {
        let members: Vec<_> = members.into_iter().map(convert::keys).collect();
        self.control(py, |s| s.value_set_write(value_set, &members))
    }
}
