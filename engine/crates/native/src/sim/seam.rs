//! The classes of seam 1 (hosts/endpoint.py), and datagrams as endpoints are given them.

use std::any::Any;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use sim::packet::{Body, Octets, Packet, DEFAULT_TTL};

/// A payload that Python made: the same object at each receiver.
pub struct PyPayload(pub Py<PyBytes>);

impl Octets for PyPayload {
    fn as_slice(&self) -> &[u8] {
        Python::attach(|py| self.0.as_bytes(py))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The first fields of a `Datagram`, which every packet has.
const DATAGRAM_FIELDS: [&str; 3] = ["data", "source", "destination"];

/// What two datagrams have in common that are the same to Python: address and port of both ends, hops and ECN field.
type Head = ((Ipv4Addr, u16), (Ipv4Addr, u16), Option<u8>, u8);

/// A datagram that has been made for one receiver, and may be right for the next.
struct Made {
    head: Head,
    payload: Py<PyBytes>,
    datagram: Py<PyAny>,
}

/// The classes of the seam, and addresses that have been made of them.
pub struct Seam {
    address: Py<PyType>,
    datagram: Py<PyType>,
    pub send: Py<PyType>,
    pub join: Py<PyType>,
    pub leave: Py<PyType>,
    /// What a datagram's fields after data, source and destination are by default.
    datagram_rest: Vec<Py<PyAny>>,
    /// Which of those is `hops`, if there is one: of a unicast packet it is filled in.
    hops: Option<usize>,
    /// And which is `ecn`.
    ecn: Option<usize>,
    /// `tuple.__new__`: makes a named tuple without running its Python constructor.
    new_tuple: Py<PyAny>,
    /// Looked up, never iterated over.
    addresses: Mutex<HashMap<(Ipv4Addr, u16), Py<PyAny>>>,
    /// The last one of a payload that Python made: a group's members get the same one after the other.
    made: Mutex<Option<Made>>,
}

impl Seam {
    /// Takes the classes from the module that defines the seam.
    pub fn new(module: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = module.py();
        let class = |name: &str| -> PyResult<Py<PyType>> {
            let class = module.getattr(name)?.cast_into::<PyType>()?;
            match class.is_subclass_of::<PyTuple>()? {
                true => Ok(class.unbind()),
                false => Err(PyTypeError::new_err(format!("{name} is not a named tuple"))),
            }
        };
        let datagram = class("Datagram")?;
        let fields: Vec<String> = datagram.bind(py).getattr("_fields")?.extract()?;
        let rest = |name: &str| fields.iter().skip(DATAGRAM_FIELDS.len()).position(|field| field == name);
        Ok(Self {
            datagram_rest: defaults_after(datagram.bind(py), &DATAGRAM_FIELDS)?,
            hops: rest("hops"),
            ecn: rest("ecn"),
            address: class("Address")?,
            datagram,
            send: class("Send")?,
            join: class("JoinGroup")?,
            leave: class("LeaveGroup")?,
            new_tuple: py.get_type::<PyTuple>().getattr("__new__")?.unbind(),
            addresses: Mutex::default(),
            made: Mutex::default(),
        })
    }

    /// The `Address` of a host and port, always the same object.
    fn address(&self, py: Python<'_>, key: (Ipv4Addr, u16)) -> PyResult<Py<PyAny>> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = addresses.get(&key) {
            return Ok(address.clone_ref(py));
        }
        let fields = (key.0.to_string(), key.1);
        let address = self.new_tuple.call1(py, (&self.address, fields))?;
        addresses.insert(key, address.clone_ref(py));
        Ok(address)
    }

    /// What an endpoint is given of a packet; None: it is no datagram.
    pub fn datagram<'py>(&self, py: Python<'py>, packet: &Packet) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Body::Udp(udp) = &packet.body else { return Ok(None) };
        let hops = self.hops.filter(|_| !packet.destination.is_multicast());
        let head: Head = (
            (packet.source, udp.source_port),
            (packet.destination, udp.destination_port),
            hops.and_then(|_| DEFAULT_TTL.checked_sub(packet.ttl)),
            packet.ecn,
        );
        let Some(payload) = udp.payload.0.as_any().downcast_ref::<PyPayload>() else {
            return self.make(py, head, PyBytes::new(py, udp.payload.as_slice())).map(Some);
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.as_ref().filter(|made| made.payload.is(&payload.0) && made.head == head) {
            return Ok(Some(made.datagram.bind(py).clone()));
        }
        let datagram = self.make(py, head, payload.0.bind(py).clone())?;
        *made = Some(Made { head, payload: payload.0.clone_ref(py), datagram: datagram.clone().unbind() });
        Ok(Some(datagram))
    }

    fn make<'py>(
        &self,
        py: Python<'py>,
        (source, destination, hops, ecn): Head,
        data: Bound<'py, PyBytes>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (source, destination) = (self.address(py, source)?, self.address(py, destination)?);
        let fields = [data.into_any(), source.into_bound(py), destination.into_bound(py)];
        let rest = self.datagram_rest.iter().map(|default| default.bind(py).clone());
        let mut fields: Vec<_> = fields.into_iter().chain(rest).collect();
        if let Some((at, hops)) = self.hops.zip(hops) {
            fields[DATAGRAM_FIELDS.len() + at] = hops.into_pyobject(py)?.into_any();
        }
        if let Some(at) = self.ecn.filter(|_| ecn != 0) {
            fields[DATAGRAM_FIELDS.len() + at] = ecn.into_pyobject(py)?.into_any();
        }
        let fields = PyTuple::new(py, fields)?;
        self.new_tuple.bind(py).call1((&self.datagram, fields))
    }
}

/// The defaults of a named tuple's fields after the first ones, which must be these.
fn defaults_after(class: &Bound<'_, PyType>, first: &[&str]) -> PyResult<Vec<Py<PyAny>>> {
    let fields: Vec<String> = class.getattr("_fields")?.extract()?;
    if fields.len() < first.len() || fields.iter().zip(first).any(|(field, expected)| field != expected) {
        return Err(PyTypeError::new_err(format!("{class} does not begin with the fields {first:?}")));
    }
    let defaults = class.getattr("_field_defaults")?;
    fields[first.len()..].iter().map(|field| Ok(defaults.get_item(field)?.unbind())).collect()
}
