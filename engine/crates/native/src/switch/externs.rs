//! Counters, meters and registers of a `Switch`.

use p4vm::ControlError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::Switch;
use crate::convert::{self, Key, Rates};
use crate::errors::engine_error;

/// An index that P4Runtime carries as int64.
fn at(index: i64) -> Result<usize, ControlError> {
    usize::try_from(index).map_err(|_| convert::invalid(format!("index {index} is negative")))
}

#[pymethods]
impl Switch {
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
}
