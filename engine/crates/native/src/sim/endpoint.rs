//! Python endpoints (the seam of `hosts/endpoint.py`) as programs of the simulated network.

use std::any::Any;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyString, PyTuple};
use sim::app::{App, AppError, Context, Effect};
use sim::packet::{Packet, Payload};
use sim::time::{from_seconds, to_seconds, Nanos};
use sim::NodeId;

use super::seam::{PyPayload, Seam};

/// Actions that were asked for and have not been carried out, by number.
pub type Actions = Arc<Mutex<BTreeMap<u64, Py<PyAny>>>>;

/// Nanoseconds of simulated time, for programs that ask their network.
pub type Clock = Arc<AtomicU64>;

/// One endpoint and its port.
pub struct PyEndpoint {
    seam: Arc<Seam>,
    port: u16,
    endpoint: Py<PyAny>,
    receive: Py<PyAny>,
    handle_timer: Py<PyAny>,
    /// `{"now": ...}`, filled in anew for each call.
    keywords: Py<PyDict>,
    /// Takes effects that are not the network's: `on_effect(effect, now)` returns further ones, or None.
    on_effect: Option<Py<PyAny>>,
    actions: Actions,
    clock: Clock,
    wake_at: Option<Nanos>,
}

impl PyEndpoint {
    pub fn new(
        seam: Arc<Seam>,
        endpoint: &Bound<'_, PyAny>,
        port: u16,
        on_effect: Option<Py<PyAny>>,
        actions: Actions,
        clock: Clock,
    ) -> PyResult<Self> {
        Ok(Self {
            seam,
            port,
            endpoint: endpoint.clone().unbind(),
            receive: endpoint.getattr("receive")?.unbind(),
            handle_timer: endpoint.getattr("handle_timer")?.unbind(),
            keywords: PyDict::new(endpoint.py()).unbind(),
            on_effect,
            actions,
            clock,
            wake_at: None,
        })
    }

    /// Shows the garbage collector what it holds. What a running action holds is on the stack.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.endpoint)?;
        visit.call(&self.receive)?;
        visit.call(&self.handle_timer)?;
        visit.call(&self.keywords)?;
        visit.call(&self.on_effect)?;
        match self.actions.try_lock() {
            Ok(actions) => actions.values().try_for_each(|action| visit.call(action)),
            Err(_) => Ok(()),
        }
    }

    /// Calls `method` with the time, carries out what it answers, and notes when it wants to be woken.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        method: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        context: &mut Context<'_>,
    ) -> PyResult<()> {
        self.clock.store(context.now, Ordering::Relaxed);
        let now = PyFloat::new(py, to_seconds(context.now));
        let keywords = self.keywords.bind(py);
        keywords.set_item(pyo3::intern!(py, "now"), &now)?;
        let effects = method.call(arguments, Some(keywords))?;
        self.take_effects(py, &effects, &now, context)?;
        let wake_at: Option<f64> = self.endpoint.bind(py).getattr(pyo3::intern!(py, "wake_at"))?.extract()?;
        self.wake_at = wake_at.map(not_before).transpose()?;
        Ok(())
    }

    fn take_effects<'py>(
        &self,
        py: Python<'py>,
        effects: &Bound<'py, PyAny>,
        now: &Bound<'py, PyFloat>,
        context: &mut Context<'_>,
    ) -> PyResult<()> {
        // Nearly always a list or a tuple, and mostly empty.
        if let Ok(list) = effects.cast_exact::<PyList>() {
            return list.iter().try_for_each(|effect| self.take_effect(py, &effect, now, context));
        }
        effects.try_iter()?.try_for_each(|effect| self.take_effect(py, &effect?, now, context))
    }

    fn take_effect<'py>(
        &self,
        py: Python<'py>,
        effect: &Bound<'py, PyAny>,
        now: &Bound<'py, PyFloat>,
        context: &mut Context<'_>,
    ) -> PyResult<()> {
        let class = effect.get_type();
        if class.is(&self.seam.send) {
            let (data, destination) = first_two(effect)?;
            let data = data.cast_into::<PyBytes>()?;
            let destination = address(&destination)?;
            let payload = Payload(Arc::new(PyPayload(data.unbind())));
            context.send_udp_ecn(self.port, destination, payload, ecn(effect)?);
            return Ok(());
        }
        let is_join = class.is(&self.seam.join);
        if is_join || class.is(&self.seam.leave) {
            let (group, source) = first_two(effect)?;
            let ((group, port), source) = (address(&group)?, source.extract::<Option<String>>()?);
            if !group.is_multicast() {
                return Err(PyValueError::new_err(format!("{group} is not a multicast group")));
            }
            let wanted = (group, source.map(|source| ipv4(&source)).transpose()?);
            context.effects.push(if is_join { Effect::Join(wanted, port) } else { Effect::Leave(wanted, port) });
            return Ok(());
        }
        if let Some(on_effect) = &self.on_effect {
            let further = on_effect.bind(py).call1((effect, now))?;
            if !further.is_none() {
                return self.take_effects(py, &further, now, context);
            }
        }
        Ok(())
    }
}

impl App for PyEndpoint {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        Python::attach(|py| {
            let start = self.endpoint.bind(py).getattr("start")?;
            self.call(py, &start, &PyTuple::empty(py), context)
        })
        .map_err(AppError::from)
    }

    fn receive(&mut self, packet: &Packet, context: &mut Context<'_>) -> Result<(), AppError> {
        Python::attach(|py| {
            let Some(datagram) = self.seam.datagram(py, packet)? else { return Ok(()) };
            let receive = self.receive.bind(py).clone();
            self.call(py, &receive, &PyTuple::new(py, [datagram])?, context)
        })
        .map_err(|error: PyErr| error.into())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        Python::attach(|py| {
            let handle_timer = self.handle_timer.bind(py).clone();
            self.call(py, &handle_timer, &PyTuple::empty(py), context)
        })
        .map_err(AppError::from)
    }

    fn act(&mut self, number: u64, context: &mut Context<'_>) -> Result<(), AppError> {
        let action = self.actions.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        let Some(action) = action else { return Ok(()) };
        Python::attach(|py| self.call(py, action.bind(py), &PyTuple::empty(py), context)).map_err(AppError::from)
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.wake_at
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// Calls a Python function at regular times; it answers with packet-outs.
pub struct Agent {
    action: Py<PyAny>,
    interval: Nanos,
    wake_at: Option<Nanos>,
    switches: Arc<Mutex<BTreeMap<String, NodeId>>>,
    clock: Clock,
}

impl Agent {
    pub fn new(
        action: Py<PyAny>,
        interval: Nanos,
        switches: Arc<Mutex<BTreeMap<String, NodeId>>>,
        clock: Clock,
    ) -> Self {
        Self { action, interval, wake_at: None, switches, clock }
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.action)
    }

    fn packet_outs(&self, py: Python<'_>, answer: &Bound<'_, PyAny>, context: &mut Context<'_>) -> PyResult<()> {
        if answer.is_none() {
            return Ok(());
        }
        for packet_out in answer.try_iter()? {
            let (switch, port, frame): (String, u16, Bound<'_, PyBytes>) = packet_out?.extract()?;
            let switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(&node) = switches.get(&switch) else {
                return Err(PyValueError::new_err(format!("there is no switch called {switch}")));
            };
            context.effects.push(Effect::PacketOut(node, port, frame.unbind().as_bytes(py).to_vec()));
        }
        Ok(())
    }
}

impl App for Agent {
    fn start(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.handle_timer(context)
    }

    fn receive(&mut self, _packet: &Packet, _context: &mut Context<'_>) -> Result<(), AppError> {
        Ok(())
    }

    fn handle_timer(&mut self, context: &mut Context<'_>) -> Result<(), AppError> {
        self.wake_at = Some(context.now.saturating_add(self.interval));
        self.clock.store(context.now, Ordering::Relaxed);
        Python::attach(|py| {
            let answer = self.action.bind(py).call1((to_seconds(context.now),))?;
            self.packet_outs(py, &answer, context)
        })
        .map_err(|error: PyErr| error.into())
    }

    fn wake_at(&self) -> Option<Nanos> {
        self.wake_at
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The first nanosecond that, as seconds, is not before `seconds`: a timer never comes early.
fn not_before(seconds: f64) -> PyResult<Nanos> {
    if seconds.is_nan() {
        return Err(PyValueError::new_err("wake_at is not a number"));
    }
    let time = from_seconds(seconds);
    Ok(if to_seconds(time) < seconds { time.saturating_add(1) } else { time })
}

fn first_two<'py>(fields: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let fields = fields.cast::<PyTuple>()?;
    Ok((fields.get_item(0)?, fields.get_item(1)?))
}

/// The ECN field of a `Send`: its third field.
fn ecn(send: &Bound<'_, PyAny>) -> PyResult<u8> {
    match send.cast::<PyTuple>()?.get_item(2)?.extract()? {
        codepoint @ 0..=3 => Ok(codepoint),
        other => Err(PyValueError::new_err(format!("{other} is not a codepoint of ECN (0 to 3)"))),
    }
}

fn address(address: &Bound<'_, PyAny>) -> PyResult<(Ipv4Addr, u16)> {
    let (host, port) = first_two(address)?;
    Ok((ipv4(host.cast::<PyString>()?.to_cow()?.as_ref())?, port.extract()?))
}

/// An IPv4 address in dotted form.
pub fn ipv4(text: &str) -> PyResult<Ipv4Addr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{text:?} is not an IPv4 address")))
}
