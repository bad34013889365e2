//! Sealed packets for the hosts.

use std::net::Ipv4Addr;

use ::seal::{opened_bytes, Endpoint, Refused, FEEDBACK_GROWTH, GROWTH, SEED};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// As Python has it.
type Address<'py> = (Bound<'py, PyString>, u16);

/// What was in a run, and which of its packets are none, and why.
type Opened<'py> = (Bound<'py, PyBytes>, Vec<(usize, Bound<'py, PyString>)>);

fn endpoint((host, port): &Address<'_>) -> PyResult<Endpoint> {
    let host = host.to_str()?;
    let host: Ipv4Addr = host.parse().map_err(|_| PyValueError::new_err(format!("'{host}' is not an IPv4 address")))?;
    Ok(Endpoint::new(host, *port))
}

/// Seals what one endpoint sends, and opens what comes to it.
#[pyclass(module = "canopy_engine")]
pub struct Seal {
    seal: ::seal::Seal,
}

#[pymethods]
impl Seal {
    #[new]
    fn new(epochs: Vec<(u8, Vec<u8>)>, sender: u64) -> PyResult<Self> {
        let epochs: Vec<(u8, &[u8])> = epochs.iter().map(|(number, secret)| (*number, &secret[..])).collect();
        let seal = ::seal::Seal::new(&epochs, sender).ok_or_else(|| PyValueError::new_err("no epoch"))?;
        Ok(Self { seal })
    }

    #[getter]
    fn left(&self) -> u32 {
        self.seal.left()
    }

    fn renew(&mut self, sender: u64) {
        self.seal.renew(sender);
    }

    fn change(&mut self, epochs: Vec<(u8, Vec<u8>)>, sender: u64) -> PyResult<()> {
        let epochs: Vec<(u8, &[u8])> = epochs.iter().map(|(number, secret)| (*number, &secret[..])).collect();
        match self.seal.change(&epochs, sender) {
            true => Ok(()),
            false => Err(PyValueError::new_err("no epoch")),
        }
    }

    fn seal<'py>(
        &mut self,
        py: Python<'py>,
        packet: &[u8],
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        sealed(py, packet.len() + GROWTH, "it has no numbers left", |sealed| {
            self.seal.seal(packet, source, destination, time_s, sealed)
        })
    }

    fn seal_run<'py>(
        &mut self,
        py: Python<'py>,
        packets: &[u8],
        size: usize,
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        let length = packets.len() + packets.len().div_ceil(size.max(1)) * GROWTH;
        sealed(py, length, "packets of no length, or too few numbers left", |sealed| {
            self.seal.seal_run(packets, size, source, destination, time_s, sealed)
        })
    }

    fn seal_headed<'py>(
        &mut self,
        py: Python<'py>,
        packet: &[u8],
        head: usize,
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        sealed(py, packet.len() + GROWTH, "no packet with such a head, or no numbers left", |sealed| {
            self.seal.seal_headed(packet, head, source, destination, time_s, sealed)
        })
    }

    fn seal_feedback<'py>(
        &mut self,
        py: Python<'py>,
        packet: &[u8],
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        sealed(py, packet.len() + FEEDBACK_GROWTH, "no packet with a common header, or no numbers left", |sealed| {
            self.seal.seal_feedback(packet, source, destination, time_s, sealed)
        })
    }

    fn open<'py>(
        &mut self,
        py: Python<'py>,
        sealed: &[u8],
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        packet_or_reason(py, sealed, GROWTH, |packet| self.seal.open(sealed, source, destination, time_s, packet))
    }

    fn open_run<'py>(
        &mut self,
        py: Python<'py>,
        sealed: &[u8],
        size: usize,
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Opened<'py>> {
        if size == 0 {
            return Err(PyValueError::new_err("packets of no length"));
        }
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        let mut refused = Vec::new();
        let packets = PyBytes::new_with(py, opened_bytes(sealed.len(), size), |packets| {
            refused = self.seal.open_run(sealed, size, source, destination, time_s, packets);
            Ok(())
        })?;
        Ok((packets, refused.into_iter().map(|(place, why)| (place, reason(py, why))).collect()))
    }

    fn open_headed<'py>(
        &mut self,
        py: Python<'py>,
        sealed: &[u8],
        head: usize,
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        packet_or_reason(py, sealed, GROWTH, |packet| {
            self.seal.open_headed(sealed, head, source, destination, time_s, packet)
        })
    }

    fn open_feedback<'py>(
        &mut self,
        py: Python<'py>,
        sealed: &[u8],
        source: Address<'py>,
        destination: Address<'py>,
        time_s: u32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (source, destination) = (endpoint(&source)?, endpoint(&destination)?);
        packet_or_reason(py, sealed, FEEDBACK_GROWTH, |packet| {
            self.seal.open_feedback(sealed, source, destination, time_s, packet)
        })
    }
}

/// So many bytes, if `seal` fills them; else ValueError, and why.
fn sealed<'py>(
    py: Python<'py>,
    length: usize,
    why: &'static str,
    seal: impl FnOnce(&mut [u8]) -> bool,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, length, |sealed| seal(sealed).then_some(()).ok_or_else(|| PyValueError::new_err(why)))
}

fn packet_or_reason<'py>(
    py: Python<'py>,
    sealed: &[u8],
    growth: usize,
    open: impl FnOnce(&mut [u8]) -> Result<(), Refused>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut outcome = Ok(());
    let packet = PyBytes::new_with(py, sealed.len().saturating_sub(growth), |packet| {
        outcome = open(packet);
        Ok(())
    })?;
    Ok(match outcome {
        Ok(()) => packet.into_any(),
        Err(why) => reason(py, why).into_any(),
    })
}

fn reason(py: Python<'_>, why: Refused) -> Bound<'_, PyString> {
    let name = match why {
        Refused::Open => intern!(py, "open"),
        Refused::Epoch => intern!(py, "epoch"),
        Refused::Forged => intern!(py, "forged"),
        Refused::Replayed => intern!(py, "replayed"),
        Refused::Stale => intern!(py, "stale"),
        Refused::Own => intern!(py, "own"),
        Refused::Crowded => intern!(py, "crowded"),
    };
    name.clone()
}

/// HalfSipHash-2-4 of a message of whole words.
#[pyfunction]
pub fn hop_tag(key: u64, message: &[u8]) -> PyResult<u64> {
    ::seal::hop_tag(key, message).ok_or_else(|| PyValueError::new_err("a message has whole words of 32 bits"))
}

/// Signs as one member.
#[pyclass(module = "canopy_engine")]
pub struct Signer {
    signer: ::seal::Signer,
}

#[pymethods]
impl Signer {
    #[new]
    fn new(seed: &[u8]) -> PyResult<Self> {
        let seed: &[u8; SEED] = seed.try_into().map_err(|_| PyValueError::new_err("a seed has 32 bytes"))?;
        Ok(Self { signer: ::seal::Signer::new(seed) })
    }

    #[getter]
    fn public<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.signer.public())
    }

    fn sign<'py>(&self, py: Python<'py>, message: &[u8]) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.signer.sign(message))
    }
}

/// Whether the owner of a public key has signed a message.
#[pyfunction]
pub fn verify_signature(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
    ::seal::verify(public, message, signature)
}
