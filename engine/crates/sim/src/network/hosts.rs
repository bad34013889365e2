//! The hosts' part of the loop: packets to and from programs, their timers and effects, membership reports.

use std::net::Ipv4Addr;

use super::{AppId, Kind, Network, NodeId, RunError};
use crate::app::{Context, Effect};
use crate::channel::Cargo;
use crate::event::{Class, Event, Rank, What};
use crate::host::{Host, Program};
use crate::igmp;
use crate::load::Load;
use crate::packet::{Body, Packet};
use crate::time::Nanos;

/// An IPv4 packet's length has 16 bits; the frame adds its header.
const MAX_FRAME: u32 = u16::MAX as u32 + 14;

/// Why a program is called.
#[derive(Clone, Copy)]
pub(super) enum Call<'a> {
    Start,
    Receive(&'a Packet),
    Timer,
    Act(u64),
}

impl Network {
    /// A packet that a host accepted: to its programs, after its processing time if it has one.
    pub(super) fn take(&mut self, node: u32, packet: Packet) -> Result<(), RunError> {
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

    pub(super) fn taken(&mut self, node: u32) -> Result<(), RunError> {
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

    pub(super) fn processed(&mut self, node: u32) {
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

    pub(super) fn report(&mut self, node: u32) {
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

    pub(super) fn wake(&mut self, id: AppId, time: Nanos) -> Result<(), RunError> {
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

    pub(super) fn call(&mut self, id: AppId, call: Call<'_>) -> Result<(), RunError> {
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
