//! What the benchmarks measure with.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use p4vm::Outputs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::os_error;
use crate::switch::Switch;

/// Packets between two looks at the clock and at Ctrl-C.
const CHUNK: u64 = 4096;

/// Sends `count` packets through a switch in process, those given in turn, one microsecond apart: seconds taken,
/// packets in and out. Events are thrown away.
#[pyfunction]
pub fn bench(
    py: Python<'_>,
    switch: &Bound<'_, Switch>,
    port: u16,
    packets: Vec<Vec<u8>>,
    count: u64,
) -> PyResult<BTreeMap<&'static str, f64>> {
    let shared = switch.get().shared.clone();
    let (mut outputs, mut packets_out, mut now_ns) = (Outputs::new(), 0u64, 0u64);
    let start = Instant::now();
    let mut left = count;
    let mut next = packets.iter().cycle();
    while left > 0 {
        py.detach(|| {
            let mut switch = shared.lock();
            for _ in 0..left.min(CHUNK) {
                let Some(packet) = next.next() else { break };
                now_ns += 1000;
                outputs.clear();
                switch.process(now_ns, port, packet, &mut outputs);
                packets_out += outputs.len() as u64;
            }
            switch.take_events(usize::MAX);
        });
        left -= left.min(CHUNK);
        py.check_signals()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok([("seconds", seconds), ("packets_in", count as f64), ("packets_out", packets_out as f64)].into())
}

/// Sends a frame on an interface again and again, at the rate given or as fast as it goes; returns how many were sent.
#[pyfunction]
#[pyo3(signature = (interface, packet, seconds, packets_per_second = None))]
pub fn flood(
    py: Python<'_>,
    interface: &str,
    packet: &[u8],
    seconds: f64,
    packets_per_second: Option<f64>,
) -> PyResult<u64> {
    let duration = Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{seconds} is not a number of seconds")))?;
    py.detach(|| live::flood(interface, packet, duration, packets_per_second))
        .map_err(|error| os_error(&error, Some(interface)))
}

/// Throws away what an interface receives, before the protocol stack looks at it, for as long as the object lives.
#[pyclass(frozen, module = "canopy_engine")]
pub struct Sink {
    _sink: live::Sink,
}

#[pymethods]
impl Sink {
    /// Raises OSError: EPERM without the capability, EINVAL before Linux 6.6.
    #[new]
    fn new(interface: &str) -> PyResult<Self> {
        let sink = live::Sink::open(interface).map_err(|error| os_error(&error, Some(interface)))?;
        Ok(Self { _sink: sink })
    }
}
