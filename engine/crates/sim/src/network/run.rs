//! The loop: takes the next event, moves time to it, does what it says.

use super::hosts::Call;
use super::{AppId, BuildError, Kind, Network, NodeId, RunError, STORM, STORM_EACH};
use crate::channel::{Cargo, End};
use crate::event::{Event, What};
use crate::load::Load;
use crate::p4::Exits;
use crate::time::Nanos;

impl Network {
    /// Runs all events up to `until`, which is the time then.
    pub fn run(&mut self, until: Nanos) -> Result<(), RunError> {
        while !self.run_some(until, u64::MAX)? {}
        Ok(())
    }

    /// Runs at most `max_events` events up to `until`; true when none is left before that.
    pub fn run_some(&mut self, until: Nanos, max_events: u64) -> Result<bool, RunError> {
        self.prepare()?;
        for _ in 0..max_events {
            match self.agenda.peek().copied().filter(|event| event.time <= until) {
                Some(event) => self.step(event)?,
                None => {
                    self.now = self.now.max(until);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Hands a frame to a switch's ingress, as if it had arrived at `port` (a packet-out: the CPU port).
    pub fn inject(&mut self, switch: NodeId, port: u16, frame: &[u8]) -> Result<(), RunError> {
        self.prepare()?;
        match self.packet_out(switch, port, frame) {
            true => Ok(()),
            false => Err(BuildError::NotASwitch(self.name(switch).to_owned()).into()),
        }
    }

    pub(super) fn packet_out(&mut self, switch: NodeId, port: u16, frame: &[u8]) -> bool {
        let mut queued = std::mem::take(&mut self.queued);
        let Some(Kind::Switch(p4)) = self.kinds.get_mut(switch.0 as usize) else { return false };
        p4.ingress(self.now, u32::from(port), frame, &mut self.desks, &mut queued);
        self.enqueue(switch.0, queued);
        true
    }

    fn step(&mut self, event: Event) -> Result<(), RunError> {
        self.events += 1;
        if event.time > self.now {
            self.now = event.time;
            self.at_instant = 0;
        }
        self.at_instant += 1;
        if self.at_instant > self.storm_limit.unwrap_or(STORM) {
            self.check_storm(&event)?;
        }
        if let What::Arrival(channel) = event.what {
            return self.arrive(channel, event);
        }
        self.agenda.pop();
        match event.what {
            What::Arrival(_) => Ok(()),
            What::Departure(channel) => {
                self.depart(channel, event);
                Ok(())
            }
            What::Start(program) => self.call(AppId(program), Call::Start),
            What::Wake(program) => self.wake(AppId(program), event.time),
            What::Processed(host) => {
                self.processed(host);
                Ok(())
            }
            What::Taken(host) => self.taken(host),
            What::Report(host) => {
                self.report(host);
                Ok(())
            }
            What::Change(change) => self.carry_out(change),
            What::Sample => {
                self.sample();
                Ok(())
            }
        }
    }

    /// The network's size allows many events at one instant; an endless chain of them is an error.
    fn check_storm(&self, event: &Event) -> Result<(), RunError> {
        let by_size = STORM + STORM_EACH * (self.channels.len() + self.programs.len()) as u64;
        if self.at_instant <= self.storm_limit.unwrap_or(by_size) {
            return Ok(());
        }
        let node = match event.what {
            What::Departure(channel) | What::Arrival(channel) => self.channels[channel as usize].to.node,
            What::Processed(host) | What::Taken(host) | What::Report(host) => host,
            What::Start(program) | What::Wake(program) => self.programs[program as usize].0 .0,
            What::Change(_) | What::Sample => 0,
        };
        let node = self.nodes[node as usize].name.clone();
        Err(RunError::EventStorm { node, time: self.now, events: self.at_instant })
    }

    fn arrive(&mut self, channel_index: u32, event: Event) -> Result<(), RunError> {
        let channel = &mut self.channels[channel_index as usize];
        let cargo = channel.arrive(&event);
        let (from, to) = (channel.from, channel.to);
        match channel.next_arrival() {
            Some(next) => self.agenda.replace_first(next),
            None => {
                self.agenda.pop();
                if let Some(departure) = channel.next_departure() {
                    self.agenda.push(departure);
                }
            }
        }
        match cargo {
            Some((Cargo::Load(load), is_twice)) => {
                if is_twice {
                    self.receive(channel_index, (from, to), load.clone(), is_twice)?;
                }
                self.receive(channel_index, (from, to), load, is_twice)
            }
            // A copy becomes a frame before it is under way.
            Some((Cargo::Copy(..), _)) | None => Ok(()),
        }
    }

    fn receive(&mut self, channel: u32, (from, to): (End, End), load: Load, is_twice: bool) -> Result<(), RunError> {
        self.packet_hops += 1;
        match &mut self.kinds[to.node as usize] {
            Kind::Router(router) => {
                let mut output = std::mem::take(&mut self.output);
                router.receive(reverse(channel), load, &mut output);
                for (channel, packet) in output.drain(..) {
                    self.offer(channel, Cargo::Load(Load::Packet(packet)));
                }
                self.output = output;
                Ok(())
            }
            Kind::Switch(_) => {
                self.receive_at_switch(from, to, load, is_twice);
                Ok(())
            }
            Kind::Host(host) => match host.accept(load) {
                Some(packet) => self.take(to.node, packet),
                None => Ok(()),
            },
        }
    }

    fn receive_at_switch(&mut self, from: End, to: End, load: Load, is_twice: bool) {
        let source = self.nodes[from.node as usize].mac;
        let mut queued = std::mem::take(&mut self.queued);
        if let Kind::Switch(p4) = &mut self.kinds[to.node as usize] {
            let frame = p4.frame(load, source);
            // What leaves at once does so before all else, as its departure would: but for what arrives twice, which is
            // at ingress a second time before.
            if is_twice {
                p4.ingress(self.now, to.port, &frame, &mut self.desks, &mut queued);
            } else {
                let ports = &self.nodes[to.node as usize].ports;
                let mut exits = Exits { ports, channels: &mut self.channels, number: &mut self.number };
                if let Some(port) = p4.pass(self.now, to.port, frame, &mut exits, &mut self.desks, &mut queued) {
                    // Its departure counts as an event.
                    self.events += 1;
                    self.at_instant += 1;
                    if let Some(&Some(channel)) = ports.get(usize::from(port)) {
                        if let Some(arrival) = self.channels[channel as usize].next_arrival() {
                            self.agenda.push(arrival);
                        }
                    }
                }
            }
        }
        self.enqueue(to.node, queued);
    }

    /// Hands a packet to a channel's queue.
    pub(super) fn offer(&mut self, channel: u32, cargo: Cargo) {
        self.number += 1;
        let channel = &mut self.channels[channel as usize];
        let taken = channel.offer(self.now, self.number, cargo);
        if let Err(Cargo::Copy(copy, _)) = taken {
            if let Kind::Switch(p4) = &self.kinds[channel.from.node as usize] {
                p4.recycle(copy);
            }
            return;
        }
        if let Some(arrival) = channel.next_arrival() {
            self.agenda.push(arrival);
        }
        if let Some(departure) = channel.next_departure() {
            self.agenda.push(departure);
        }
    }

    /// Hands a switch's copies to their queues, and the list back for the next use.
    fn enqueue(&mut self, node: u32, mut queued: Vec<(u32, Cargo)>) {
        for (port, cargo) in queued.drain(..) {
            match (self.nodes[node as usize].ports.get(port as usize), &mut self.kinds[node as usize]) {
                (Some(&Some(channel)), _) => self.offer(channel, cargo),
                (_, Kind::Switch(p4)) => p4.count_no_link(),
                _ => {}
            }
        }
        self.queued = queued;
    }

    fn depart(&mut self, index: u32, event: Event) {
        let channel = &mut self.channels[index as usize];
        if !channel.takes_departure(&event) {
            return;
        }
        let node = channel.from.node;
        if let Kind::Switch(p4) = &mut self.kinds[node as usize] {
            let mut queued = std::mem::take(&mut self.queued);
            p4.depart(self.now, channel, &mut self.desks, &mut queued);
            self.enqueue(node, queued);
        }
        let channel = &mut self.channels[index as usize];
        let next = [channel.next_arrival(), channel.next_departure()];
        next.into_iter().flatten().for_each(|event| self.agenda.push(event));
    }
}

/// The other channel of a channel's link.
fn reverse(channel: u32) -> u32 {
    channel ^ 1
}
