//! RaptorQ (RFC 6330) for the hosts: one source block, and its symbols as they are asked for. What is sent has one
//! sub-block; what others send may have more. Other Python threads run while symbols are made.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use raptorq::{EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder};

/// RFC 6330, 5.1.2: source symbols of a block.
const MOST_SYMBOLS: usize = 56_403;
/// RFC 6330, 3.2: an encoding symbol's identifier has 24 bits.
const MOST_ID: u32 = (1 << 24) - 1;
/// Each symbol is a multiple of this, unless it is said otherwise; with one sub-block it changes nothing else.
const ALIGNMENT: u8 = 8;

/// `sub_blocks`: N; `alignment`: Al, bytes (RFC 6330, 3.3.3).
fn config(length: usize, symbol: u16, sub_blocks: u16, alignment: u8) -> PyResult<ObjectTransmissionInformation> {
    if symbol == 0 || alignment == 0 || !symbol.is_multiple_of(u16::from(alignment)) {
        return Err(PyValueError::new_err(format!("a symbol of {symbol} bytes")));
    }
    if sub_blocks == 0 || sub_blocks > symbol / u16::from(alignment) {
        return Err(PyValueError::new_err(format!("{sub_blocks} sub-blocks")));
    }
    if length == 0 || length.div_ceil(usize::from(symbol)) > MOST_SYMBOLS {
        return Err(PyValueError::new_err(format!("a block of {length} bytes")));
    }
    Ok(ObjectTransmissionInformation::new(length as u64, symbol, 1, sub_blocks, alignment))
}

/// Makes a block's repair symbols.
#[pyclass(frozen, module = "canopy_engine")]
pub struct RaptorqEncoder {
    encoder: SourceBlockEncoder,
    /// K.
    symbols: u32,
}

#[pymethods]
impl RaptorqEncoder {
    #[new]
    #[pyo3(signature = (data, symbol, sub_blocks = 1, alignment = ALIGNMENT))]
    fn new(py: Python<'_>, data: &[u8], symbol: u16, sub_blocks: u16, alignment: u8) -> PyResult<Self> {
        let config = config(data.len(), symbol, sub_blocks, alignment)?;
        let encoder = py.detach(|| {
            let mut padded = data.to_vec();
            padded.resize(data.len().next_multiple_of(usize::from(symbol)), 0);
            SourceBlockEncoder::new(0, &config, &padded)
        });
        let symbols = data.len().div_ceil(usize::from(symbol)) as u32;
        Ok(Self { encoder, symbols })
    }

    fn repair<'py>(&self, py: Python<'py>, first: u32, count: u32) -> PyResult<Bound<'py, PyList>> {
        let after = self.symbols.checked_add(first).and_then(|begin| begin.checked_add(count));
        if after.is_none_or(|after| after > MOST_ID + 1) {
            return Err(PyValueError::new_err("no such repair symbols"));
        }
        let packets = py.detach(|| self.encoder.repair_packets(first, count));
        PyList::new(py, packets.iter().map(|packet| PyBytes::new(py, packet.data())))
    }
}

/// Makes a block of its symbols.
#[pyclass(module = "canopy_engine")]
pub struct RaptorqDecoder {
    decoder: SourceBlockDecoder,
    symbol: usize,
    length: usize,
}

#[pymethods]
impl RaptorqDecoder {
    #[new]
    #[pyo3(signature = (length, symbol, sub_blocks = 1, alignment = ALIGNMENT))]
    fn new(length: usize, symbol: u16, sub_blocks: u16, alignment: u8) -> PyResult<Self> {
        let config = config(length, symbol, sub_blocks, alignment)?;
        Ok(Self { decoder: SourceBlockDecoder::new(0, &config, length as u64), symbol: usize::from(symbol), length })
    }

    fn add<'py>(&mut self, py: Python<'py>, id: u32, symbol: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if symbol.len() != self.symbol || id > MOST_ID {
            return Err(PyValueError::new_err("not a symbol of this block"));
        }
        let packet = EncodingPacket::new(PayloadId::new(0, id), symbol.to_vec());
        let whole = py.detach(|| self.decoder.decode([packet]));
        Ok(whole.map(|data| PyBytes::new(py, &data[..self.length])))
    }
}
