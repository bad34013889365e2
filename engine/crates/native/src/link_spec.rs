//! `LinkSpec`: one direction of a link as a dict.

use link::config::{DEFAULT_AQM_LIMIT, DEFAULT_LIMIT_PACKETS};
use link::{
    CodelConfig, DualPi2Config, FqCodelConfig, GilbertElliott, Limit, LinkConfig, LossConfig, PiConfig, PieConfig,
    QueueConfig, RedConfig, Reorder,
};
use live::LinkSettings;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// ns-2's default thresholds in packets (tcl/lib/ns-default.tcl, Queue/RED).
const RED_MIN_PACKETS: f64 = 5.0;
const RED_MAX_PACKETS: f64 = 15.0;

/// A frame has so much beyond its IP packet.
const ETHERNET_BYTES: u32 = 14;
/// Every IPv4 link carries packets of 68 octets (RFC 791).
const LEAST_MTU: u32 = 68;

/// Keys of every link, and those of one queue kind or another.
const LINK_KEYS: [&str; 13] = [
    "rate_bps",
    "delay_us",
    "loss",
    "gilbert_elliott",
    "queue",
    "limit_packets",
    "limit_bytes",
    "seed",
    "overhead_bytes",
    "mtu",
    "duplicate",
    "reorder",
    "reorder_delay_us",
];
const RED_KEYS: [&str; 8] =
    ["red_min", "red_max", "red_weight", "red_max_p", "red_gentle", "red_wait", "red_ecn", "red_mean_packet_bytes"];
const CODEL_KEYS: [&str; 3] = ["target_us", "interval_us", "ecn"];
const FQ_CODEL_KEYS: [&str; 5] = ["target_us", "interval_us", "flows", "quantum", "ecn"];
const PIE_KEYS: [&str; 6] = ["target_us", "update_us", "alpha", "beta", "max_burst_us", "ecn"];
const DUALPI2_KEYS: [&str; 7] = ["target_us", "update_us", "alpha", "beta", "coupling", "step_us", "ramp_us"];

/// Each kind of queue with its keys.
const QUEUES: [(&str, &[&str]); 6] = [
    ("droptail", &[]),
    ("red", &RED_KEYS),
    ("codel", &CODEL_KEYS),
    ("fq_codel", &FQ_CODEL_KEYS),
    ("pie", &PIE_KEYS),
    ("dualpi2", &DUALPI2_KEYS),
];

/// Reads a spec. TypeError for a key or a type that is not the contract's, ValueError for a value out of range.
pub fn link_settings(spec: &Bound<'_, PyDict>) -> PyResult<LinkSettings> {
    check_keys(spec)?;
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
    config.duplicate = get(spec, "duplicate")?.unwrap_or_default();
    if let Some(probability) = get::<f64>(spec, "reorder")? {
        config.reorder = Some(Reorder { probability, extra_delay_ns: us(spec, "reorder_delay_us", 0)? });
    }
    if let Some(mtu) = get::<u32>(spec, "mtu")? {
        if mtu < LEAST_MTU {
            return Err(PyValueError::new_err(format!("mtu: must be at least {LEAST_MTU}, not {mtu}")));
        }
        config.max_frame_bytes = mtu.saturating_add(ETHERNET_BYTES);
    }
    config.queue = queue(spec)?;
    config.validate().map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(LinkSettings { config, seed: get(spec, "seed")? })
}

/// RED's keys are known by their names alone; the others' are those of the kind that the spec names.
fn check_keys(spec: &Bound<'_, PyDict>) -> PyResult<()> {
    let kind = get::<String>(spec, "queue")?.unwrap_or_else(|| "droptail".to_owned());
    let Some((_, of_kind)) = QUEUES.iter().find(|(name, _)| *name == kind) else {
        let kinds = QUEUES.map(|(name, _)| name).join(", ");
        return Err(PyValueError::new_err(format!("queue: {kind:?} is none of {kinds}")));
    };
    for key in spec.keys() {
        let key: String = key.extract()?;
        let key = key.as_str();
        if LINK_KEYS.contains(&key) || RED_KEYS.contains(&key) || of_kind.contains(&key) {
            continue;
        }
        return Err(PyTypeError::new_err(match QUEUES.iter().any(|(_, keys)| keys.contains(&key)) {
            true => format!("a queue of the kind {kind:?} has no {key:?}"),
            false => format!("a link has no {key:?}"),
        }));
    }
    Ok(())
}

fn queue(spec: &Bound<'_, PyDict>) -> PyResult<QueueConfig> {
    let limit = match (get(spec, "limit_bytes")?, get(spec, "limit_packets")?) {
        (Some(bytes), _) => Some(Limit::Bytes(bytes)),
        (None, packets) => packets.map(Limit::Packets),
    };
    let short = limit.unwrap_or(Limit::Packets(DEFAULT_LIMIT_PACKETS));
    let long = limit.unwrap_or(DEFAULT_AQM_LIMIT);
    Ok(match get::<String>(spec, "queue")?.as_deref() {
        Some("red") => QueueConfig::Red(red(spec, short)?),
        Some("codel") => QueueConfig::Codel(codel(spec, long)?),
        Some("fq_codel") => {
            let defaults = FqCodelConfig::new(long);
            QueueConfig::FqCodel(FqCodelConfig {
                codel: codel(spec, long)?,
                flows: get(spec, "flows")?.unwrap_or(defaults.flows),
                quantum: get(spec, "quantum")?.unwrap_or(defaults.quantum),
            })
        }
        Some("pie") => {
            let defaults = PieConfig::new(long);
            QueueConfig::Pie(PieConfig {
                limit: long,
                pi: pi(spec, defaults.pi)?,
                max_burst_ns: us(spec, "max_burst_us", defaults.max_burst_ns)?,
                ecn: get(spec, "ecn")?.unwrap_or(defaults.ecn),
            })
        }
        Some("dualpi2") => {
            let defaults = DualPi2Config::new(long);
            QueueConfig::DualPi2(DualPi2Config {
                limit: long,
                pi: pi(spec, defaults.pi)?,
                coupling: get(spec, "coupling")?.unwrap_or(defaults.coupling),
                step_ns: us(spec, "step_us", defaults.step_ns)?,
                ramp_ns: us(spec, "ramp_us", defaults.ramp_ns)?,
            })
        }
        _ => QueueConfig::DropTail(short),
    })
}

fn codel(spec: &Bound<'_, PyDict>, limit: Limit) -> PyResult<CodelConfig> {
    let defaults = CodelConfig::new(limit);
    Ok(CodelConfig {
        target_ns: us(spec, "target_us", defaults.target_ns)?,
        interval_ns: us(spec, "interval_us", defaults.interval_ns)?,
        ecn: get(spec, "ecn")?.unwrap_or(defaults.ecn),
        limit,
    })
}

fn pi(spec: &Bound<'_, PyDict>, defaults: PiConfig) -> PyResult<PiConfig> {
    Ok(PiConfig {
        target_ns: us(spec, "target_us", defaults.target_ns)?,
        update_ns: us(spec, "update_us", defaults.update_ns)?,
        alpha: get(spec, "alpha")?.unwrap_or(defaults.alpha),
        beta: get(spec, "beta")?.unwrap_or(defaults.beta),
    })
}

/// Microseconds as nanoseconds.
fn us(spec: &Bound<'_, PyDict>, key: &str, default_ns: u64) -> PyResult<u64> {
    get::<f64>(spec, key)?.map_or(Ok(default_ns), |value| whole(key, value * 1000.0))
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
