//! Between the contract's Python types and p4vm's.

use live::SwitchEvent;
use p4vm::{
    ActionCall, CloneSession, ControlError, EntryTarget, ErrorCode, Event, MatchKey, MeterRates, Replica, TableEntry,
    TableInfo,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use pyo3::Borrowed;

/// One field of a table key: `bytes`, `(bytes, int)`, `(bytes, bytes)` or None.
pub struct Key(pub MatchKey);

impl<'a, 'py> FromPyObject<'a, 'py> for Key {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if object.is_none() {
            return Ok(Key(MatchKey::Any));
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Key(MatchKey::Value(bytes.as_bytes().to_vec())));
        }
        let wrong = || PyTypeError::new_err("a match field is bytes, (bytes, prefix length), (bytes, bytes) or None");
        let (first, second): (Bound<'py, PyBytes>, Bound<'py, PyAny>) = object.extract().map_err(|_| wrong())?;
        let first = first.as_bytes().to_vec();
        if let Ok(bytes) = second.cast::<PyBytes>() {
            return Ok(Key(MatchKey::Pair(first, bytes.as_bytes().to_vec())));
        }
        let length: i64 = second.extract().map_err(|_| wrong())?;
        let length =
            u32::try_from(length).map_err(|_| PyValueError::new_err(format!("{length} is not a prefix length")))?;
        Ok(Key(MatchKey::Prefix(first, length)))
    }
}

pub fn keys(keys: Vec<Key>) -> Vec<MatchKey> {
    keys.into_iter().map(|key| key.0).collect()
}

pub fn invalid(message: String) -> ControlError {
    ControlError { code: ErrorCode::InvalidArgument, message }
}

/// (port, instance) pairs, which P4Runtime carries as uint32.
pub fn replicas(pairs: &[(u32, u32)]) -> Result<Vec<Replica>, ControlError> {
    let replica = |&(port, instance): &(u32, u32)| match (u16::try_from(port), u16::try_from(instance)) {
        (Ok(port), Ok(instance)) => Ok(Replica { port, instance }),
        (Err(_), _) => Err(invalid(format!("{port} is not a port"))),
        _ => Err(invalid(format!("instance {instance} does not fit 16 bits"))),
    };
    pairs.iter().map(replica).collect()
}

/// What an entry runs: an action, or a member or group of its table's action profile.
pub fn target(
    action: Option<String>,
    params: Vec<Vec<u8>>,
    member: Option<u32>,
    group: Option<u32>,
) -> PyResult<EntryTarget> {
    match (action, member, group) {
        (Some(action), None, None) => Ok(EntryTarget::Action(ActionCall { action, params })),
        (None, Some(member), None) => Ok(EntryTarget::Member(member)),
        (None, None, Some(group)) => Ok(EntryTarget::Group(group)),
        _ => Err(PyTypeError::new_err("an entry has either an action, a member or a group")),
    }
}

fn bytes_list<'py>(py: Python<'py>, values: &[Vec<u8>]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, values.iter().map(|value| PyBytes::new(py, value)))
}

pub fn match_key<'py>(py: Python<'py>, key: &MatchKey) -> PyResult<Bound<'py, PyAny>> {
    Ok(match key {
        MatchKey::Value(value) => PyBytes::new(py, value).into_any(),
        MatchKey::Prefix(value, length) => (PyBytes::new(py, value), *length).into_pyobject(py)?.into_any(),
        MatchKey::Pair(first, second) => {
            (PyBytes::new(py, first), PyBytes::new(py, second)).into_pyobject(py)?.into_any()
        }
        MatchKey::Any => py.None().into_bound(py),
    })
}

pub fn match_keys<'py>(py: Python<'py>, keys: &[MatchKey]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, keys.iter().map(|key| match_key(py, key)).collect::<PyResult<Vec<_>>>()?)
}

pub fn action_call<'py>(py: Python<'py>, call: &ActionCall) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("action", &call.action)?;
    dict.set_item("params", bytes_list(py, &call.params)?)?;
    Ok(dict)
}

pub fn table_entry<'py>(py: Python<'py>, entry: &TableEntry) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let (action, member, group) = match &entry.target {
        EntryTarget::Action(call) => (Some(call), None, None),
        EntryTarget::Member(member) => (None, Some(*member), None),
        EntryTarget::Group(group) => (None, None, Some(*group)),
    };
    dict.set_item("match", match_keys(py, &entry.key)?)?;
    dict.set_item("priority", entry.priority)?;
    dict.set_item("action", action.map(|call| &call.action))?;
    dict.set_item("params", bytes_list(py, action.map_or(&[], |call| &call.params))?)?;
    dict.set_item("member", member)?;
    dict.set_item("group", group)?;
    dict.set_item("is_const", entry.is_const)?;
    dict.set_item("idle_timeout_us", entry.idle_timeout_us)?;
    dict.set_item("idle_for_us", entry.idle_for_us)?;
    Ok(dict)
}

pub fn table_info<'py>(py: Python<'py>, info: &TableInfo) -> PyResult<Bound<'py, PyDict>> {
    let key = info.key.iter().map(|field| {
        let dict = PyDict::new(py);
        dict.set_item("name", &field.name)?;
        dict.set_item("kind", field.kind.as_str())?;
        dict.set_item("bits", field.bits)?;
        Ok(dict)
    });
    let actions = info.actions.iter().map(|action| {
        let dict = PyDict::new(py);
        dict.set_item("name", &action.name)?;
        dict.set_item("params", action.params.clone())?;
        Ok(dict)
    });
    let dict = PyDict::new(py);
    dict.set_item("name", &info.name)?;
    dict.set_item("key", key.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("actions", actions.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("max_size", info.max_size)?;
    dict.set_item("needs_priority", info.needs_priority)?;
    dict.set_item("profile", &info.profile)?;
    dict.set_item("has_selector", info.has_selector)?;
    dict.set_item("is_const", info.is_const)?;
    dict.set_item("has_const_default", info.has_const_default)?;
    dict.set_item("has_counters", info.has_counters)?;
    dict.set_item("meter", &info.meter)?;
    dict.set_item("supports_timeout", info.supports_timeout)?;
    Ok(dict)
}

pub fn clone_session<'py>(py: Python<'py>, session: &CloneSession) -> PyResult<Bound<'py, PyDict>> {
    let replicas = session.replicas.iter().map(|replica| {
        let dict = PyDict::new(py);
        dict.set_item("port", replica.port)?;
        dict.set_item("instance", replica.instance)?;
        Ok(dict)
    });
    let dict = PyDict::new(py);
    dict.set_item("replicas", replicas.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("packet_length", session.packet_length)?;
    dict.set_item("class_of_service", session.class_of_service)?;
    Ok(dict)
}

pub fn event<'py>(py: Python<'py>, event: &SwitchEvent) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    match event {
        SwitchEvent::Program(Event::Digest { time_us, digest, values }) => {
            dict.set_item("kind", "digest")?;
            dict.set_item("time_us", time_us)?;
            dict.set_item("digest", &**digest)?;
            dict.set_item("values", PyList::new(py, [bytes_list(py, values)?])?)?;
        }
        SwitchEvent::Program(Event::IdleTimeout { time_us, table, entry }) => {
            dict.set_item("kind", "idle_timeout")?;
            dict.set_item("time_us", time_us)?;
            dict.set_item("table", &**table)?;
            dict.set_item("entry", table_entry(py, entry)?)?;
        }
        SwitchEvent::PacketIn { time_us, packet } => {
            dict.set_item("kind", "packet_in")?;
            dict.set_item("time_us", time_us)?;
            dict.set_item("packet", PyBytes::new(py, packet))?;
        }
    }
    Ok(dict)
}

pub fn events<'py>(py: Python<'py>, events: &[SwitchEvent]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, events.iter().map(|e| event(py, e)).collect::<PyResult<Vec<_>>>()?)
}

/// `MeterRates` of the contract.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub struct Rates {
    cir: f64,
    cburst: u64,
    pir: f64,
    pburst: u64,
}

impl From<Rates> for MeterRates {
    fn from(rates: Rates) -> Self {
        Self { cir: rates.cir, cburst: rates.cburst, pir: rates.pir, pburst: rates.pburst }
    }
}

impl From<MeterRates> for Rates {
    fn from(rates: MeterRates) -> Self {
        Self { cir: rates.cir, cburst: rates.cburst, pir: rates.pir, pburst: rates.pburst }
    }
}

/// A big-endian register cell as a Python int.
pub fn int_from_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    py.get_type::<pyo3::types::PyInt>().call_method1("from_bytes", (PyBytes::new(py, bytes), "big"))
}

/// A Python int as `length` big-endian bytes; OverflowError when it is negative or does not fit.
pub fn int_to_bytes(value: &Bound<'_, pyo3::types::PyInt>, length: usize) -> PyResult<Vec<u8>> {
    value.call_method1("to_bytes", (length, "big"))?.extract()
}

/// (port, packet) pairs.
pub fn outputs<'py>(py: Python<'py>, outputs: &p4vm::Outputs) -> PyResult<Bound<'py, PyList>> {
    let pairs: Vec<Bound<'py, PyTuple>> = outputs
        .iter()
        .map(|(port, packet)| (port, PyBytes::new(py, packet)).into_pyobject(py))
        .collect::<PyResult<_>>()?;
    PyList::new(py, pairs)
}
