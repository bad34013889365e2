//! What a WEBRC sender's channels send at a moment, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use waves::Place;

/// Gathers the datagrams of each channel.
#[pyclass(module = "canopy_engine")]
pub struct ChannelPackets(waves::ChannelPackets);

fn value_error(error: waves::PacketError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl ChannelPackets {
    #[new]
    fn new(channels: usize, most: usize) -> Self {
        Self(waves::ChannelPackets::new(channels, most))
    }

    #[getter]
    fn packets(&self) -> usize {
        self.0.packets()
    }

    #[getter]
    fn octets(&self) -> usize {
        self.0.octets()
    }

    fn add(&mut self, channel: u32, datagram: &[u8]) -> PyResult<()> {
        self.0.add(channel, datagram).map_err(value_error)
    }

    fn add_symbols(
        &mut self,
        places: Vec<Place>,
        head: &[u8],
        is_long: bool,
        first: u32,
        symbols: &Bound<'_, PyList>,
    ) -> PyResult<()> {
        let symbols = symbols.iter().map(|symbol| Ok(symbol.cast_into::<PyBytes>()?));
        let symbols: Vec<_> = symbols.collect::<PyResult<_>>()?;
        let symbols = symbols.iter().map(|symbol| symbol.as_bytes());
        self.0.add_symbols(&places, head, is_long, first, symbols).map_err(value_error)
    }

    /// Channel, datagrams and bytes of each of them, in the order in which their first ones came; and forgets them.
    fn take<'py>(&mut self, py: Python<'py>) -> Vec<(usize, Bound<'py, PyBytes>, usize)> {
        let runs = self.0.take().into_iter();
        runs.map(|run| (run.channel, PyBytes::new(py, &run.data), run.size)).collect()
    }
}
