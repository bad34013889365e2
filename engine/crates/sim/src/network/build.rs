//! Describing a network: nodes, links, programs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use link::random::{derive, Stream};
use link::{Link, LinkConfig};

use super::{AppId, BuildError, Kind, LinkId, Network, Node, NodeId};
use crate::app::{App, Protocol};
use crate::channel::{Channel, End};
use crate::event::{Agenda, Class, Event, Rank, What};
use crate::frame::Mac;
use crate::host::{Host, Program};
use crate::p4::{P4Node, SwitchHandle};
use crate::processor::{ProcessingTime, Processor};
use crate::router::Router;
use crate::series::Series;
use crate::time::Nanos;

impl Network {
    /// An empty network whose random choices follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            now: 0,
            agenda: Agenda::default(),
            number: 0,
            nodes: Vec::new(),
            kinds: Vec::new(),
            channels: Vec::new(),
            names: BTreeMap::new(),
            hosts: BTreeMap::new(),
            programs: Vec::new(),
            agents: None,
            prepared: false,
            changes: Vec::new(),
            free_changes: Vec::new(),
            series: Series::default(),
            sample_interval: None,
            at_instant: 0,
            storm_limit: None,
            events: 0,
            packet_hops: 0,
            effects: Vec::new(),
            output: Vec::new(),
            queued: Vec::new(),
            desks: Vec::new(),
            found: Vec::new(),
        }
    }

    /// A random stream of this network's seed, for a program to own.
    pub fn stream(&self, name: &str) -> Stream {
        Stream::new(self.seed, name)
    }

    /// A host. Without `mac` it gets one of its own, as all nodes do: 02:00 and the node's number.
    pub fn add_host(&mut self, name: &str, address: Ipv4Addr, mac: Option<Mac>) -> Result<NodeId, BuildError> {
        if self.hosts.contains_key(&address) {
            return Err(BuildError::DuplicateAddress(name.to_owned(), address));
        }
        let mac = mac.unwrap_or_else(|| self.default_mac());
        let host = Host::new(address, mac, self.stream(&format!("igmp/{name}")));
        let node = self.add_node(name, mac, Kind::Host(Box::new(host)))?;
        self.hosts.insert(address, node);
        Ok(node)
    }

    /// A plain multicast router. Its address is only what its own membership reports carry.
    pub fn add_router(&mut self, name: &str, address: Ipv4Addr) -> Result<NodeId, BuildError> {
        let mac = self.default_mac();
        self.add_node(name, mac, Kind::Router(Box::new(Router::new(address))))
    }

    /// A P4 switch. Whoever else holds it controls it.
    pub fn add_switch(
        &mut self,
        name: &str,
        switch: Arc<dyn SwitchHandle>,
        mac: Option<Mac>,
    ) -> Result<NodeId, BuildError> {
        let mac = mac.unwrap_or_else(|| self.default_mac());
        let node = P4Node::new(switch, mac, &mut self.desks);
        self.add_node(name, mac, Kind::Switch(Box::new(node)))
    }

    /// A link between a port of `a` and one of `b` (by default the first free one, from 1 on a switch, from 0
    /// elsewhere), with its parameters from `a` to `b` and back.
    pub fn connect(
        &mut self,
        a: (NodeId, Option<u32>),
        b: (NodeId, Option<u32>),
        forth: LinkConfig,
        back: LinkConfig,
    ) -> Result<LinkId, BuildError> {
        self.connect_seeded(a, b, (forth, None), (back, None))
    }

    /// As `connect`, with seeds for the directions' random choices that do not follow from the network's.
    pub fn connect_seeded(
        &mut self,
        (a, a_port): (NodeId, Option<u32>),
        (b, b_port): (NodeId, Option<u32>),
        forth: (LinkConfig, Option<u64>),
        back: (LinkConfig, Option<u64>),
    ) -> Result<LinkId, BuildError> {
        if self.prepared {
            return Err(BuildError::Running);
        }
        let link = LinkId((self.channels.len() / 2) as u32);
        let a = End { node: a.0, port: self.free_port(a, a_port)? };
        self.use_port(a, link.0 * 2);
        let b = End { node: b.0, port: self.free_port(NodeId(b.0), b_port)? };
        self.use_port(b, link.0 * 2 + 1);
        self.add_channel(a, b, forth)?;
        self.add_channel(b, a, back)?;
        Ok(link)
    }

    fn add_channel(&mut self, from: End, to: End, (config, seed): (LinkConfig, Option<u64>)) -> Result<(), BuildError> {
        let index = self.channels.len() as u32;
        let (node, peer) = (&self.nodes[from.node as usize], &self.nodes[to.node as usize]);
        let stream = format!("link/{}:{}/{}:{}", node.name, from.port, peer.name, to.port);
        let seed = seed.unwrap_or_else(|| derive(self.seed, &stream));
        let link =
            Link::new(config, seed).map_err(|error| BuildError::Link(node.name.clone(), peer.name.clone(), error))?;
        let eager = matches!(self.kinds[from.node as usize], Kind::Switch(_));
        self.channels.push(Channel::new(index, from, to, link, eager));
        Ok(())
    }

    /// Gives a host times that each packet takes on its way out or in; `None` leaves one as it is.
    pub fn set_processing(
        &mut self,
        host: NodeId,
        outgoing: Option<ProcessingTime>,
        incoming: Option<ProcessingTime>,
    ) -> Result<(), BuildError> {
        let name = self.name(host).to_owned();
        let processor =
            |time: ProcessingTime, way| Processor::new(time, self.stream(&format!("processing/{way}/{name}")));
        let (outgoing, incoming) =
            (outgoing.map(|time| processor(time, "out")), incoming.map(|time| processor(time, "in")));
        let host = self.host_mut(host)?;
        host.outgoing = outgoing.or(host.outgoing.take());
        host.incoming = incoming.or(host.incoming.take());
        Ok(())
    }

    /// Puts a program on a host: it owns `ports` and starts at `start_at` (or now, if that has passed).
    pub fn add_app(
        &mut self,
        host: NodeId,
        name: &str,
        app: Box<dyn App>,
        ports: &[(Protocol, u16)],
        start_at: Nanos,
    ) -> Result<AppId, BuildError> {
        let host_name = self.name(host).to_owned();
        let to_bind = self.host_mut(host)?;
        let index = to_bind.programs.len() as u32;
        for &(protocol, port) in ports {
            if !to_bind.bind(protocol, port, index) {
                return Err(BuildError::PortTaken(host_name, port));
            }
        }
        Ok(self.add_program(host, name, app, start_at))
    }

    /// A program that belongs to no host and has no link: a control plane. It acts on time alone.
    pub fn add_agent(&mut self, name: &str, app: Box<dyn App>, start_at: Nanos) -> AppId {
        let host = *self.agents.get_or_insert_with(|| {
            let stream = Stream::new(self.seed, "agents");
            let node = NodeId(self.nodes.len() as u32);
            self.nodes.push(Node { name: "control plane".to_owned(), mac: [0; 6], ports: Vec::new() });
            self.kinds.push(Kind::Host(Box::new(Host::new(Ipv4Addr::UNSPECIFIED, [0; 6], stream))));
            node
        });
        self.add_program(host, name, app, start_at)
    }

    fn add_program(&mut self, host: NodeId, name: &str, app: Box<dyn App>, start_at: Nanos) -> AppId {
        let id = AppId(self.programs.len() as u32);
        if let Kind::Host(on) = &mut self.kinds[host.0 as usize] {
            self.programs.push((host, on.programs.len() as u32));
            on.programs.push(Program { id, app, name: name.to_owned(), wake_at: None, is_dead: false });
        }
        let rank = Rank::new(Class::Timer, self.next_number());
        self.agenda.push(Event { time: start_at.max(self.now), rank, what: What::Start(id.0) });
        id
    }

    fn add_node(&mut self, name: &str, mac: Mac, kind: Kind) -> Result<NodeId, BuildError> {
        if self.prepared {
            return Err(BuildError::Running);
        }
        if self.names.contains_key(name) {
            return Err(BuildError::DuplicateName(name.to_owned()));
        }
        let node = NodeId(self.nodes.len() as u32);
        self.names.insert(name.to_owned(), node);
        self.nodes.push(Node { name: name.to_owned(), mac, ports: Vec::new() });
        self.kinds.push(kind);
        Ok(node)
    }

    /// A locally administered address from the number that the next node will have.
    fn default_mac(&self) -> Mac {
        let [a, b, c, d] = (self.nodes.len() as u32).to_be_bytes();
        [0x02, 0x00, a, b, c, d]
    }

    fn free_port(&self, node: NodeId, wanted: Option<u32>) -> Result<u32, BuildError> {
        let (node, kind) = (&self.nodes[node.0 as usize], &self.kinds[node.0 as usize]);
        let is_free = |port: &u32| node.ports.get(*port as usize).is_none_or(Option::is_none);
        if matches!(kind, Kind::Host(_)) && !is_free(&0) {
            return Err(BuildError::HostPort(node.name.clone()));
        }
        let first = u32::from(matches!(kind, Kind::Switch(_)));
        match wanted {
            _ if matches!(kind, Kind::Host(_)) => Ok(0),
            Some(port) if is_free(&port) => Ok(port),
            Some(port) => Err(BuildError::PortInUse(node.name.clone(), port)),
            None => Ok((first..).find(is_free).unwrap_or(first)),
        }
    }

    fn use_port(&mut self, end: End, channel: u32) {
        let ports = &mut self.nodes[end.node as usize].ports;
        ports.resize(ports.len().max(end.port as usize + 1), None);
        ports[end.port as usize] = Some(channel);
    }

    pub(super) fn host_mut(&mut self, node: NodeId) -> Result<&mut Host, BuildError> {
        match &mut self.kinds[node.0 as usize] {
            Kind::Host(host) => Ok(host),
            _ => Err(BuildError::NotAHost(self.nodes[node.0 as usize].name.clone())),
        }
    }
}
