//! The class `Switch`: one P4 switch, its packets and events. Its control operations are beside it, by what they control.

mod externs;
mod profiles;
mod programs;
mod replication;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use live::SharedSwitch;
use p4vm::{ActionCall, Backend, ControlError, Options, Outputs, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::convert;
use crate::errors::{control_error, LoadError};

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

fn call(action: String, params: Vec<Vec<u8>>) -> ActionCall {
    ActionCall { action, params }
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (
        program_json, *, seed = 0, cpu_port = None, num_ports = 512, digest_rate = (0, 0), digest_repeat_rate = (0, 0),
        backend = "adaptive",
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        program_json: &str,
        seed: u64,
        cpu_port: Option<u16>,
        num_ports: u16,
        digest_rate: (u32, u32),
        digest_repeat_rate: (u32, u32),
        backend: &str,
    ) -> PyResult<Self> {
        let backend =
            Backend::named(backend).ok_or_else(|| PyValueError::new_err(format!("there is no back end {backend}")))?;
        let [digest_rate, digest_repeat_rate] =
            [digest_rate, digest_repeat_rate].map(|(per_second, burst)| Rate { per_second, burst });
        let switch = py
            .detach(|| {
                let program = programs::load(program_json)?;
                let options = Options {
                    seed,
                    cpu_port,
                    num_ports,
                    digest_rate,
                    digest_repeat_rate,
                    backend,
                    ..Options::default()
                };
                Ok(p4vm::Switch::new(program, options))
            })
            .map_err(|error: p4vm::LoadError| LoadError::new_err(error.to_string()))?;
        Ok(Self { shared: Arc::new(SharedSwitch::new(switch)), cpu_port })
    }

    /// What runs the program now, and why not native code if that was asked for in vain.
    fn backend(&self, py: Python<'_>) -> (&'static str, Option<String>) {
        self.read(py, |switch| {
            let (backend, reason) = switch.backend();
            (backend.name(), reason.map(str::to_owned))
        })
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
}
