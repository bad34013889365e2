//! What can be read of a network at any time, and its time series.

use std::net::Ipv4Addr;

use link::Stats;

use super::{AppId, BuildError, Kind, LinkId, Network, NodeId, Way};
use crate::app::App;
use crate::channel::End;
use crate::event::{Class, Event, Rank, What};
use crate::host::{HostCounts, HostDrops, Program};
use crate::p4::P4Counts;
use crate::router::RouterDrops;
use crate::time::Nanos;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkReport<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub stats: &'a Stats,
    pub queue_packets: u64,
    pub queue_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReport {
    Router(RouterDrops),
    Switch(P4Counts),
    Host(HostCounts, HostDrops),
}

impl Network {
    pub fn links(&self) -> u32 {
        (self.channels.len() / 2) as u32
    }

    pub fn programs(&self) -> u32 {
        self.programs.len() as u32
    }

    pub fn host_address(&self, host: NodeId) -> Result<Ipv4Addr, BuildError> {
        match &self.kinds[host.0 as usize] {
            Kind::Host(host) => Ok(host.address),
            _ => Err(BuildError::NotAHost(self.name(host).to_owned())),
        }
    }

    pub fn link_report(&self, link: LinkId, way: Way) -> LinkReport<'_> {
        let channel = self.channel(link, way);
        let (from, to) = self.channel_name(channel);
        LinkReport {
            from,
            to,
            stats: channel.link.stats(),
            queue_packets: channel.link.queue_packets(),
            queue_bytes: channel.link.queue_bytes(),
        }
    }

    pub fn node_report(&self, node: NodeId) -> NodeReport {
        match &self.kinds[node.0 as usize] {
            Kind::Router(router) => NodeReport::Router(router.drops),
            Kind::Switch(p4) => NodeReport::Switch(p4.counts()),
            Kind::Host(host) => NodeReport::Host(host.counts, host.drops),
        }
    }

    /// All programs, in no order of importance.
    pub fn apps(&self) -> impl Iterator<Item = &dyn App> {
        let hosts = self.kinds.iter().filter_map(|kind| match kind {
            Kind::Host(host) => Some(host),
            _ => None,
        });
        hosts.flat_map(|host| host.programs.iter().map(|program| &*program.app as &dyn App))
    }

    /// What a program counts and measures.
    pub fn app_sample(&self, id: AppId) -> Vec<(&'static str, f64)> {
        self.program(id).map(|(_, program)| program.app.sample()).unwrap_or_default()
    }

    /// One value of a program's sample.
    pub fn app_value(&self, id: AppId, name: &str) -> Option<f64> {
        self.app_sample(id).into_iter().find(|&(other, _)| other == name).map(|(_, value)| value)
    }

    /// Writes the state of all links and programs into the time series, now and at each interval.
    pub fn sample_every(&mut self, interval: Nanos) {
        let is_running = self.sample_interval.replace(interval.max(1)).is_some();
        if !is_running {
            self.schedule_sample(self.now);
        }
    }

    /// Takes what the time series hold: JSON lines.
    pub fn take_series(&mut self) -> Vec<u8> {
        self.series.take()
    }

    fn schedule_sample(&mut self, time: Nanos) {
        let number = self.next_number();
        self.agenda.push(Event { time, rank: Rank::new(Class::Timer, number), what: What::Sample });
    }

    pub(super) fn sample(&mut self) {
        let Some(interval) = self.sample_interval else { return };
        for channel in &self.channels {
            let name = |end: End| self.nodes[end.node as usize].name.as_str();
            let stats = channel.link.stats();
            let mut row = self.series.row(self.now, "link");
            row.text("from", name(channel.from));
            row.text("to", name(channel.to));
            row.number("queue_packets", channel.link.queue_packets() as f64);
            row.number("queue_bytes", channel.link.queue_bytes() as f64);
            row.number("sent_packets", stats.sent_packets as f64);
            row.number("sent_bytes", stats.sent_bytes as f64);
            row.number("dropped_packets", stats.dropped_total() as f64);
        }
        (0..self.programs.len()).for_each(|program| self.sample_app(AppId(program as u32)));
        self.schedule_sample(self.now + interval);
    }

    /// A program, with its host's name.
    fn program(&self, id: AppId) -> Option<(&str, &Program)> {
        let &(host, index) = self.programs.get(id.0 as usize)?;
        match &self.kinds[host.0 as usize] {
            Kind::Host(on) => on.programs.get(index as usize).map(|program| (self.name(host), program)),
            _ => None,
        }
    }

    pub(super) fn sample_app(&mut self, id: AppId) {
        let Some((host, program)) = self.program(id) else { return };
        let values = program.app.sample();
        if values.is_empty() {
            return;
        }
        let (host, program) = (host.to_owned(), program.name.clone());
        let mut row = self.series.row(self.now, "program");
        row.text("host", &host);
        row.text("program", &program);
        values.into_iter().for_each(|(name, value)| row.number(name, value));
    }
}
