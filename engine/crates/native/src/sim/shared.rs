//! What the parts of `Sim` share: locks, times, errors, and switches that Python holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use live::SharedSwitch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sim::app::AppError;
use sim::p4vm;
use sim::time::{from_seconds, to_seconds, Nanos, MICROSECOND};
use sim::{BuildError, RunError, SwitchHandle};

use crate::errors::SimError;

/// A switch that Python holds as well.
pub struct PySwitch(pub Arc<SharedSwitch>);

impl SwitchHandle for PySwitch {
    fn with(&self, work: &mut dyn FnMut(&mut p4vm::Switch)) {
        work(&mut self.0.lock());
    }

    fn packet_in(&self, now: Nanos, frame: &[u8]) {
        self.0.events.push_packet_in(now / MICROSECOND, frame);
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds from Python as nanoseconds; ValueError when they are negative, not finite or beyond centuries.
pub fn seconds(key: &str, value: f64) -> PyResult<Nanos> {
    match value.is_finite() && (0.0..1e10).contains(&value) {
        true => Ok(from_seconds(value)),
        false => Err(PyValueError::new_err(format!("{key}: {value} is no time in seconds"))),
    }
}

pub fn build_error(error: BuildError) -> PyErr {
    SimError::new_err(error.to_string())
}

/// A program's own exception comes out as it is, with a note of where it was raised.
pub fn run_error(py: Python<'_>, error: RunError, now: Nanos) -> PyErr {
    let text = error.to_string();
    let RunError::App { host, program, error } = error else { return SimError::new_err(text) };
    let own: Result<Box<PyErr>, AppError> = error.downcast::<PyErr>();
    match own {
        Ok(error) => {
            let note = format!("raised by {program} on {host} at {} s of simulated time", to_seconds(now));
            match error.value(py).call_method1("add_note", (note,)) {
                Ok(_) => *error,
                Err(failure) => failure,
            }
        }
        Err(_) => SimError::new_err(text),
    }
}
