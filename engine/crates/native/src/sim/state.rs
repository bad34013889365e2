//! What a `Sim` remembers beside its network, and how its methods find nodes, links and programs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sim::{AppId, BuildError, Change, LinkId, Network, NodeId};

use super::endpoint::Actions;
use super::seam::Seam;
use super::shared::{build_error, lock, seconds};
use super::Sim;
use crate::errors::SimError;

/// Ports of TCP's and cross traffic's programs are taken from here on, unless named.
const FIRST_PORT: u16 = 20_000;

#[derive(Default)]
pub struct State {
    pub seam: Option<Arc<Seam>>,
    pub switches: Arc<Mutex<BTreeMap<String, NodeId>>>,
    pub actions: BTreeMap<u32, Actions>,
    pub next_action: u64,
    pub next_port: u16,
    pub has_python: bool,
}

impl Sim {
    /// The network, unless it runs in this call's caller or in another thread.
    pub fn network(&self) -> PyResult<MutexGuard<'_, Network>> {
        match self.network.try_lock() {
            Ok(network) => Ok(network),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("the simulation is running")),
        }
    }

    pub fn build<T>(&self, what: impl FnOnce(&mut Network) -> Result<T, BuildError>) -> PyResult<T> {
        what(&mut *self.network()?).map_err(build_error)
    }

    pub fn node(&self, name: &str) -> PyResult<NodeId> {
        let node = self.network()?.node(name);
        node.ok_or_else(|| SimError::new_err(format!("there is no node called {name}")))
    }

    pub fn link(&self, link: u32) -> PyResult<LinkId> {
        match link < self.network()?.links() {
            true => Ok(LinkId(link)),
            false => Err(SimError::new_err(format!("there is no link {link}"))),
        }
    }

    pub fn program(&self, program: u32) -> PyResult<AppId> {
        match program < self.network()?.programs() {
            true => Ok(AppId(program)),
            false => Err(SimError::new_err(format!("there is no program {program}"))),
        }
    }

    pub fn change(&self, time: f64, change: Change) -> PyResult<()> {
        let time = seconds("time", time)?;
        self.build(|network| network.change_at(time, change))
    }

    /// A port that no program of ours has taken.
    pub fn new_port(&self, count: u16) -> PyResult<u16> {
        let mut state = lock(&self.state);
        let port = state.next_port.max(FIRST_PORT);
        state.next_port = port.checked_add(count).ok_or_else(|| SimError::new_err("too many programs"))?;
        Ok(port)
    }

    pub fn address(&self, host: &str) -> PyResult<Ipv4Addr> {
        let host = self.node(host)?;
        self.build(|network| network.host_address(host))
    }
}
