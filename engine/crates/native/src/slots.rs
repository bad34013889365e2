//! The order in which a WEBRC sender's channels send, for Python.

use pyo3::exceptions::{PyAssertionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use waves::{Channel, Fluid, OrderError, Place};

/// `waves::Channel` as Python has it.
type PyChannel<'py> = (Vec<(Bound<'py, PyBytes>, f64)>, usize, f64, f64);

/// What each tick of every slot sends.
#[pyclass(frozen, module = "canopy_engine")]
pub struct SlotOrder(waves::SlotOrder);

#[pymethods]
impl SlotOrder {
    #[new]
    fn new(ring: usize, channels: Vec<PyChannel<'_>>) -> PyResult<Self> {
        let channels = channels.iter().map(|(slots, packets, slack, whole)| {
            let slots = slots.iter().map(|(fluid, scale)| (Fluid::new(fluid.as_bytes()), *scale)).collect();
            Channel { slots, packets: *packets, slack: *slack, whole: *whole }
        });
        let order = waves::SlotOrder::new(ring, &channels.collect::<Vec<_>>());
        order.map(Self).map_err(|error| match error {
            OrderError::Fluid => PyValueError::new_err(error.to_string()),
            OrderError::Endless => PyAssertionError::new_err(error.to_string()),
        })
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn places(&self, first: u64, count: usize, channels: u64, youngest: u64, base: (u64, u64), psn: u64) -> Vec<Place> {
        self.0.places(first, count, channels, youngest, base, psn)
    }
}
