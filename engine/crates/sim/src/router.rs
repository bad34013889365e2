//! A plain multicast router with any number of ports: unicast by host routes, groups by joins, in the packet's own path.
//!
//! Joins have the meaning that they have in the P4 program: they take effect at once, go upstream with the first member,
//! and leaves go with the last. State lasts until it is left, for there is nothing here that loses it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::frame;
use crate::igmp::{self, Change, Subscription};
use crate::load::Load;
use crate::packet::{Body, Packet};

/// Packets on their way out: port, packet. The network names a router's port by the channel that leaves there.
pub type Output = Vec<(u32, Packet)>;

/// Packets that went no further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterDrops {
    pub ttl_expired: u64,
    /// No route to the destination.
    pub no_route: u64,
    /// Group traffic that came in on another port than the one towards its source.
    pub wrong_port: u64,
    /// Group traffic that nobody wants.
    pub no_members: u64,
    /// Frames from a P4 switch that are no IPv4 packet, or damaged.
    pub bad_frames: u64,
}

#[derive(Debug)]
#[repr(C)] // what each packet touches comes first, in one cache line
pub struct Router {
    /// The last answer: packets to one destination come in numbers.
    last_route: Option<(Ipv4Addr, u32)>,
    /// Sorted by address; what is not in it goes to `default_port`.
    routes: Vec<(Ipv4Addr, u32)>,
    default_port: Option<u32>,
    /// Sent along in membership reports of the router's own.
    address: Ipv4Addr,
    /// Ports on the spanning tree that lead to other routers: any-source joins travel there.
    tree_ports: Vec<u32>,
    /// Ports that lead to hosts, sorted: joins do not go there.
    host_ports: Vec<u32>,
    /// Ports with members, sorted.
    members: BTreeMap<Subscription, Vec<u32>>,
    pub drops: RouterDrops,
}

impl Router {
    pub fn new(address: Ipv4Addr) -> Self {
        Self {
            address,
            routes: Vec::new(),
            last_route: None,
            default_port: None,
            tree_ports: Vec::new(),
            host_ports: Vec::new(),
            members: BTreeMap::new(),
            drops: RouterDrops::default(),
        }
    }

    /// Sets unicast routes. The commonest next hop becomes the default, which keeps a leaf's table small.
    pub fn set_routes(&mut self, mut routes: Vec<(Ipv4Addr, u32)>) {
        let mut uses: BTreeMap<u32, usize> = BTreeMap::new();
        routes.iter().for_each(|(_, port)| *uses.entry(*port).or_default() += 1);
        // Of equally common ones, the first port.
        self.default_port = uses.iter().max_by_key(|(port, count)| (**count, u32::MAX - **port)).map(|(port, _)| *port);
        routes.retain(|(_, port)| Some(*port) != self.default_port);
        routes.sort_unstable();
        self.routes = routes;
        self.last_route = None;
    }

    pub fn set_tree(&mut self, tree_ports: Vec<u32>, mut host_ports: Vec<u32>) {
        host_ports.sort_unstable();
        self.tree_ports = tree_ports;
        self.host_ports = host_ports;
    }

    /// The port towards a host.
    pub fn route(&self, destination: Ipv4Addr) -> Option<u32> {
        match self.routes.binary_search_by_key(&destination, |&(address, _)| address) {
            Ok(at) => Some(self.routes[at].1),
            Err(_) => self.default_port,
        }
    }

    /// Ports with members of a subscription.
    pub fn members(&self, wanted: Subscription) -> &[u32] {
        self.members.get(&wanted).map_or(&[], Vec::as_slice)
    }

    /// Takes what arrived at `port` and pushes what leaves.
    pub fn receive(&mut self, port: u32, load: Load, out: &mut Output) {
        let packet = match load {
            Load::Packet(packet) => Ok(packet),
            Load::Frame(octets) => frame::decode(&octets),
        };
        let Ok(mut packet) = packet else {
            self.drops.bad_frames += 1;
            return;
        };
        if let Body::Igmp(message) = &packet.body {
            let message = Arc::clone(message);
            return self.receive_igmp(port, &message, out);
        }
        if packet.ttl <= 1 {
            self.drops.ttl_expired += 1;
            return;
        }
        packet.ttl -= 1;
        if packet.destination.is_multicast() {
            return self.replicate(port, packet, out);
        }
        let last = self.last_route.filter(|&(destination, _)| destination == packet.destination);
        match last.map(|(_, port)| port).or_else(|| self.route(packet.destination)) {
            Some(next) => {
                self.last_route = Some((packet.destination, next));
                out.push((next, packet));
            }
            None => self.drops.no_route += 1,
        }
    }

    /// One copy for each port with members, but not back where the packet came from.
    fn replicate(&mut self, port: u32, packet: Packet, out: &mut Output) {
        if self.route(packet.source) != Some(port) {
            self.drops.wrong_port += 1;
            return;
        }
        let from_source = self.members((packet.destination, Some(packet.source)));
        let from_any = self.members((packet.destination, None));
        let before = out.len();
        let copies = from_source.iter().chain(from_any.iter().filter(|port| from_source.binary_search(port).is_err()));
        out.extend(copies.filter(|&&to| to != port).map(|&to| (to, packet.clone())));
        if !from_source.is_empty() && !from_any.is_empty() {
            out[before..].sort_unstable_by_key(|&(to, _)| to);
        }
        if out.len() == before {
            self.drops.no_members += 1;
        }
    }

    fn receive_igmp(&mut self, port: u32, message: &igmp::Message, out: &mut Output) {
        if let igmp::Message::Query { group, .. } = message {
            return self.answer_query(port, *group, out);
        }
        for change in message.changes() {
            self.change(port, change, out);
        }
    }

    /// Changes the members at `port` and passes on what concerns others.
    pub fn change(&mut self, port: u32, change: Change, out: &mut Output) {
        let (Change::Join(wanted) | Change::Leave(wanted)) = change;
        let is_join = matches!(change, Change::Join(_));
        let members = self.members.entry(wanted).or_default();
        let was_member = match (members.binary_search(&port), is_join) {
            (Ok(_), true) => true,
            (Err(at), true) => {
                members.insert(at, port);
                false
            }
            (Ok(at), false) => {
                members.remove(at);
                true
            }
            (Err(_), false) => {
                if members.is_empty() {
                    self.members.remove(&wanted);
                }
                return;
            }
        };
        // The members without this port: before a join, or after a leave. A join that only repeats is passed on alike,
        // for a P4 switch upstream may have to be reminded.
        let others: Vec<u32> = members.iter().copied().filter(|&member| member != port).collect();
        if members.is_empty() {
            self.members.remove(&wanted);
        }
        let concerned = |up: &u32| match others.as_slice() {
            [] => *up != port,
            // The only other member heard nothing from itself; now it must hear of this port.
            [other] => up == other && (!was_member || !is_join),
            _ => false,
        };
        let ups: Vec<u32> = self.upstream(wanted).into_iter().filter(concerned).collect();
        out.extend(ups.into_iter().map(|up| (up, self.message(change.report()))));
    }

    /// A switch upstream asks: tell it what is wanted below, other than by itself.
    fn answer_query(&self, port: u32, group: Ipv4Addr, out: &mut Output) {
        for (&wanted, members) in &self.members {
            let asked = group.is_unspecified() || wanted.0 == group;
            let below = members.iter().any(|&member| member != port);
            if asked && below && self.upstream(wanted).contains(&port) {
                out.push((port, self.message(Change::Join(wanted).report())));
            }
        }
    }

    fn upstream(&self, (_, source): Subscription) -> Vec<u32> {
        let is_host = |port: &u32| self.host_ports.binary_search(port).is_ok();
        match source {
            None => self.tree_ports.clone(),
            Some(source) => self.route(source).into_iter().filter(|port| !is_host(port)).collect(),
        }
    }

    fn message(&self, message: igmp::Message) -> Packet {
        Packet::new(self.address, igmp::REPORT_ADDRESS, Body::Igmp(Arc::new(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
    const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const SSM: Subscription = (GROUP, Some(SOURCE));
    const ASM: Subscription = (GROUP, None);

    /// Port 0 leads to the source by another router, 1 and 2 to hosts, 3 to one more router.
    fn router() -> Router {
        let mut router = Router::new(Ipv4Addr::new(10, 9, 9, 9));
        let host = |last| Ipv4Addr::new(10, 0, 1, last);
        router.set_routes(vec![(SOURCE, 0), (host(1), 1), (host(2), 2), (host(3), 3)]);
        router.set_tree(vec![0, 3], vec![1, 2]);
        router
    }

    fn sent(router: &mut Router, port: u32, change: Change) -> Vec<(u32, Change)> {
        let mut out = Vec::new();
        router.change(port, change, &mut out);
        out.into_iter()
            .flat_map(|(port, packet)| match packet.body {
                Body::Igmp(message) => message.changes().into_iter().map(move |change| (port, change)).collect(),
                _ => vec![],
            })
            .collect()
    }

    fn copies(router: &mut Router, port: u32, source: Ipv4Addr) -> Vec<u32> {
        let mut out = Vec::new();
        router.receive(port, Load::Packet(Packet::udp((source, 1), (GROUP, 2), vec![0].into())), &mut out);
        out.iter().map(|&(port, _)| port).collect()
    }

    #[test]
    fn first_joins_and_last_leaves_go_towards_the_source() {
        let mut router = router();
        assert_eq!(copies(&mut router, 0, SOURCE), [0; 0]);
        assert_eq!(sent(&mut router, 1, Change::Join(SSM)), [(0, Change::Join(SSM))]);
        assert_eq!(copies(&mut router, 0, SOURCE), [1]);
        assert_eq!(sent(&mut router, 3, Change::Join(SSM)), []);
        assert_eq!(copies(&mut router, 0, SOURCE), [1, 3]);
        assert_eq!(sent(&mut router, 1, Change::Leave(SSM)), []);
        assert_eq!(sent(&mut router, 1, Change::Leave(SSM)), []);
        assert_eq!(sent(&mut router, 3, Change::Leave(SSM)), [(0, Change::Leave(SSM))]);
        assert_eq!(copies(&mut router, 0, SOURCE), [0; 0]);
        assert_eq!(router.drops.no_members, 2);
    }

    #[test]
    fn any_source_joins_reach_every_other_router_once() {
        let mut router = router();
        assert_eq!(sent(&mut router, 1, Change::Join(ASM)), [(0, Change::Join(ASM)), (3, Change::Join(ASM))]);
        assert_eq!(sent(&mut router, 2, Change::Join(ASM)), []);
        let mut router = self::router();
        assert_eq!(sent(&mut router, 3, Change::Join(ASM)), [(0, Change::Join(ASM))]);
        // The router at port 3 has joined for itself only: it must hear of port 1.
        assert_eq!(sent(&mut router, 1, Change::Join(ASM)), [(3, Change::Join(ASM))]);
        assert_eq!(sent(&mut router, 1, Change::Leave(ASM)), [(3, Change::Leave(ASM))]);
        assert_eq!(sent(&mut router, 3, Change::Leave(ASM)), [(0, Change::Leave(ASM))]);
    }

    #[test]
    fn a_port_that_wants_both_gets_one_copy() {
        let mut router = router();
        for (port, wanted) in [(3, SSM), (1, ASM), (3, ASM), (2, SSM)] {
            router.change(port, Change::Join(wanted), &mut Vec::new());
        }
        assert_eq!(copies(&mut router, 0, SOURCE), [1, 2, 3]);
        // From elsewhere only the any-source members get it, and never the port it came from.
        assert_eq!(copies(&mut router, 3, Ipv4Addr::new(10, 0, 1, 3)), [1]);
        assert_eq!(copies(&mut router, 1, SOURCE), [0; 0]);
        assert_eq!(router.drops.wrong_port, 1);
    }

    #[test]
    fn unicast_follows_routes_and_loses_a_hop() {
        let mut router = router();
        let mut out = Vec::new();
        let mut packet = Packet::udp((SOURCE, 1), (Ipv4Addr::new(10, 0, 1, 2), 2), vec![0].into());
        router.receive(0, Load::Packet(packet.clone()), &mut out);
        assert_eq!((out[0].0, out[0].1.ttl), (2, packet.ttl - 1));
        packet.ttl = 1;
        router.receive(0, Load::Packet(packet), &mut out);
        assert_eq!((out.len(), router.drops.ttl_expired), (1, 1));
    }

    #[test]
    fn a_query_is_answered_for_what_lies_below() {
        let mut router = router();
        router.change(1, Change::Join(SSM), &mut Vec::new());
        router.change(0, Change::Join(ASM), &mut Vec::new());
        let mut out = Vec::new();
        router.answer_query(0, Ipv4Addr::UNSPECIFIED, &mut out);
        assert_eq!(out.len(), 1);
    }
}
