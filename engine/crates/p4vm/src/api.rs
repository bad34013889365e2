//! The plain data that goes in and out of a [`Switch`](crate::Switch).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limit::Rate;

/// How a switch is set up; all randomness (`random()`, hash keys of tables excepted) follows from `seed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Seed of v1model's `random()`.
    pub seed: u64,
    /// The port of packet-in and packet-out; valid even when it is not below `num_ports`.
    pub cpu_port: Option<u16>,
    /// Ports are `0..num_ports`; packets from or to another port are dropped and counted.
    pub num_ports: u16,
    /// How often one packet may be resubmitted, recirculated or cloned again before it is cut off and counted.
    pub max_passes: u32,
    /// Digests and idle timeouts that are kept until they are taken; more are dropped and counted.
    pub max_events: usize,
    /// Messages of `log_msg` that are kept until they are taken; 0: none is even formatted.
    pub max_log: usize,
    /// Digests that packets of one port may cause; more are dropped and counted.
    pub digest_rate: Rate,
    /// Digests with the same contents; more are dropped and counted.
    pub digest_repeat_rate: Rate,
    pub backend: Backend,
}

/// What runs the program; both do the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backend {
    Interpreter,
    /// Native code from the beginning, where it can be made.
    Native,
    /// Native code once the program's switches have had so many packets that making it pays.
    #[default]
    Adaptive,
}

impl Backend {
    pub const NAMES: [(&'static str, Self); 3] =
        [("interpreter", Self::Interpreter), ("native", Self::Native), ("adaptive", Self::Adaptive)];

    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(own, _)| *own == name).map(|(_, backend)| backend)
    }

    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, backend)| *backend == self).map_or("", |(name, _)| name)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            cpu_port: None,
            num_ports: 512,
            max_passes: 1024,
            max_events: 65_536,
            max_log: 0,
            digest_rate: Rate::default(),
            digest_repeat_rate: Rate::default(),
            backend: Backend::default(),
        }
    }
}

/// One field of a table key. Byte strings are big endian; missing leading bytes are zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MatchKey {
    /// exact, or optional with a value.
    Value(Vec<u8>),
    /// lpm: value and prefix length in bits.
    Prefix(Vec<u8>, u32),
    /// ternary: value and mask; range: lowest and highest value.
    Pair(Vec<u8>, Vec<u8>),
    /// Anything matches (ternary, range, optional, and an lpm of length 0).
    Any,
}

/// An action of the JSON by name, with its parameters in order, big endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionCall {
    pub action: String,
    pub params: Vec<Vec<u8>>,
}

/// What a table entry does when it is hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryTarget {
    Action(ActionCall),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
}

/// An entry as the control plane reads it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    pub key: Vec<MatchKey>,
    /// Larger wins, as P4Runtime has it; 0 for tables without ternary, range or optional fields.
    pub priority: i32,
    pub target: EntryTarget,
    pub is_const: bool,
    /// 0: never.
    pub idle_timeout_us: u64,
    /// Time since the entry was last hit (or added), at the switch's latest `now`.
    pub idle_for_us: u64,
}

/// The kind of one field of a table key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    Valid,
}

impl MatchKind {
    /// The kind in the JSON's spelling.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Ternary => "ternary",
            Self::Range => "range",
            Self::Optional => "optional",
            Self::Valid => "valid",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFieldInfo {
    pub name: String,
    pub kind: MatchKind,
    pub bits: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionInfo {
    pub name: String,
    /// Name and width in bits of each parameter that the control plane gives.
    pub params: Vec<(String, u32)>,
}

/// What the program says about a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    pub name: String,
    pub key: Vec<KeyFieldInfo>,
    pub actions: Vec<ActionInfo>,
    pub max_size: usize,
    pub needs_priority: bool,
    /// The action profile or selector that entries refer to.
    pub profile: Option<String>,
    /// The profile is a selector: entries may refer to groups.
    pub has_selector: bool,
    /// Entries come from the program and cannot be written.
    pub is_const: bool,
    pub has_const_default: bool,
    pub has_counters: bool,
    /// Name of the direct meter.
    pub meter: Option<String>,
    pub supports_timeout: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Replica {
    pub port: u16,
    /// `egress_rid` of the copy.
    pub instance: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    /// Bytes of the copy that are kept; 0: all.
    pub packet_length: u32,
    pub class_of_service: u32,
}

/// Both rates of a two-rate three-colour meter (RFC 2698), in units (bytes or packets, as the program says) a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeterRates {
    pub cir: f64,
    pub cburst: u64,
    pub pir: f64,
    pub pburst: u64,
}

/// What the data path has to tell the control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// One message of the learn list `digest`: its fields, big endian, each of the field's width.
    Digest { time_us: u64, digest: Arc<str>, values: Vec<Vec<u8>> },
    /// An entry with a timeout was not hit for that long. Repeated each further timeout while it stays idle.
    IdleTimeout { time_us: u64, table: Arc<str>, entry: TableEntry },
}

/// Members of an action selector's group, each with its weight.
pub type GroupMembers = BTreeMap<u32, u32>;

/// How a copy came to be: `standard_metadata.instance_type`, with BMv2's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceType {
    Normal = 0,
    IngressClone = 1,
    EgressClone = 2,
    Coalesced = 3,
    Recirculate = 4,
    Replication = 5,
    Resubmit = 6,
}

/// What the traffic manager knows about a copy when it leaves its queue (v1model's queueing metadata).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueMeta {
    /// When the copy was put into the queue.
    pub enq_timestamp_us: u64,
    /// Packets in the queue at that moment, without the copy.
    pub enq_qdepth: u32,
    /// Time spent in the queue.
    pub deq_timedelta_us: u64,
    /// Packets left in the queue when it was taken out.
    pub deq_qdepth: u32,
    /// The queue of the port, where it has several.
    pub qid: u32,
}
