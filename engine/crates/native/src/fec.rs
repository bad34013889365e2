//! RaptorQ (RFC 6330) for the hosts: one source block, and its symbols as they are asked for. What is sent has one
//! sub-block; what others send may have more. Other Python threads run while a block is made ready, or solved; not while
//! a few symbols are made: a thread of less priority that takes the interpreter then has the processor, too, until the
//! kernel's next tick.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use raptorq::{EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder, SourceBlockEncoder};

/// RFC 6330, 5.1.2: source symbols of a block.
const MOST_SYMBOLS: usize = 56_403;
/// RFC 6330, 3.2: an encoding symbol's identifier has 24 bits.
pub const MOST_ID: u32 = (1 << 24) - 1;
/// Each symbol is a multiple of this, unless it is said otherwise; with one sub-block it changes nothing else.
const ALIGNMENT: u8 = 8;

/// `sub_blocks`: N; `alignment`: Al, bytes (RFC 6330, 3.3.3).
pub fn config(length: usize, symbol: u16, sub_blocks: u16, alignment: u8) -> PyResult<ObjectTransmissionInformation> {
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
            let whole = data.len().next_multiple_of(usize::from(symbol));
            if data.len() == whole {
                return SourceBlockEncoder::new(0, &config, data);
            }
            let mut padded = data.to_vec();
            padded.resize(whole, 0);
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
        let packets = self.encoder.repair_packets(first, count);
        PyList::new(py, packets.iter().map(|packet| PyBytes::new(py, packet.data())))
    }
}

/// Makes a block of one sub-block of its symbols. Those that come as they were sent are put in their places; RaptorQ is for
/// what is missing, when it is asked for: it takes its time.
#[pyclass(module = "canopy_engine")]
pub struct RaptorqDecoder {
    config: ObjectTransmissionInformation,
    symbol: usize,
    length: usize,
    /// The block, as far as it has come.
    pieces: Vec<u8>,
    /// Of which symbols it has come.
    here: Vec<bool>,
    missing: usize,
    /// Others that have come, until RaptorQ has them.
    others: Vec<(u32, Vec<u8>)>,
    others_count: usize,
    decoder: Option<SourceBlockDecoder>,
    is_whole: bool,
}

impl RaptorqDecoder {
    /// Takes a symbol; whether that makes the block whole without RaptorQ.
    fn take(&mut self, id: u32, symbol: &[u8]) -> bool {
        if self.is_whole {
            return false;
        }
        let place = id as usize;
        if place < self.here.len() {
            if !self.here[place] {
                self.here[place] = true;
                self.missing -= 1;
                self.pieces[place * self.symbol..][..self.symbol].copy_from_slice(symbol);
                if self.decoder.is_some() {
                    self.others.push((id, symbol.to_vec()));
                }
            }
        } else {
            self.others.push((id, symbol.to_vec()));
            self.others_count += 1;
        }
        self.is_whole = self.missing == 0;
        self.is_whole
    }

    fn may_be_enough(&self) -> bool {
        !self.is_whole && self.others_count >= self.missing && !self.others.is_empty()
    }

    /// Gives RaptorQ what it does not have; whether that makes the block whole.
    fn make_whole(&mut self) -> bool {
        let mut packets: Vec<EncodingPacket> = Vec::new();
        let decoder = self.decoder.get_or_insert_with(|| {
            for (id, symbol) in self.pieces.chunks_exact(self.symbol).enumerate().filter(|(id, _)| self.here[*id]) {
                packets.push(EncodingPacket::new(PayloadId::new(0, id as u32), symbol.to_vec()));
            }
            SourceBlockDecoder::new(0, &self.config, self.length as u64)
        });
        packets.extend(self.others.drain(..).map(|(id, symbol)| EncodingPacket::new(PayloadId::new(0, id), symbol)));
        let Some(data) = decoder.decode(packets) else { return false };
        self.pieces = data;
        self.is_whole = true;
        true
    }
}

#[pymethods]
impl RaptorqDecoder {
    #[new]
    fn new(length: usize, symbol: u16) -> PyResult<Self> {
        let config = config(length, symbol, 1, ALIGNMENT)?;
        let symbol = usize::from(symbol);
        let count = length.div_ceil(symbol);
        Ok(Self {
            config,
            symbol,
            length,
            pieces: vec![0; count * symbol],
            here: vec![false; count],
            missing: count,
            others: Vec::new(),
            others_count: 0,
            decoder: None,
            is_whole: false,
        })
    }

    /// Takes symbols that follow each other, each behind `head` bytes of a payload of `size`.
    #[pyo3(signature = (first, data, size, head))]
    fn add_run<'py>(
        &mut self,
        py: Python<'py>,
        first: u32,
        data: &[u8],
        size: usize,
        head: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let count = data.len() / size.max(1);
        let last = u64::from(first) + count as u64;
        if size != head + self.symbol || !data.len().is_multiple_of(size) || last > u64::from(MOST_ID) + 1 {
            return Err(PyValueError::new_err("not symbols of this block"));
        }
        let whole =
            py.detach(|| data.chunks_exact(size).zip(first..).any(|(payload, id)| self.take(id, &payload[head..])));
        Ok(whole.then(|| PyBytes::new(py, &self.pieces[..self.length])))
    }

    #[getter]
    fn is_solvable(&self) -> bool {
        self.may_be_enough()
    }

    fn solve<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let whole = py.detach(|| self.may_be_enough() && self.make_whole());
        whole.then(|| PyBytes::new(py, &self.pieces[..self.length]))
    }

    fn add<'py>(&mut self, py: Python<'py>, id: u32, symbol: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if symbol.len() != self.symbol || id > MOST_ID {
            return Err(PyValueError::new_err("not a symbol of this block"));
        }
        let whole = py.detach(|| self.take(id, symbol));
        Ok(whole.then(|| PyBytes::new(py, &self.pieces[..self.length])))
    }
}
