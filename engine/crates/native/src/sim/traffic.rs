//! TCP transfers and cross traffic from keyword arguments.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::apps::{Gaps, Sizes, WebConfig};
use sim::tcp::{Growth, Kind, ReceiverConfig, SenderConfig};
use sim::time::Nanos;

use super::seconds;

/// Headers of Ethernet, IPv4 and TCP, and of Ethernet, IPv4 and UDP.
const TCP_HEADERS: u32 = 54;
const UDP_HEADERS: u32 = 42;
/// An IPv4 packet's greatest length, in its frame.
const MAX_PACKET: u32 = 65_535 + 14;

/// Refuses keyword arguments that nothing here knows.
fn check_keys(options: &Bound<'_, PyDict>, known: &[&str]) -> PyResult<()> {
    for key in options.keys() {
        let key: String = key.extract()?;
        if !known.contains(&key.as_str()) {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument {key:?}")));
        }
    }
    Ok(())
}

fn get<'py, T: pyo3::conversion::FromPyObjectOwned<'py, Error = PyErr>>(
    options: &Bound<'py, PyDict>,
    key: &str,
) -> PyResult<Option<T>> {
    options.get_item(key)?.filter(|value| !value.is_none()).map(|value| value.extract()).transpose()
}

fn time(options: &Bound<'_, PyDict>, key: &str) -> PyResult<Option<Nanos>> {
    get::<f64>(options, key)?.map(|value| seconds(key, value)).transpose()
}

fn payload(options: &Bound<'_, PyDict>, headers: u32) -> PyResult<u32> {
    let packet: u32 = get(options, "packet_bytes")?.unwrap_or(1_000);
    match packet > headers && packet <= MAX_PACKET {
        true => Ok(packet - headers),
        false => Err(PyValueError::new_err(format!("packet_bytes: {packet} is not in {}..={MAX_PACKET}", headers + 1))),
    }
}

fn positive(key: &str, value: f64) -> PyResult<f64> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(PyValueError::new_err(format!("{key}: {value} is not positive"))),
    }
}

const TCP_KEYS: [&str; 11] = [
    "congestion_control",
    "packet_bytes",
    "transfer_bytes",
    "initial_window",
    "initial_ssthresh",
    "window_limit",
    "limited_transmit",
    "min_rto",
    "clock_granularity",
    "delayed_ack",
    "growth",
];

/// Both ends of a TCP connection.
pub fn tcp(options: Option<&Bound<'_, PyDict>>) -> PyResult<(SenderConfig, ReceiverConfig)> {
    let mut sender = SenderConfig::default();
    let mut receiver = ReceiverConfig { delayed_ack: None, sack: true };
    let Some(options) = options else { return Ok((sender, receiver)) };
    check_keys(options, &TCP_KEYS)?;
    sender.kind = match get::<String>(options, "congestion_control")?.as_deref() {
        None | Some("sack" | "reno") => Kind::Sack, // Linux's reno recovers by selective acknowledgments
        Some("reno-1990") => Kind::Reno,
        Some("newreno") => Kind::NewReno,
        Some("vegas") => Kind::Vegas,
        Some(other) => {
            let known = "reno, reno-1990, newreno, sack, vegas";
            return Err(PyValueError::new_err(format!("congestion_control: {other:?} is none of {known}")));
        }
    };
    receiver.sack = sender.kind == Kind::Sack;
    receiver.delayed_ack = time(options, "delayed_ack")?;
    sender.growth = match get::<String>(options, "growth")?.as_deref() {
        // With delayed acknowledgments the window would open half as fast (RFC 3465).
        None if receiver.delayed_ack.is_some() => Growth::Packets,
        None | Some("acknowledgments") => Growth::Acknowledgments,
        Some("packets") => Growth::Packets,
        Some(other) => {
            return Err(PyValueError::new_err(format!("growth: {other:?} is neither acknowledgments nor packets")))
        }
    };
    sender.mss = payload(options, TCP_HEADERS)?;
    sender.transfer = get(options, "transfer_bytes")?;
    if let Some(window) = get(options, "initial_window")? {
        sender.initial_window = positive("initial_window", window)?;
    }
    if let Some(ssthresh) = get(options, "initial_ssthresh")? {
        sender.initial_ssthresh = positive("initial_ssthresh", ssthresh)?;
    }
    sender.window_limit = get(options, "window_limit")?;
    sender.limited_transmit = get(options, "limited_transmit")?.unwrap_or(sender.limited_transmit);
    sender.min_rto = time(options, "min_rto")?.unwrap_or(sender.min_rto);
    sender.clock_granularity = time(options, "clock_granularity")?.unwrap_or(sender.clock_granularity);
    Ok((sender, receiver))
}

const UDP_KEYS: [&str; 7] = ["gaps", "packet_bytes", "sizes", "rate_bps", "mean_on", "mean_off", "shape"];

/// A UDP stream: when it sends, and how much.
pub fn udp(options: &Bound<'_, PyDict>) -> PyResult<(Gaps, Sizes)> {
    check_keys(options, &UDP_KEYS)?;
    let octets = payload(options, UDP_HEADERS)?;
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
