//! `LinkSpec`: one direction of a link as a dict.

use link::config::DEFAULT_LIMIT_PACKETS;
use link::{GilbertElliott, Limit, LinkConfig, LossConfig, QueueConfig, RedConfig};
use live::LinkSettings;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// ns-2's default thresholds in packets (tcl/lib/ns-default.tcl, Queue/RED).
const RED_MIN_PACKETS: f64 = 5.0;
const RED_MAX_PACKETS: f64 = 15.0;

const KEYS: [&str; 17] = [
    "rate_bps",
    "delay_us",
    "loss",
    "gilbert_elliott",
    "queue",
    "limit_packets",
    "limit_bytes",
    "red_min",
    "red_max",
    "red_weight",
    "red_max_p",
    "red_gentle",
    "red_wait",
    "red_ecn",
    "red_mean_packet_bytes",
    "seed",
    "overhead_bytes",
];

/// Reads a spec. TypeError for a key or a type that is not the contract's, ValueError for a value out of range.
pub fn link_settings(spec: &Bound<'_, PyDict>) -> PyResult<LinkSettings> {
    for key in spec.keys() {
        let key: String = key.extract()?;
        if !KEYS.contains(&key.as_str()) {
            return Err(PyTypeError::new_err(format!("a link has no {key:?}")));
        }
    }
    let mut config = LinkConfig::default();
    if let Some(rate) = get::<f64>(spec, "rate_bps")? {
        config.rate_bps = Some(whole("rate_bps", rate)?);
    }
    if let Some(delay) = get::<f64>(spec, "delay_us")? {
        config.delay_ns = whole("delay_us", delay * 1000.0)?;
    }
    config.loss = match (get(spec, "loss")?, get(spec, "gilbert_elliott")?) {
        (None, None) => LossConfig::None,
        (Some(loss), None) => LossConfig::Bernoulli(loss),
        (None, Some((good_to_bad, bad_to_good, loss_good, loss_bad))) => {
            LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
        }
        (Some(_), Some(_)) => return Err(PyValueError::new_err("a link has loss or gilbert_elliott, not both")),
    };
    config.overhead_bytes = get(spec, "overhead_bytes")?.unwrap_or_default();
    let limit = match (get(spec, "limit_bytes")?, get(spec, "limit_packets")?) {
        (Some(bytes), _) => Limit::Bytes(bytes),
        (None, packets) => Limit::Packets(packets.unwrap_or(DEFAULT_LIMIT_PACKETS)),
    };
    config.queue = match get::<String>(spec, "queue")?.as_deref() {
        None | Some("droptail") => QueueConfig::DropTail(limit),
        Some("red") => QueueConfig::Red(red(spec, limit)?),
        Some(other) => return Err(PyValueError::new_err(format!("queue: {other:?} is neither droptail nor red"))),
    };
    config.validate().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(LinkSettings { config, seed: get(spec, "seed")? })
}

fn red(spec: &Bound<'_, PyDict>, limit: Limit) -> PyResult<RedConfig> {
    let defaults = RedConfig::new(limit, RED_MIN_PACKETS, RED_MAX_PACKETS);
    let unit = match limit {
        Limit::Packets(_) => 1.0,
        Limit::Bytes(_) => f64::from(defaults.mean_packet_bytes),
    };
    Ok(RedConfig {
        min_threshold: get(spec, "red_min")?.unwrap_or(RED_MIN_PACKETS * unit),
        max_threshold: get(spec, "red_max")?.unwrap_or(RED_MAX_PACKETS * unit),
        weight: get(spec, "red_weight")?.unwrap_or(defaults.weight),
        max_p: get(spec, "red_max_p")?.unwrap_or(defaults.max_p),
        gentle: get(spec, "red_gentle")?.unwrap_or(defaults.gentle),
        wait: get(spec, "red_wait")?.unwrap_or(defaults.wait),
        ecn: get(spec, "red_ecn")?.unwrap_or(defaults.ecn),
        mean_packet_bytes: get(spec, "red_mean_packet_bytes")?.unwrap_or(defaults.mean_packet_bytes),
        limit,
    })
}

fn get<'py, T: pyo3::conversion::FromPyObjectOwned<'py, Error = PyErr>>(
    spec: &Bound<'py, PyDict>,
    key: &str,
) -> PyResult<Option<T>> {
    spec.get_item(key)?.map(|value| value.extract()).transpose()
}

/// The nearest whole number; ValueError when it is negative, not finite or beyond 2^63.
fn whole(key: &str, value: f64) -> PyResult<u64> {
    if value.is_finite() && value >= 0.0 && value < i64::MAX as f64 {
        Ok(value.round() as u64)
    } else {
        Err(PyValueError::new_err(format!("{key}: {value} is out of range")))
    }
}
