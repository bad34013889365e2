//! The class `LiveSwitch`: a Switch between AF_PACKET ports.

use std::collections::BTreeMap;

use live::{LinkSettings, LiveError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::capture::Capture;
use crate::errors::{engine_error, os_error};
use crate::link_spec::link_settings;
use crate::switch::Switch;

/// A Switch between AF_PACKET ports, each with its emulated link; one Rust thread, no GIL. Needs root.
#[pyclass(frozen, module = "canopy_engine")]
pub struct LiveSwitch {
    live: live::LiveSwitch,
}

impl LiveSwitch {
    /// Runs an operation without the GIL: it may wait for the data path's thread.
    fn run<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&live::LiveSwitch) -> Result<R, LiveError> + Send,
    ) -> PyResult<R> {
        py.detach(|| operation(&self.live)).map_err(|error| live_error(py, error))
    }
}

#[pymethods]
impl LiveSwitch {
    #[new]
    #[pyo3(signature = (switch, *, seed = 0))]
    fn new(switch: &Bound<'_, Switch>, seed: u64) -> PyResult<Self> {
        let live = live::LiveSwitch::new(switch.get().shared.clone(), seed).map_err(|e| os_error(&e, None))?;
        Ok(Self { live })
    }

    /// Raises OSError (with errno) when the interface is missing or may not be opened.
    #[pyo3(signature = (port, interface, *, tx = None, rx = None))]
    fn add_port(
        &self,
        py: Python<'_>,
        port: u16,
        interface: &str,
        tx: Option<&Bound<'_, PyDict>>,
        rx: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let tx = tx.map(link_settings).transpose()?.unwrap_or_default();
        let rx = rx.map(link_settings).transpose()?;
        self.run(py, |live| live.add_port(port, interface, tx, rx))
    }

    fn remove_port(&self, py: Python<'_>, port: u16) -> PyResult<()> {
        self.run(py, |live| live.remove_port(port))
    }

    #[pyo3(signature = (port, *, tx = None, rx = None))]
    fn set_link(
        &self,
        py: Python<'_>,
        port: u16,
        tx: Option<&Bound<'_, PyDict>>,
        rx: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let settings = |spec: Option<&Bound<'_, PyDict>>| -> PyResult<Option<LinkSettings>> {
            spec.map(link_settings).transpose()
        };
        let (tx, rx) = (settings(tx)?, settings(rx)?);
        self.run(py, |live| live.set_link(port, tx, rx))
    }

    /// Has a port's frames written down, or no more.
    #[pyo3(signature = (port, capture))]
    fn set_capture(&self, py: Python<'_>, port: u16, capture: Option<&Bound<'_, Capture>>) -> PyResult<()> {
        let interface = |live: &live::LiveSwitch| live.interface(port).ok_or(LiveError::NoPort(port));
        let files = match capture {
            None => None,
            Some(capture) => {
                let interface = self.run(py, interface)?;
                Some(capture.get().files(py, &interface)?)
            }
        };
        self.run(py, |live| live.set_capture(port, files))
    }

    fn set_port_up(&self, py: Python<'_>, port: u16, up: bool) -> PyResult<()> {
        self.run(py, |live| live.set_port_up(port, up))
    }

    /// How many packet-ins a second each port may cause, with a burst; 0: no limit.
    fn set_packet_in_rate(&self, py: Python<'_>, per_second: u32, burst: u32) {
        py.detach(|| self.live.set_packet_in_rate(p4vm::Rate { per_second, burst }));
    }

    fn start(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, live::LiveSwitch::start)
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.live.stop());
    }

    /// Hand a packet to ingress as if it had arrived at `port` (packet-out: the CPU port).
    fn inject(&self, py: Python<'_>, port: u16, packet: Vec<u8>) -> PyResult<()> {
        self.run(py, |live| live.inject(port, packet))
    }

    fn port_stats(&self, py: Python<'_>) -> BTreeMap<u16, BTreeMap<&'static str, u64>> {
        py.detach(|| self.live.port_stats())
    }
}

fn live_error(py: Python<'_>, error: LiveError) -> PyErr {
    let code = match &error {
        LiveError::Os { interface, error } => return os_error(error, Some(interface)),
        LiveError::Link(error) => return PyValueError::new_err(error.to_string()),
        LiveError::NoPort(_) => "not_found",
        LiveError::PortExists(_) => "already_exists",
        LiveError::InvalidPort(_) | LiveError::NotRunning => "invalid_argument",
        LiveError::Busy => "resource_exhausted",
    };
    engine_error(py, code, error.to_string())
}
