//! The class `Sim`: a simulated network with Python endpoints.

mod endpoint;
mod options;
mod programs;
mod report;
mod seam;
mod shared;
mod state;
mod tcp;
mod traffic;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use live::LinkSettings;
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sim::app::{App, Protocol};
use sim::link::random::derive;
use sim::time::{to_seconds, Nanos};
use sim::{AppId, Change, Network, ProcessingTime, Way};

use crate::errors::SimError;
use crate::link_spec::link_settings;
use crate::switch::Switch;
use endpoint::{ipv4, Actions, Agent, Clock, PyEndpoint};
use programs::WEB_PORTS;
use seam::Seam;
use shared::{lock, run_error, seconds, PySwitch};
use state::State;

/// Events between two looks at Ctrl-C: some milliseconds.
const SLICE: u64 = 8_192;

/// When a program starts, and when it stops, from seconds.
fn times(start_at: f64, stop_at: Option<f64>) -> PyResult<(Nanos, Option<Nanos>)> {
    Ok((seconds("start_at", start_at)?, stop_at.map(|time| seconds("stop_at", time)).transpose()?))
}

/// A network in virtual time. Not to be changed while it runs: its own endpoints may only read `now`.
#[pyclass(frozen, module = "canopy_engine")]
pub struct Sim {
    network: Mutex<Network>,
    /// Nanoseconds, for endpoints that ask during a run.
    now: Clock,
    state: Mutex<State>,
}

#[pymethods]
impl Sim {
    #[new]
    #[pyo3(signature = (seed = 0, *, storm_limit = None))]
    fn new(seed: u64, storm_limit: Option<u64>) -> Self {
        let mut network = Network::new(seed);
        if let Some(limit) = storm_limit {
            network.set_storm_limit(limit);
        }
        Self { network: Mutex::new(network), now: Clock::default(), state: Mutex::default() }
    }

    // Nodes and links.

    #[pyo3(signature = (name, address, *, mac = None))]
    fn add_host(&self, name: &str, address: &str, mac: Option<[u8; 6]>) -> PyResult<()> {
        let address = ipv4(address)?;
        self.build(|network| network.add_host(name, address, mac)).map(drop)
    }

    #[pyo3(signature = (name, address = "0.0.0.0"))]
    fn add_router(&self, name: &str, address: &str) -> PyResult<()> {
        let address = ipv4(address)?;
        self.build(|network| network.add_router(name, address)).map(drop)
    }

    #[pyo3(signature = (name, switch, *, mac = None))]
    fn add_switch(&self, name: &str, switch: &Bound<'_, Switch>, mac: Option<[u8; 6]>) -> PyResult<()> {
        let handle = Arc::new(PySwitch(Arc::clone(&switch.get().shared)));
        let node = self.build(|network| network.add_switch(name, handle, mac))?;
        lock(&lock(&self.state).switches).insert(name.to_owned(), node);
        Ok(())
    }

    #[pyo3(signature = (a, b, forth = None, back = None, *, a_port = None, b_port = None))]
    fn connect(
        &self,
        a: &str,
        b: &str,
        forth: Option<&Bound<'_, PyDict>>,
        back: Option<&Bound<'_, PyDict>>,
        a_port: Option<u32>,
        b_port: Option<u32>,
    ) -> PyResult<u32> {
        let (a, b) = (self.node(a)?, self.node(b)?);
        let config = |spec: Option<&Bound<'_, PyDict>>| -> PyResult<_> {
            let LinkSettings { config, seed } = spec.map(link_settings).transpose()?.unwrap_or_default();
            Ok((config, seed))
        };
        let (forth, back) = (config(forth)?, config(back)?);
        self.build(|network| network.connect_seeded((a, a_port), (b, b_port), forth, back)).map(|link| link.0)
    }

    #[pyo3(signature = (host, *, outgoing = None, incoming = None))]
    fn set_processing(&self, host: &str, outgoing: Option<(f64, f64)>, incoming: Option<(f64, f64)>) -> PyResult<()> {
        let host = self.node(host)?;
        let time = |range: Option<(f64, f64)>| -> PyResult<Option<ProcessingTime>> {
            let Some((least, most)) = range else { return Ok(None) };
            if least > most {
                return Err(PyValueError::new_err(format!("a processing time from {least} to {most} s")));
            }
            Ok(Some(ProcessingTime { least: seconds("least", least)?, most: seconds("most", most)? }))
        };
        let (outgoing, incoming) = (time(outgoing)?, time(incoming)?);
        self.build(|network| network.set_processing(host, outgoing, incoming))
    }

    // Programs.

    #[pyo3(signature = (host, name, endpoint, *, port, seam, start_at = 0.0, on_effect = None))]
    #[allow(clippy::too_many_arguments)]
    fn add_endpoint(
        &self,
        host: &str,
        name: &str,
        endpoint: &Bound<'_, PyAny>,
        port: u16,
        seam: &Bound<'_, PyAny>,
        start_at: f64,
        on_effect: Option<Py<PyAny>>,
    ) -> PyResult<u32> {
        let (host, start_at) = (self.node(host)?, seconds("start_at", start_at)?);
        let seam = {
            let mut state = lock(&self.state);
            state.has_python = true;
            match &state.seam {
                Some(seam) => Arc::clone(seam),
                None => Arc::clone(state.seam.insert(Arc::new(Seam::new(seam)?))),
            }
        };
        let actions = Actions::default();
        let clock = Arc::clone(&self.now);
        let app = PyEndpoint::new(seam, endpoint, port, on_effect, Arc::clone(&actions), clock)?;
        let ports = [(Protocol::Udp, port)];
        let id = self.build(|network| network.add_app(host, name, Box::new(app), &ports, start_at))?.0;
        lock(&self.state).actions.insert(id, actions);
        Ok(id)
    }

    /// Calls `action(now=...)` for an endpoint at `time` and carries out the effects that it returns.
    fn act_at(&self, time: f64, program: u32, action: Py<PyAny>) -> PyResult<()> {
        let number = {
            let mut state = lock(&self.state);
            state.next_action += 1;
            let number = state.next_action;
            let Some(actions) = state.actions.get(&program) else {
                return Err(SimError::new_err(format!("program {program} is no Python endpoint")));
            };
            lock(actions).insert(number, action);
            number
        };
        self.change(time, Change::Act(AppId(program), number))
    }

    #[pyo3(signature = (interval, action, *, start_at = 0.0))]
    fn every(&self, interval: f64, action: Py<PyAny>, start_at: f64) -> PyResult<u32> {
        let interval = seconds("interval", interval)?;
        if interval == 0 {
            return Err(PyValueError::new_err("interval: must be positive"));
        }
        let start_at = seconds("start_at", start_at)?;
        let mut network = self.network()?;
        let mut state = lock(&self.state);
        state.has_python = true;
        let agent = Agent::new(action, interval, Arc::clone(&state.switches), Arc::clone(&self.now));
        Ok(network.add_agent("agent", Box::new(agent), start_at).0)
    }

    #[pyo3(signature = (source, sink, *, start_at = 0.0, traced = false, **options))]
    fn add_tcp(
        &self,
        source: &str,
        sink: &str,
        start_at: f64,
        traced: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(u32, u32)> {
        let configs = tcp::tcp(options)?;
        self.place_tcp((source, sink), configs, seconds("start_at", start_at)?, traced)
    }

    #[pyo3(signature = (source, destination, *, port = None, start_at = 0.0, stop_at = None, **options))]
    fn add_udp(
        &self,
        source: &str,
        destination: &str,
        port: Option<u16>,
        start_at: f64,
        stop_at: Option<f64>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u32> {
        let Some(options) = options else {
            return Err(pyo3::exceptions::PyTypeError::new_err("rate_bps is missing"));
        };
        let stream = traffic::udp(options)?;
        let (start_at, stop_at) = times(start_at, stop_at)?;
        self.place_udp(source, (destination, port), stream, start_at, stop_at)
    }

    #[pyo3(signature = (host, port, *, join = None, start_at = 0.0))]
    fn add_udp_sink(
        &self,
        host: &str,
        port: u16,
        join: Option<(String, Option<String>)>,
        start_at: f64,
    ) -> PyResult<u32> {
        self.place_udp_sink(host, port, join, seconds("start_at", start_at)?)
    }

    #[pyo3(signature = (source, sink, *, mean_gap, mean_bytes, shape = 1.2, start_at = 0.0, stop_at = None, **options))]
    #[allow(clippy::too_many_arguments)]
    fn add_web(
        &self,
        source: &str,
        sink: &str,
        mean_gap: f64,
        mean_bytes: f64,
        shape: f64,
        start_at: f64,
        stop_at: Option<f64>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(u32, u32)> {
        let configs = tcp::tcp(options)?;
        let (start_at, stop_at) = times(start_at, stop_at)?;
        let config = |first_port| traffic::web(mean_gap, mean_bytes, shape, first_port, WEB_PORTS);
        self.place_web((source, sink), configs, config, start_at, stop_at)
    }

    // Changes.

    fn link_down_at(&self, time: f64, link: u32) -> PyResult<()> {
        self.change(time, Change::LinkDown(self.link(link)?))
    }

    fn link_up_at(&self, time: f64, link: u32) -> PyResult<()> {
        self.change(time, Change::LinkUp(self.link(link)?))
    }

    #[pyo3(signature = (time, link, *, forth = None, back = None))]
    fn configure_link_at(
        &self,
        time: f64,
        link: u32,
        forth: Option<&Bound<'_, PyDict>>,
        back: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let link = self.link(link)?;
        for (way, spec) in [(Way::Forth, forth), (Way::Back, back)] {
            if let Some(spec) = spec {
                self.change(time, Change::Configure(link, way, link_settings(spec)?.config))?;
            }
        }
        Ok(())
    }

    fn kill_at(&self, time: f64, program: u32) -> PyResult<()> {
        self.change(time, Change::Kill(self.program(program)?))
    }

    // Running.

    /// Runs all events up to `until` seconds. KeyboardInterrupt and an endpoint's exception leave what has happened.
    fn run(&self, py: Python<'_>, until: f64) -> PyResult<()> {
        let until = seconds("until", until)?;
        let has_python = lock(&self.state).has_python;
        loop {
            let (result, now) = {
                let mut guard = self.network()?;
                let network: &mut Network = &mut guard;
                let mut slice = || (network.run_some(until, SLICE), network.now());
                // Without endpoints in Python nobody here needs the interpreter.
                if has_python {
                    slice()
                } else {
                    py.detach(slice)
                }
            };
            self.now.store(now, Ordering::Relaxed);
            if result.map_err(|error| run_error(py, error, now))? {
                return Ok(());
            }
            py.check_signals()?;
        }
    }

    /// Hands a frame to a switch's ingress now, as if it had arrived at `port` (a packet-out: the CPU port).
    fn inject(&self, py: Python<'_>, switch: &str, port: u16, packet: &[u8]) -> PyResult<()> {
        let node = self.node(switch)?;
        let mut network = self.network()?;
        let now = network.now();
        network.inject(node, port, packet).map_err(|error| run_error(py, error, now))
    }

    #[getter]
    fn now(&self) -> f64 {
        to_seconds(self.now.load(Ordering::Relaxed))
    }

    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.network()?.seed())
    }

    /// A seed for the part called `name`, for random generators of endpoints.
    fn derive_seed(&self, name: &str) -> PyResult<u64> {
        Ok(derive(self.network()?.seed(), name))
    }

    #[getter]
    fn events(&self) -> PyResult<u64> {
        Ok(self.network()?.events())
    }

    #[getter]
    fn packet_hops(&self) -> PyResult<u64> {
        Ok(self.network()?.packet_hops())
    }

    // Reading.

    fn link_stats<'py>(&self, py: Python<'py>, link: u32) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
        let link = self.link(link)?;
        let network = self.network()?;
        let direction = |way| report::link(py, &network.link_report(link, way));
        Ok((direction(Way::Forth)?, direction(Way::Back)?))
    }

    fn node_stats<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let node = self.node(name)?;
        report::node(py, self.network()?.node_report(node))
    }

    fn program_stats(&self, program: u32) -> PyResult<BTreeMap<&'static str, f64>> {
        let program = self.program(program)?;
        Ok(self.network()?.app_sample(program).into_iter().collect())
    }

    fn sample_every(&self, interval: f64) -> PyResult<()> {
        let interval = seconds("interval", interval)?;
        if interval == 0 {
            return Err(PyValueError::new_err("interval: must be positive"));
        }
        self.network()?.sample_every(interval);
        Ok(())
    }

    // Endpoints may hold the network that holds them. While it runs it is on the stack, and needs no visit.

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(network) = self.network.try_lock() else { return Ok(()) };
        for app in network.apps().filter_map(App::as_any) {
            if let Some(endpoint) = app.downcast_ref::<PyEndpoint>() {
                endpoint.traverse(&visit)?;
            } else if let Some(agent) = app.downcast_ref::<Agent>() {
                agent.traverse(&visit)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        if let Ok(mut network) = self.network.try_lock() {
            *network = Network::new(network.seed());
        }
    }

    fn take_series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.network()?.take_series()))
    }
}
