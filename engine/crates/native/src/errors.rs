//! Rust's errors as Python's.

use p4vm::ControlError;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    canopy_engine,
    LoadError,
    PyValueError,
    "The program is not p4c's BMv2 JSON; the message names the place."
);
pyo3::create_exception!(canopy_engine, EngineError, PyException, "A control operation was refused: (code, message).");

pyo3::create_exception!(
    canopy_engine,
    SimError,
    PyException,
    "The network is described wrongly, or its run cannot go on; the message says where and why."
);

/// An `EngineError` with its `code` attribute.
pub fn engine_error(py: Python<'_>, code: &'static str, message: String) -> PyErr {
    let error = EngineError::new_err((code, message));
    match error.value(py).setattr("code", code) {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

pub fn control_error(py: Python<'_>, error: ControlError) -> PyErr {
    engine_error(py, error.code.as_str(), error.message)
}

/// An `OSError` with errno, its text and the interface's name; Python picks the subclass by errno.
pub fn os_error(error: &std::io::Error, interface: Option<&str>) -> PyErr {
    let Some(errno) = error.raw_os_error() else { return PyOSError::new_err(error.to_string()) };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    match interface {
        Some(interface) => PyOSError::new_err((errno, text, interface.to_owned())),
        None => PyOSError::new_err((errno, text)),
    }
}
