//! Keyword arguments: which there are, and what their values may be.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::time::Nanos;

use super::seconds;

/// An IPv4 packet's greatest length, in its frame.
const MAX_PACKET: u32 = 65_535 + 14;

/// Refuses keyword arguments that nothing here knows.
pub fn check_keys(options: &Bound<'_, PyDict>, known: &[&str]) -> PyResult<()> {
    for key in options.keys() {
        let key: String = key.extract()?;
        if !known.contains(&key.as_str()) {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument {key:?}")));
        }
    }
    Ok(())
}

pub fn get<'py, T: pyo3::conversion::FromPyObjectOwned<'py, Error = PyErr>>(
    options: &Bound<'py, PyDict>,
    key: &str,
) -> PyResult<Option<T>> {
    options.get_item(key)?.filter(|value| !value.is_none()).map(|value| value.extract()).transpose()
}

pub fn time(options: &Bound<'_, PyDict>, key: &str) -> PyResult<Option<Nanos>> {
    get::<f64>(options, key)?.map(|value| seconds(key, value)).transpose()
}

/// What `packet_bytes` on the link, `default` unless given, leave for payload behind the headers.
pub fn payload(options: &Bound<'_, PyDict>, headers: u32, default: u32) -> PyResult<u32> {
    let packet: u32 = get(options, "packet_bytes")?.unwrap_or(default);
    match packet > headers && packet <= MAX_PACKET {
        true => Ok(packet - headers),
        false => Err(PyValueError::new_err(format!("packet_bytes: {packet} is not in {}..={MAX_PACKET}", headers + 1))),
    }
}

pub fn positive(key: &str, value: f64) -> PyResult<f64> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!("{key}: {value} is not positive"))),
    }
}
