//! Unicast routes and the any-source spanning tree of plain routers: fewest hops, as ns-2 routes.

use std::collections::VecDeque;

use super::{BuildError, Kind, Network, NodeId};

/// The channels that leave each node, and where each leads.
struct Graph {
    neighbours: Vec<Vec<(u32, usize)>>,
    is_host: Vec<bool>,
}

impl Graph {
    fn new(network: &Network) -> Self {
        let leads = |channel: u32| (channel, network.channels[channel as usize].to.node as usize);
        let neighbours = network.nodes.iter().map(|node| node.ports.iter().copied().flatten().map(leads).collect());
        let is_host = network.kinds.iter().map(|kind| matches!(kind, Kind::Host(_))).collect();
        Self { neighbours: neighbours.collect(), is_host }
    }

    fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// The first node that forwards, or the first of all.
    fn root(&self) -> usize {
        self.is_host.iter().position(|is_host| !is_host).unwrap_or(0)
    }

    /// The channel out of `from` that leads to each node on a path of fewest hops; of several, the one by the lowest
    /// ports.
    fn first_hops(&self, from: usize) -> Vec<Option<u32>> {
        let mut first_hops = vec![None; self.len()];
        let mut frontier = VecDeque::from([from]);
        while let Some(node) = frontier.pop_front() {
            if self.is_host[node] && node != from {
                continue; // hosts do not forward
            }
            for &(channel, peer) in &self.neighbours[node] {
                if peer != from && first_hops[peer].is_none() {
                    first_hops[peer] = if node == from { Some(channel) } else { first_hops[node] };
                    frontier.push_back(peer);
                }
            }
        }
        first_hops
    }

    /// Which links lie on the spanning tree of routers and switches, grown from the first of them.
    fn spanning_tree(&self, links: usize) -> Vec<bool> {
        let mut on_tree = vec![false; links];
        let mut reached = vec![false; self.len()];
        let mut frontier: VecDeque<usize> = self.is_host.iter().position(|is_host| !is_host).into_iter().collect();
        frontier.iter().for_each(|&root| reached[root] = true);
        while let Some(node) = frontier.pop_front() {
            for &(channel, peer) in &self.neighbours[node] {
                if !self.is_host[peer] && !std::mem::replace(&mut reached[peer], true) {
                    on_tree[channel as usize / 2] = true;
                    frontier.push_back(peer);
                }
            }
        }
        on_tree
    }
}

impl Network {
    /// Checks that everything is connected and gives plain routers their routes. Called by the first run.
    pub(super) fn prepare(&mut self) -> Result<(), BuildError> {
        if self.prepared {
            return Ok(());
        }
        let graph = Graph::new(self);
        self.check_connected(&graph)?;
        let on_tree = graph.spanning_tree(self.channels.len() / 2);
        for (node, kind) in self.kinds.iter_mut().enumerate() {
            let Kind::Router(router) = kind else { continue };
            let first_hops = graph.first_hops(node);
            let hop = |host: usize| first_hops[host];
            let routes = self.hosts.iter().filter_map(|(&address, host)| Some((address, hop(host.0 as usize)?)));
            router.set_routes(routes.collect());
            let leads_to_host = |&(_, peer): &(u32, usize)| graph.is_host[peer];
            let (hosts, others): (Vec<_>, Vec<_>) = graph.neighbours[node].iter().copied().partition(leads_to_host);
            let tree = others.into_iter().map(|(channel, _)| channel).filter(|&channel| on_tree[channel as usize / 2]);
            router.set_tree(tree.collect(), hosts.into_iter().map(|(channel, _)| channel).collect());
        }
        self.prepared = true;
        Ok(())
    }

    /// Each node reaches each other one, over nodes that forward.
    fn check_connected(&self, graph: &Graph) -> Result<(), BuildError> {
        if graph.len() == 0 {
            return Ok(());
        }
        let root = graph.root();
        let reached = graph.first_hops(root);
        let is_agents = |node: usize| self.agents == Some(NodeId(node as u32));
        let nodes = graph.len() - usize::from(self.agents.is_some());
        let is_alone = |node: usize| match node == root {
            true => nodes == 1,
            false => reached[node].is_none() && !is_agents(node),
        };
        match (0..graph.len()).find(|&node| is_alone(node)) {
            Some(node) => Err(BuildError::Unconnected(self.nodes[node].name.clone())),
            None => Ok(()),
        }
    }
}
