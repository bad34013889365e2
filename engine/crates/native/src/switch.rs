//! The class `Switch`: control operations and packets of one P4 switch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use live::SharedSwitch;
use p4vm::{ActionCall, CloneSession, ControlError, Options, Outputs, Program, Rate};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};

use crate::convert::{self, Key, Rates};
use crate::errors::{control_error, engine_error, LoadError};

/// How long a waiting thread leaves Ctrl-C unheard, in milliseconds.
const SIGNAL_SLICE_MS: u64 = 100;

/// One P4 switch without I/O or clock: p4c's BMv2 JSON and its control state. Names are the JSON's. Thread-safe.
#[pyclass(frozen, module = "canopy_engine")]
pub struct Switch {
    pub shared: Arc<SharedSwitch>,
    pub cpu_port: Option<u16>,
}

impl Switch {
    /// Runs a control operation without the GIL.
    fn control<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut p4vm::Switch) -> Result<R, ControlError> + Send,
    ) -> PyResult<R> {
        py.detach(|| operation(&mut self.shared.lock())).map_err(|error| control_error(py, error))
    }

    fn read<R: Send>(&self, py: Python<'_>, operation: impl FnOnce(&p4vm::Switch) -> R + Send) -> R {
        py.detach(|| operation(&self.shared.lock()))
    }
}

/// An index that P4Runtime carries as int64.
fn at(index: i64) -> Result<usize, ControlError> {
    usize::try_from(index).map_err(|_| convert::invalid(format!("index {index} is negative")))
}

/// A multicast group that P4Runtime carries as uint32.
fn group_id(group: u32) -> Result<u16, ControlError> {
    u16::try_from(group).map_err(|_| convert::invalid(format!("{group} is not a multicast group: 1 to 65535")))
}

fn call(action: String, params: Vec<Vec<u8>>) -> ActionCall {
    ActionCall { action, params }
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (
        program_json, *, seed = 0, cpu_port = None, num_ports = 512, digest_rate = (0, 0), digest_repeat_rate = (0, 0),
    ))]
    fn new(
        py: Python<'_>,
        program_json: &str,
        seed: u64,
        cpu_port: Option<u16>,
        num_ports: u16,
        digest_rate: (u32, u32),
        digest_repeat_rate: (u32, u32),
    ) -> PyResult<Self> {
        let [digest_rate, digest_repeat_rate] =
            [digest_rate, digest_repeat_rate].map(|(per_second, burst)| Rate { per_second, burst });
        let switch = py
            .detach(|| {
                let program = Program::from_json(program_json)?;
                let options =
                    Options { seed, cpu_port, num_ports, digest_rate, digest_repeat_rate, ..Options::default() };
                Ok(p4vm::Switch::new(program, options))
            })
            .map_err(|error: p4vm::LoadError| LoadError::new_err(error.to_string()))?;
        Ok(Self { shared: Arc::new(SharedSwitch::new(switch)), cpu_port })
    }

    #[getter]
    fn cpu_port(&self) -> Option<u16> {
        self.cpu_port
    }

    /// Ingress, replication and egress at once, with empty queues: the (egress port, packet) pairs in order.
    #[pyo3(signature = (port, packet, now_us = 0))]
    fn process<'py>(&self, py: Python<'py>, port: u16, packet: &[u8], now_us: u64) -> PyResult<Bound<'py, PyList>> {
        let outputs = py.detach(|| {
            let mut outputs = Outputs::new();
            let mut switch = self.shared.lock();
            switch.process(now_us.saturating_mul(1000), port, packet, &mut outputs);
            self.shared.publish(&mut switch);
            outputs
        });
        convert::outputs(py, &outputs)
    }

    /// Digests and idle timeouts since the last call (with packet-ins of a live switch too), oldest first.
    #[pyo3(signature = (max_events = 1024))]
    fn take_events<'py>(&self, py: Python<'py>, max_events: usize) -> PyResult<Bound<'py, PyList>> {
        let events = py.detach(|| {
            self.shared.publish(&mut self.shared.lock());
            self.shared.events.take(max_events)
        });
        convert::events(py, &events)
    }

    /// As `take_events`, but waits for the first one.
    #[pyo3(signature = (timeout_ms, max_events = 1024))]
    fn wait_events<'py>(&self, py: Python<'py>, timeout_ms: u64, max_events: usize) -> PyResult<Bound<'py, PyList>> {
        let mut left = timeout_ms;
        loop {
            let slice = left.min(SIGNAL_SLICE_MS);
            let events = py.detach(|| self.shared.events.wait(Duration::from_millis(slice), max_events));
            left -= slice;
            if !events.is_empty() || left == 0 {
                return convert::events(py, &events);
            }
            py.check_signals()?;
        }
    }

    fn stats(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        let mut stats: BTreeMap<_, _> = self.read(py, p4vm::Switch::stats).into_iter().collect();
        stats.extend(self.shared.events.stats());
        stats
    }

    /// Back to the state after loading: no entries but const ones, zero counters and registers, no groups, no events.
    fn reset(&self, py: Python<'_>) {
        py.detach(|| {
            self.shared.lock().reset();
            self.shared.events.clear();
        });
    }

    /// Trace packets from now on, as long as fewer than `limit` lines wait to be taken; 0: no more.
    fn set_trace(&self, py: Python<'_>, limit: usize) {
        py.detach(|| self.shared.lock().set_trace(limit));
    }

    #[pyo3(signature = (max_lines = 4096))]
    fn take_trace(&self, py: Python<'_>, max_lines: usize) -> Vec<String> {
        py.detach(|| self.shared.lock().take_trace(max_lines))
    }

    /// Name, entries and capacity of each table.
    fn table_sizes(&self, py: Python<'_>) -> Vec<(String, usize, usize)> {
        self.read(py, p4vm::Switch::table_sizes)
    }

    fn counters(&self, py: Python<'_>) -> Vec<String> {
        self.read(py, p4vm::Switch::counters)
    }

    fn tables(&self, py: Python<'_>) -> Vec<String> {
        self.read(py, p4vm::Switch::tables)
    }

    fn table_info<'py>(&self, py: Python<'py>, table: &str) -> PyResult<Bound<'py, PyDict>> {
        convert::table_info(py, &self.control(py, |s| s.table_info(table))?)
    }

    // Tables.

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

    // Action profiles and selectors.

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

    // Counters, meters, registers.

    fn counter_read(&self, py: Python<'_>, counter: &str, index: i64) -> PyResult<(u64, u64)> {
        self.control(py, |s| s.counter_read(counter, at(index)?))
    }

    fn counter_read_all(&self, py: Python<'_>, counter: &str) -> PyResult<Vec<(u64, u64)>> {
        self.control(py, |s| s.counter_read_all(counter))
    }

    fn counter_write(&self, py: Python<'_>, counter: &str, index: i64, packets: u64, octets: u64) -> PyResult<()> {
        self.control(py, |s| s.counter_write(counter, at(index)?, packets, octets))
    }

    #[pyo3(signature = (table, r#match, priority = 0))]
    fn direct_counter_read(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        priority: i32,
    ) -> PyResult<(u64, u64)> {
        let key = convert::keys(r#match);
        self.control(py, |s| s.direct_counter_read(table, &key, priority))
    }

    fn direct_counter_write(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        priority: i32,
        packets: u64,
        octets: u64,
    ) -> PyResult<()> {
        let key = convert::keys(r#match);
        self.control(py, |s| s.direct_counter_write(table, &key, priority, packets, octets))
    }

    fn meter_read(&self, py: Python<'_>, meter: &str, index: i64) -> PyResult<Option<Rates>> {
        Ok(self.control(py, |s| s.meter_read(meter, at(index)?))?.map(Rates::from))
    }

    fn meter_write(&self, py: Python<'_>, meter: &str, index: i64, rates: Option<Rates>) -> PyResult<()> {
        self.control(py, |s| s.meter_write(meter, at(index)?, rates.map(Into::into)))
    }

    #[pyo3(signature = (table, r#match, priority = 0))]
    fn direct_meter_read(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        priority: i32,
    ) -> PyResult<Option<Rates>> {
        let key = convert::keys(r#match);
        Ok(self.control(py, |s| s.direct_meter_read(table, &key, priority))?.map(Rates::from))
    }

    fn direct_meter_write(
        &self,
        py: Python<'_>,
        table: &str,
        r#match: Vec<Key>,
        priority: i32,
        rates: Option<Rates>,
    ) -> PyResult<()> {
        let key = convert::keys(r#match);
        self.control(py, |s| s.direct_meter_write(table, &key, priority, rates.map(Into::into)))
    }

    fn register_size(&self, py: Python<'_>, register: &str) -> PyResult<usize> {
        Ok(self.control(py, |s| s.register_size(register))?.0)
    }

    fn register_read<'py>(&self, py: Python<'py>, register: &str, index: i64) -> PyResult<Bound<'py, PyAny>> {
        convert::int_from_bytes(py, &self.control(py, |s| s.register_read(register, at(index)?))?)
    }

    fn register_write(&self, py: Python<'_>, register: &str, index: i64, value: &Bound<'_, PyInt>) -> PyResult<()> {
        let (_, bits) = self.control(py, |s| s.register_size(register))?;
        let bytes = convert::int_to_bytes(value, bits.div_ceil(8) as usize).map_err(|_| {
            engine_error(py, "invalid_argument", format!("{register}: the value does not fit {bits} bits"))
        })?;
        self.control(py, |s| s.register_write(register, at(index)?, &bytes))
    }

    // Packet replication engine.

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

    // Parser value sets.

    /// Replace the members of a value set.
    fn value_set_write(&self, py: Python<'_>, value_set: &str, members: Vec<Vec<Key>>) -> PyResult<()> {
        let members: Vec<_> = members.into_iter().map(convert::keys).collect();
        self.control(py, |s| s.value_set_write(value_set, &members))
    }
}
