//! UDP datagrams for the hosts' runtime, many in one system call.

use std::io;
use std::net::Ipv4Addr;

use ::datagrams::{runs, Framing, Outgoing, Reader, Sender, HASH_BYTES};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors::os_error;

/// Buffers at a time, at most: each takes 64 KiB of room.
const MOST: usize = 1024;

/// An address and a port.
type Address<'py> = (Bound<'py, PyString>, u16);

/// A datagram to go: its payload, where to, and its ECN field (`hosts.endpoint.Send`). Or several as one run of bytes,
/// then with the length of each (`SendRun`).
#[derive(FromPyObject)]
enum Addressed<'py> {
    One(Bound<'py, PyBytes>, Address<'py>, u8),
    Run(Bound<'py, PyBytes>, Address<'py>, u8, usize),
}

/// Runs that were read, and the socket's count of drops, where one came along.
type Found<'py> = (Bound<'py, PyList>, Option<u32>);

/// Reads sockets' datagrams.
#[pyclass(module = "canopy_engine")]
pub struct DatagramReader {
    reader: Reader,
}

#[pymethods]
impl DatagramReader {
    #[new]
    fn new(limit: usize) -> PyResult<Self> {
        if !(1..=MOST).contains(&limit) {
            return Err(PyValueError::new_err(format!("limit must be in 1..{MOST}")));
        }
        Ok(Self { reader: Reader::new(limit) })
    }

    fn receive<'py>(&mut self, py: Python<'py>, descriptor: i32) -> PyResult<Found<'py>> {
        let found = PyList::empty(py);
        let count = match self.reader.receive(descriptor) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(os_error(&error, None)),
        };
        let mut dropped = None;
        for run in runs(&self.reader, count) {
            let last = run.last;
            let source = u64::from(u32::from(last.host)) << 16 | u64::from(last.port);
            let data = match run.pieces[..] {
                [piece] => PyBytes::new(py, piece), // which does not make zeros of the room first
                _ => PyBytes::new_with(py, run.length, |mut room| {
                    for piece in &run.pieces {
                        let (place, rest) = room.split_at_mut(piece.len());
                        place.copy_from_slice(piece);
                        room = rest;
                    }
                    Ok(())
                })?,
            };
            let stamps = if run.pieces.len() > 1 { run.stamps } else { Vec::new() };
            found.append((data, run.size, source, run.first_stamp, last.stamp, last.ttl, last.ecn, stamps))?;
            dropped = last.dropped.or(dropped);
        }
        Ok((found, dropped))
    }
}

/// Sends datagrams.
#[pyclass(module = "canopy_engine")]
pub struct DatagramSender {
    sender: Sender,
}

#[pymethods]
impl DatagramSender {
    #[new]
    fn new(segments: bool) -> Self {
        Self { sender: Sender::new(segments) }
    }

    #[getter]
    fn segments(&self) -> bool {
        self.sender.segments()
    }

    fn send(&mut self, descriptor: i32, runs: Vec<Addressed<'_>>) -> PyResult<(usize, usize)> {
        let mut outgoing = Vec::with_capacity(runs.len());
        for run in &runs {
            let (data, (host, port), ecn) = match run {
                Addressed::One(data, address, ecn) | Addressed::Run(data, address, ecn, _) => (data, address, *ecn),
            };
            let host = host.to_str()?;
            let host: Ipv4Addr =
                host.parse().map_err(|_| PyValueError::new_err(format!("'{host}' is not an IPv4 address")))?;
            let (port, data) = (*port, data.as_bytes());
            match run {
                Addressed::One(..) => outgoing.push(Outgoing { data, host, port, ecn }),
                Addressed::Run(.., 0) => return Err(PyValueError::new_err("datagrams of no length")),
                Addressed::Run(.., size) => {
                    outgoing.extend(data.chunks(*size).map(|data| Outgoing { data, host, port, ecn }));
                }
            }
        }
        let (mut done, mut refused) = (0, 0);
        while done < outgoing.len() {
            match self.sender.send(descriptor, &outgoing[done..]) {
                Ok(sent) => done += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => (done, refused) = (done + 1, refused + 1),
            }
        }
        Ok((done, refused))
    }
}

/// Short hashes of pieces of `size` bytes, one after the other.
#[pyfunction]
pub fn short_hashes<'py>(py: Python<'py>, data: &[u8], size: usize) -> PyResult<Bound<'py, PyBytes>> {
    if size == 0 {
        return Err(PyValueError::new_err("pieces have some length"));
    }
    PyBytes::new_with(py, data.len().div_ceil(size) * HASH_BYTES, |room| {
        py.detach(|| ::datagrams::short_hashes(data, size, room));
        Ok(())
    })
}

/// Payloads with a block's symbols, each behind the head, in which the number goes on.
#[pyfunction]
pub fn frame_symbols<'py>(py: Python<'py>, head: &[u8], data: &[u8], symbol: usize) -> PyResult<Bound<'py, PyBytes>> {
    if symbol == 0 {
        return Err(PyValueError::new_err("symbols have some length"));
    }
    PyBytes::new_with(py, data.len().div_ceil(symbol) * (head.len() + symbol), |room| {
        ::datagrams::frame_symbols(head, data, symbol, room)
            .ok_or_else(|| PyValueError::new_err("a head ends with a number of 32 bits"))
    })
}

/// How many payloads have the first one's head, with numbers that go on.
#[pyfunction]
pub fn following_symbols(data: &[u8], size: usize, head: usize) -> usize {
    ::datagrams::following_symbols(data, size, head)
}

/// The numbers of the symbols in datagrams that are alike otherwise, and are counted on.
#[pyfunction]
pub fn alike(data: &[u8], size: usize, head: usize, begin: usize, end: usize) -> Vec<u32> {
    ::datagrams::alike(data, size, head, begin..end)
}

/// Runs of one protocol's packets of a stream.
#[pyclass(module = "canopy_engine", frozen)]
pub struct StreamFraming {
    framing: Framing,
    head: usize,
}

#[pymethods]
impl StreamFraming {
    #[new]
    fn new(head: usize, seq: usize, offset: usize) -> PyResult<Self> {
        let framing = Framing::new(head, seq, offset)
            .ok_or_else(|| PyValueError::new_err("the numbers must lie apart within the head"))?;
        Ok(Self { framing, head })
    }

    fn frame<'py>(&self, py: Python<'py>, head: &[u8], payload: &[u8], size: usize) -> PyResult<Bound<'py, PyBytes>> {
        if head.len() != self.head || size == 0 {
            return Err(PyValueError::new_err(format!("the head has {} bytes, pieces have some", self.head)));
        }
        PyBytes::new_with(py, self.framing.framed(payload.len(), size), |room| {
            self.framing.frame(head, payload, size, room);
            Ok(())
        })
    }

    fn join<'py>(&self, py: Python<'py>, data: &[u8], size: usize) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let count = self.framing.continued(data, size);
        let payload = PyBytes::new_with(py, count * size.saturating_sub(self.head), |room| {
            self.framing.join(data, size, count, room);
            Ok(())
        })?;
        Ok((count, payload))
    }
}
