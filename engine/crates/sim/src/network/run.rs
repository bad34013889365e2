//! The loop: takes the next event, moves time to it, does what it says.

use std::net::Ipv4Addr;

use super::{AppId, BuildError, Kind, Network, NodeId, RunError, STORM, STORM_EACH};
use crate::app::{Context, Effect};
use crate::channel::{Cargo, End};
use crate::event::{Class, Event, Rank, What};
use crate::host::{Host, Program};
use crate::igmp;
use crate::packet::{Body, Load, Packet};
use crate::time::Nanos;

/// An IPv4 packet's length has 16 bits; the frame adds its header.
const MAX_FRAME: u32 = u16::MAX as u32 + 14;

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

    /// When the next event is due.
    pub fn next_event_at(&self) -> Option<Nanos> {
        self.agenda.peek().map(|event| event.time)
    }

    /// Hands a frame to a switch's ingress, as if it had arrived at `port` (a packet-out: the CPU port).
    pub fn inject(&mut self, switch: NodeId, port: u16, frame: &[u8]) -> Result<(), RunError> {
        self.prepare()?;
        match self.packet_out(switch, port, frame) {
            true => Ok(()),
            false => Err(BuildError::NotASwitch(self.name(switch).to_owned()).into()),
        }
    }

    fn packet_out(&mut self, switch: NodeId, port: u16, frame: &[u8]) -> bool {
        let mut queued = std::mem::take(&mut self.queued);
        let Some(Kind::Switch(p4)) = self.kinds.get_mut(switch.0 as usize) else { return false };
        p4.ingress(self.now, u32::from(port), frame, &mut queued);
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
        if self.at_instant > STORM {
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
            Some(Cargo::Load(load)) => self.receive(channel_index, from, to, load),
            // A copy becomes a frame before it is under way.
            Some(Cargo::Copy(..)) | None => Ok(()),
        }
    }

    fn receive(&mut self, channel: u32, from: End, to: End, load: Load) -> Result<(), RunError> {
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
                self.receive_at_switch(from, to, &load);
                Ok(())
            }
            Kind::Host(host) => match host.accept(load) {
                Some(packet) => self.take(to.node, packet),
                None => Ok(()),
            },
        }
    }

    fn receive_at_switch(&mut self, from: End, to: End, load: &Load) {
        let source = self.nodes[from.node as usize].mac;
        let mut queued = std::mem::take(&mut self.queued);
        if let Kind::Switch(p4) = &mut self.kinds[to.node as usize] {
            p4.receive(self.now, to.port, load, source, &mut queued);
        }
        self.enqueue(to.node, queued);
    }

    /// Hands a packet to a channel's queue.
    fn offer(&mut self, channel: u32, cargo: Cargo) {
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
                (_, Kind::Switch(p4)) => p4.counts.no_link += 1,
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
            p4.depart(self.now, channel, &mut queued);
            self.enqueue(node, queued);
        }
        let channel = &mut self.channels[index as usize];
        let next = [channel.next_arrival(), channel.next_departure()];
        next.into_iter().flatten().for_each(|event| self.agenda.push(event));
    }

    // Hosts.

    /// A packet that a host accepted: to its programs, after its processing time if it has one.
    fn take(&mut self, node: u32, packet: Packet) -> Result<(), RunError> {
        let number = self.next_number();
        let now = self.now;
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return Ok(()) };
        match &mut host.incoming {
            None => self.hand_over(node, packet),
            Some(incoming) => {
                if incoming.push(now, number, packet) {
                    let next = incoming.next();
                    self.schedule(next, Class::Arrival, What::Taken(node));
                }
                Ok(())
            }
        }
    }

    fn taken(&mut self, node: u32) -> Result<(), RunError> {
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return Ok(()) };
        let Some(incoming) = &mut host.incoming else { return Ok(()) };
        let packet = incoming.pop();
        let next = incoming.next();
        self.schedule(next, Class::Arrival, What::Taken(node));
        packet.map_or(Ok(()), |packet| self.hand_over(node, packet))
    }

    fn hand_over(&mut self, node: u32, packet: Packet) -> Result<(), RunError> {
        let now = self.now;
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return Ok(()) };
        if let Body::Igmp(message) = &packet.body {
            if let igmp::Message::Query { max_response, .. } = **message {
                host.hear_query(max_response, now);
                self.schedule_reports(node);
            }
            return Ok(());
        }
        let mut found = std::mem::take(&mut self.found);
        host.find_programs(&packet, &mut found);
        for program in found.drain(..) {
            self.call(program, Call::Receive(&packet))?;
        }
        self.found = found;
        Ok(())
    }

    /// Sends what a program wants sent, after the host's processing time if it has one.
    fn send(&mut self, node: u32, packet: Packet) {
        let known = packet.destination.is_multicast() || self.hosts.contains_key(&packet.destination);
        let number = self.next_number();
        let now = self.now;
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return };
        if packet.len > MAX_FRAME {
            host.drops.oversize += 1;
            return;
        }
        if !known {
            host.drops.no_such_host += 1;
            return;
        }
        match &mut host.outgoing {
            None => self.emit(node, packet),
            Some(outgoing) => {
                if outgoing.push(now, number, packet) {
                    let next = outgoing.next();
                    self.schedule(next, Class::Arrival, What::Processed(node));
                }
            }
        }
    }

    fn processed(&mut self, node: u32) {
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return };
        let Some(outgoing) = &mut host.outgoing else { return };
        let packet = outgoing.pop();
        let next = outgoing.next();
        self.schedule(next, Class::Arrival, What::Processed(node));
        if let Some(packet) = packet {
            self.emit(node, packet);
        }
    }

    fn emit(&mut self, node: u32, packet: Packet) {
        if let Kind::Host(host) = &mut self.kinds[node as usize] {
            host.counts.sent_packets += 1;
            host.counts.sent_bytes += u64::from(packet.len);
        }
        if let Some(&Some(channel)) = self.nodes[node as usize].ports.first() {
            self.offer(channel, Cargo::Load(Load::Packet(packet)));
        }
    }

    fn schedule(&mut self, next: Option<(Nanos, u64)>, class: Class, what: What) {
        if let Some((time, number)) = next {
            self.agenda.push(Event { time, rank: Rank::new(class, number), what });
        }
    }

    fn report(&mut self, node: u32) {
        let now = self.now;
        while let Kind::Host(host) = &mut self.kinds[node as usize] {
            if host.report_at().is_none_or(|at| at > now) {
                break;
            }
            if let Some(report) = host.due_report() {
                self.emit(node, report);
            }
        }
        self.schedule_reports(node);
    }

    /// Reports are few: one event too many does no harm, so none is looked for.
    fn schedule_reports(&mut self, node: u32) {
        let number = self.next_number();
        let Kind::Host(host) = &self.kinds[node as usize] else { return };
        let next = host.report_at().map(|time| (time, number));
        self.schedule(next, Class::Timer, What::Report(node));
    }

    // Programs.

    fn wake(&mut self, id: AppId, time: Nanos) -> Result<(), RunError> {
        let Some((_, program)) = self.living(id) else { return Ok(()) };
        if program.wake_at != Some(time) {
            return Ok(()); // an earlier one took its place
        }
        program.wake_at = None;
        if program.app.wake_at().is_some_and(|due| due <= time) {
            return self.call(id, Call::Timer);
        }
        self.arm(id);
        Ok(())
    }

    /// Puts a program's timer on the agenda, unless an event that is there comes early enough to look again.
    fn arm(&mut self, id: AppId) {
        let now = self.now;
        let Some((_, program)) = self.living(id) else { return };
        let Some(due) = program.app.wake_at().map(|due| due.max(now)) else { return };
        if program.wake_at.is_none_or(|scheduled| due < scheduled) {
            program.wake_at = Some(due);
            let number = self.next_number();
            self.schedule(Some((due, number)), Class::Timer, What::Wake(id.0));
        }
    }

    /// A program that has not been killed, with its host's address.
    fn living(&mut self, id: AppId) -> Option<(Ipv4Addr, &mut Program)> {
        let &(host, index) = self.programs.get(id.0 as usize)?;
        let Kind::Host(host) = &mut self.kinds[host.0 as usize] else { return None };
        let program = host.programs.get_mut(index as usize).filter(|program| !program.is_dead)?;
        Some((host.address, program))
    }

    pub(super) fn act(&mut self, id: AppId, number: u64) -> Result<(), RunError> {
        self.call(id, Call::Act(number))
    }

    fn call(&mut self, id: AppId, call: Call<'_>) -> Result<(), RunError> {
        let mut effects = std::mem::take(&mut self.effects);
        let now = self.now;
        if let Some((address, program)) = self.living(id) {
            let mut context = Context { now, address, effects: &mut effects };
            let result = match call {
                Call::Start => program.app.start(&mut context),
                Call::Receive(packet) => program.app.receive(packet, &mut context),
                Call::Timer => program.app.handle_timer(&mut context),
                Call::Act(number) => program.app.act(number, &mut context),
            };
            if let Err(error) = result {
                let program = program.name.clone();
                let host = self.name(self.programs[id.0 as usize].0).to_owned();
                return Err(RunError::App { host, program, error });
            }
        }
        for effect in effects.drain(..) {
            self.carry_out_effect(id, effect);
        }
        self.effects = effects;
        self.arm(id);
        Ok(())
    }

    fn carry_out_effect(&mut self, id: AppId, effect: Effect) {
        let (NodeId(node), index) = self.programs[id.0 as usize];
        let now = self.now;
        match effect {
            Effect::Send(packet) => self.send(node, packet),
            Effect::Sample => self.sample_app(id),
            Effect::PacketOut(switch, port, frame) => {
                self.packet_out(switch, port, &frame);
            }
            Effect::Join(wanted, port) => self.report_change(node, |host| host.join(wanted, port, index, now)),
            Effect::Leave(wanted, port) => self.report_change(node, |host| host.leave(wanted, port, index, now)),
        }
    }

    /// Changes a host's memberships and sends the report of it, if it is due.
    fn report_change(&mut self, node: u32, change: impl FnOnce(&mut Host) -> Option<Packet>) {
        let Kind::Host(host) = &mut self.kinds[node as usize] else { return };
        if let Some(report) = change(host) {
            self.emit(node, report);
            self.schedule_reports(node);
        }
    }
}

/// The other channel of a channel's link.
fn reverse(channel: u32) -> u32 {
    channel ^ 1
}

#[derive(Clone, Copy)]
enum Call<'a> {
    Start,
    Receive(&'a Packet),
    Timer,
    Act(u64),
}
