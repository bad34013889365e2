//! Both ends of a TCP connection from keyword arguments, of either family.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sim::tcp::modern::{self, CongestionControlName, Ecn};
use sim::tcp::{AnyReceiverConfig, AnySenderConfig, Growth, Kind, ReceiverConfig, SenderConfig};

use super::options::{check_keys, get, payload, positive, time};

/// Headers of Ethernet, IPv4 and TCP; modern segments carry timestamps too.
const HEADERS: u32 = 54;
const MODERN_HEADERS: u32 = HEADERS + 12;
/// Full packets on the link: ns-2's, and Ethernet's.
const PACKET: u32 = 1_000;
const MODERN_PACKET: u32 = 1_514;

const CLASSIC: [(&str, Kind); 4] =
    [("reno-1990", Kind::Reno), ("newreno", Kind::NewReno), ("sack", Kind::Sack), ("vegas", Kind::Vegas)];

/// What both families know, and what one of them does.
const KEYS: [&str; 7] = [
    "congestion_control",
    "packet_bytes",
    "transfer_bytes",
    "initial_window",
    "window_limit",
    "min_rto",
    "delayed_ack",
];
const CLASSIC_KEYS: [&str; 4] = ["initial_ssthresh", "limited_transmit", "clock_granularity", "growth"];
const MODERN_KEYS: [&str; 2] = ["ecn", "pacing"];

/// Both ends of a TCP connection.
pub fn tcp(options: Option<&Bound<'_, PyDict>>) -> PyResult<(AnySenderConfig, AnyReceiverConfig)> {
    let Some(options) = options else {
        let receiver = ReceiverConfig { delayed_ack: None, sack: true };
        return Ok((SenderConfig::default().into(), receiver.into()));
    };
    let name = get::<String>(options, "congestion_control")?.unwrap_or_else(|| "sack".to_string());
    if let Some(&(_, kind)) = CLASSIC.iter().find(|(known, _)| *known == name) {
        let (sender, receiver) = classic(options, kind)?;
        return Ok((sender.into(), receiver.into()));
    }
    let Some(choice) = CongestionControlName::parse(&name) else {
        let modern = CongestionControlName::ALL.iter().map(|(known, _)| *known);
        let known: Vec<&str> = modern.chain(CLASSIC.iter().map(|(known, _)| *known)).collect();
        let message = format!("congestion_control: {name:?} is none of {}", known.join(", "));
        return Err(PyValueError::new_err(message));
    };
    let (sender, receiver) = modern(options, choice)?;
    Ok((sender.into(), receiver.into()))
}

/// Refuses what the other family knows with words of its own.
fn check_family(options: &Bound<'_, PyDict>, own: &[&str], others: &[&str], family: &str) -> PyResult<()> {
    if let Some(key) = others.iter().find(|key| options.contains(**key).unwrap_or(false)) {
        return Err(PyTypeError::new_err(format!("{key} is no option of a {family} congestion control")));
    }
    check_keys(options, &[&KEYS, own].concat())
}

fn modern(
    options: &Bound<'_, PyDict>,
    congestion_control: CongestionControlName,
) -> PyResult<(modern::SenderConfig, modern::ReceiverConfig)> {
    check_family(options, &MODERN_KEYS, &CLASSIC_KEYS, "modern")?;
    let mut sender = modern::SenderConfig { congestion_control, ..modern::SenderConfig::default() };
    sender.mss = payload(options, MODERN_HEADERS, MODERN_PACKET)?;
    sender.transfer = get(options, "transfer_bytes")?;
    if let Some(window) = get(options, "initial_window")? {
        sender.initial_window = positive("initial_window", window)?;
    }
    sender.window_limit = get(options, "window_limit")?;
    sender.min_rto = time(options, "min_rto")?.unwrap_or(sender.min_rto);
    sender.pacing = get(options, "pacing")?.unwrap_or(sender.pacing);
    sender.ecn = match get::<String>(options, "ecn")?.as_deref() {
        None => None,
        Some("off") => Some(Ecn::Off),
        Some("classic") => Some(Ecn::Classic),
        Some("accurate") => Some(Ecn::Accurate),
        Some("scalable") => Some(Ecn::Scalable),
        Some(other) => {
            let known = "off, classic, accurate, scalable";
            return Err(PyValueError::new_err(format!("ecn: {other:?} is none of {known}")));
        }
    };
    let mut receiver = modern::ReceiverConfig::default();
    if options.contains("delayed_ack")? {
        receiver.delayed_ack = time(options, "delayed_ack")?;
    }
    Ok((sender, receiver))
}

fn classic(options: &Bound<'_, PyDict>, kind: Kind) -> PyResult<(SenderConfig, ReceiverConfig)> {
    check_family(options, &CLASSIC_KEYS, &MODERN_KEYS, "classic")?;
    let mut sender = SenderConfig { kind, ..SenderConfig::default() };
    let mut receiver = ReceiverConfig { delayed_ack: None, sack: true };
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
    sender.mss = payload(options, HEADERS, PACKET)?;
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
