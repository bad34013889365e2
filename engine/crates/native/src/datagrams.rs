//! UDP datagrams for the hosts' runtime, many in one system call.

use std::io;
use std::net::Ipv4Addr;

use ::datagrams::{send, Outgoing, Reader};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use crate::errors::os_error;

/// Datagrams at a time, at most: each takes 64 KiB of room.
const MOST: usize = 1024;

/// A payload, the address and port that it goes to, and its ECN field.
type Addressed<'py> = (Bound<'py, PyBytes>, (Bound<'py, PyString>, u16), u8);

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

    fn receive<'py>(&mut self, py: Python<'py>, descriptor: i32) -> PyResult<Bound<'py, PyList>> {
        let found = PyList::empty(py);
        let count = match self.reader.receive(descriptor) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(os_error(&error, None)),
        };
        for index in 0..count {
            let datagram = self.reader.get(index);
            let source = u64::from(u32::from(datagram.host)) << 16 | u64::from(datagram.port);
            found.append((PyBytes::new(py, datagram.data), source, datagram.stamp, datagram.ttl, datagram.ecn))?;
        }
        Ok(found)
    }
}

/// Sends datagrams in order: how many the kernel has taken, or refused for a reason of theirs, before it had no more
/// room; and how many it refused.
#[pyfunction]
pub fn send_datagrams(descriptor: i32, packets: Vec<Addressed<'_>>) -> PyResult<(usize, usize)> {
    let mut outgoing = Vec::with_capacity(packets.len());
    for (data, (host, port), ecn) in &packets {
        let host = host.to_str()?;
        let host: Ipv4Addr =
            host.parse().map_err(|_| PyValueError::new_err(format!("'{host}' is not an IPv4 address")))?;
        outgoing.push(Outgoing { data: data.as_bytes(), host, port: *port, ecn: *ecn });
    }
    let (mut done, mut refused) = (0, 0);
    while done < outgoing.len() {
        match send(descriptor, &outgoing[done..]) {
            Ok(sent) => done += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => (done, refused) = (done + 1, refused + 1),
        }
    }
    Ok((done, refused))
}
