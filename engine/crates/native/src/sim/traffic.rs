//! Cross traffic of UDP and of short transfers from keyword arguments.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::apps::{Gaps, Sizes, WebConfig};
use sim::time::Nanos;

use super::options::{check_keys, get, payload, positive, time};
use super::seconds;

/// Headers of Ethernet, IPv4 and UDP, and the length of a packet on the link.
const UDP_HEADERS: u32 = 42;
const UDP_PACKET: u32 = 1_000;

const UDP_KEYS: [&str; 7] = ["gaps", "packet_bytes", "sizes", "rate_bps", "mean_on", "mean_off", "shape"];

/// A UDP stream: when it sends, and how much.
pub fn udp(options: &Bound<'_, PyDict>) -> PyResult<(Gaps, Sizes)> {
    check_keys(options, &UDP_KEYS)?;
    let octets = payload(options, UDP_HEADERS, UDP_PACKET)?;
    let Some(rate) = get::<f64>(options, "rate_bps")? else {
        return Err(PyTypeError::new_err("rate_bps is missing"));
    };
    let packet = f64::from(octets + UDP_HEADERS);
    let gap = seconds("rate_bps", packet * 8.0 / positive("rate_bps", rate)?)?.max(1);
    let gaps = match get::<String>(options, "gaps")?.as_deref() {
        None | Some("constant") => Gaps::Constant(gap),
        Some("poisson") => Gaps::Poisson { mean: gap },
        Some("onoff") => {
            let shape = positive("shape", get(options, "shape")?.unwrap_or(1.5))?; // ns-2's default
            if shape <= 1.0 {
                return Err(PyValueError::new_err(format!("shape: {shape} has no mean; it must be above 1")));
            }
            let mean = |key| -> PyResult<Nanos> { Ok(time(options, key)?.unwrap_or(500_000_000).max(1)) }; // ns-2's
            Gaps::OnOff { gap, mean_on: mean("mean_on")?, mean_off: mean("mean_off")?, shape }
        }
        Some(other) => {
            return Err(PyValueError::new_err(format!("gaps: {other:?} is none of constant, poisson, onoff")))
        }
    };
    let sizes = match get::<String>(options, "sizes")?.as_deref() {
        None | Some("constant") => Sizes::Constant(octets as usize),
        Some("exponential") => Sizes::Exponential { mean: packet },
        Some(other) => {
            return Err(PyValueError::new_err(format!("sizes: {other:?} is neither constant nor exponential")))
        }
    };
    Ok((gaps, sizes))
}

/// Short transfers: mean gap in seconds, mean size in octets, shape of the sizes' distribution.
pub fn web(mean_gap: f64, mean_bytes: f64, shape: f64, first_port: u16, ports: u16) -> PyResult<WebConfig> {
    if shape.is_nan() || shape <= 1.0 {
        return Err(PyValueError::new_err(format!("shape: {shape} has no mean; it must be above 1")));
    }
    if ports == 0 || first_port.checked_add(ports - 1).is_none() {
        return Err(PyValueError::new_err(format!("ports: {ports} from {first_port} on are not there")));
    }
    Ok(WebConfig {
        mean_gap: seconds("mean_gap", positive("mean_gap", mean_gap)?)?.max(1),
        mean_size: positive("mean_bytes", mean_bytes)?,
        shape,
        first_port,
        ports,
    })
}
