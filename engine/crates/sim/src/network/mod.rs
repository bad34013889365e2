//! The network: nodes, channels between them, and the loop that moves time.

mod build;
mod change;
mod hosts;
mod routes;
mod run;
mod stats;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::net::Ipv4Addr;

pub use change::Change;
pub use stats::{LinkReport, NodeReport};

use crate::app::{AppError, Effect};
use crate::channel::{Channel, End};
use crate::event::Agenda;
use crate::frame::Mac;
use crate::host::Host;
use crate::id::{AppId, LinkId, NodeId, Way};
use crate::p4::{Desk, P4Node, Queued};
use crate::router::{Output, Router};
use crate::series::Series;
use crate::time::{to_seconds, Nanos};

/// The network was described wrongly.
#[derive(Debug)]
pub enum BuildError {
    DuplicateName(String),
    DuplicateAddress(String, Ipv4Addr),
    /// Node and port.
    PortInUse(String, u32),
    /// A host with more than one link.
    HostPort(String),
    /// A node without a link, or without a path to the others.
    Unconnected(String),
    /// From, to, and what is wrong.
    Link(String, String, link::ConfigError),
    NotAHost(String),
    NotASwitch(String),
    /// Host, port.
    PortTaken(String, u16),
    /// The network is running: its nodes and links are settled.
    Running,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::DuplicateName(name) => write!(f, "there are two nodes called {name}"),
            BuildError::DuplicateAddress(name, address) => write!(f, "{name}: another host has the address {address}"),
            BuildError::PortInUse(name, port) => write!(f, "{name}: port {port} has a link already"),
            BuildError::HostPort(name) => write!(f, "{name}: a host has one link"),
            BuildError::Unconnected(name) => write!(f, "{name} is not connected"),
            BuildError::Link(from, to, error) => write!(f, "link from {from} to {to}: {error}"),
            BuildError::NotAHost(name) => write!(f, "{name} is not a host"),
            BuildError::NotASwitch(name) => write!(f, "{name} is not a P4 switch"),
            BuildError::PortTaken(name, port) => write!(f, "{name}: another program has port {port}"),
            BuildError::Running => write!(f, "nodes, links and switches cannot be added to a network that runs"),
        }
    }
}

impl Error for BuildError {}

/// The run cannot go on.
#[derive(Debug)]
pub enum RunError {
    Build(BuildError),
    /// So many events happened at one instant that time does not advance: where, when, how many.
    EventStorm {
        node: String,
        time: Nanos,
        events: u64,
    },
    /// A program failed: host, program, its error.
    App {
        host: String,
        program: String,
        error: AppError,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Build(error) => error.fmt(f),
            RunError::EventStorm { node, time, events } => {
                let time = to_seconds(*time);
                write!(f, "time stands still at {time} s: {events} events at one instant, the last at {node}")
            }
            RunError::App { host, program, error } => write!(f, "{program} on {host}: {error}"),
        }
    }
}

impl Error for RunError {}

impl From<BuildError> for RunError {
    fn from(error: BuildError) -> Self {
        RunError::Build(error)
    }
}

/// What a node does. Boxed, so that finding out what it is costs little of the cache.
pub(crate) enum Kind {
    Router(Box<Router>),
    Switch(Box<P4Node>),
    Host(Box<Host>),
}

/// What else there is to a node.
pub(crate) struct Node {
    pub name: String,
    pub mac: Mac,
    /// The channel that leaves at each port.
    pub ports: Vec<Option<u32>>,
}

/// Events that one instant may hold, beyond those that the size of the network explains.
const STORM: u64 = 1_000_000;
/// And for each channel and program.
const STORM_EACH: u64 = 100;

/// A network in virtual time. Everything random in it follows from its seed.
pub struct Network {
    seed: u64,
    now: Nanos,
    agenda: Agenda,
    /// The next event's number.
    number: u64,
    nodes: Vec<Node>,
    kinds: Vec<Kind>,
    /// A link's two channels lie side by side.
    channels: Vec<Channel>,
    names: BTreeMap<String, NodeId>,
    hosts: BTreeMap<Ipv4Addr, NodeId>,
    /// Each program's host, and its place there.
    programs: Vec<(NodeId, u32)>,
    /// Where programs without a host are.
    agents: Option<NodeId>,
    prepared: bool,
    /// Changes to come, by number, and the numbers that are free.
    changes: Vec<Option<Change>>,
    free_changes: Vec<u32>,
    series: Series,
    sample_interval: Option<Nanos>,
    /// Events since time advanced, and how many are too many.
    at_instant: u64,
    storm_limit: Option<u64>,
    events: u64,
    packet_hops: u64,
    // Reused between events.
    effects: Vec<Effect>,
    output: Output,
    queued: Queued,
    desks: Vec<Desk>,
    found: Vec<AppId>,
}

impl Network {
    pub fn now(&self) -> Nanos {
        self.now
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packets that reached a node so far, each at each node.
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// The events that one instant may hold before the run is given up.
    pub fn set_storm_limit(&mut self, limit: u64) {
        self.storm_limit = Some(limit);
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    fn channel(&self, link: LinkId, way: Way) -> &Channel {
        &self.channels[channel_index(link, way)]
    }

    fn channel_name(&self, channel: &Channel) -> (&str, &str) {
        let name = |end: End| self.nodes[end.node as usize].name.as_str();
        (name(channel.from), name(channel.to))
    }
}

fn channel_index(link: LinkId, way: Way) -> usize {
    link.0 as usize * 2 + usize::from(way == Way::Back)
}
