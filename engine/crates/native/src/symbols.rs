//! A block's symbols as a receiver of files has them, for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use raptorq::{EncodingPacket, PayloadId, SourceBlockDecoder};

use crate::fec::{config, MOST_ID};

/// Symbols of one size, by their numbers.
#[pyclass(module = "canopy_engine")]
pub struct BlockSymbols(waves::BlockSymbols);

#[pymethods]
impl BlockSymbols {
    #[new]
    fn new(symbol: usize) -> PyResult<Self> {
        if symbol == 0 {
            return Err(PyValueError::new_err("symbols have some length"));
        }
        Ok(Self(waves::BlockSymbols::new(symbol)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, id: u32) -> bool {
        self.0.has(id)
    }

    fn add(&mut self, id: u32, symbol: &[u8]) -> bool {
        self.0.add(id, symbol)
    }

    fn add_run(&mut self, ids: Vec<u32>, mask: u32, data: &[u8], size: usize) -> PyResult<usize> {
        let Some(head) = size.checked_sub(self.0.size()) else {
            return Err(PyValueError::new_err("not symbols of this block"));
        };
        Ok(self.0.add_run(ids.into_iter().map(|id| id & mask), data, head))
    }

    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.iter().map(|(id, symbol)| (id, PyBytes::new(py, symbol))))
    }

    fn records<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.records())
    }

    fn add_records(&mut self, records: &[u8]) -> usize {
        self.0.add_records(records)
    }

    fn joined<'py>(&self, py: Python<'py>, length: usize) -> Option<Bound<'py, PyBytes>> {
        let whole = self.0.joined(length.div_ceil(self.0.size()))?;
        Some(PyBytes::new(py, &whole[..length]))
    }

    fn solve<'py>(
        &self,
        py: Python<'py>,
        length: usize,
        sub_blocks: u16,
        alignment: u8,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let symbol = u16::try_from(self.0.size()).map_err(|_| PyValueError::new_err("a symbol of many bytes"))?;
        let config = config(length, symbol, sub_blocks, alignment)?;
        let whole = py.detach(|| {
            let known = self.0.iter().filter(|(id, _)| *id <= MOST_ID);
            let packets = known.map(|(id, data)| EncodingPacket::new(PayloadId::new(0, id), data.to_vec()));
            SourceBlockDecoder::new(0, &config, length as u64).decode(packets)
        });
        Ok(whole.map(|whole| PyBytes::new(py, &whole[..length])))
    }
}
