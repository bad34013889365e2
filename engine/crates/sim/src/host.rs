//! A host: one link, programs on its ports, memberships that it reports as a kernel does.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use link::random::Stream;

use crate::app::{App, Protocol};
use crate::frame::{self, Mac};
use crate::id::AppId;
use crate::igmp::{self, Change, Memberships, Subscription};
use crate::load::Load;
use crate::packet::{Body, Packet};
use crate::processor::Processor;
use crate::time::{Nanos, MILLISECOND, SECOND};

/// Reports of a change are sent once more within this time (RFC 3376, sections 8.1 and 8.11: robustness 2, 1 s).
const REPEAT_WITHIN: Nanos = SECOND;

/// Packets that no program got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// No program has the port, or has joined the group.
    pub no_program: u64,
    /// For another host's IP or MAC address.
    pub wrong_address: u64,
    pub bad_frames: u64,
    /// Sent by a program, larger than an IP packet can be.
    pub oversize: u64,
    /// Sent by a program to an address that no host has.
    pub no_such_host: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
}

pub(crate) struct Program {
    pub id: AppId,
    pub app: Box<dyn App>,
    pub name: String,
    /// The event that the agenda holds for its timer.
    pub wake_at: Option<Nanos>,
    /// It is called no more; what it counted can still be read.
    pub is_dead: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupPort {
    wanted: Subscription,
    port: u16,
    program: u32,
}

pub(crate) struct Host {
    pub address: Ipv4Addr,
    pub mac: Mac,
    pub programs: Vec<Program>,
    /// Ports of unicast packets, sorted.
    ports: Vec<((Protocol, u16), u32)>,
    /// What programs have joined, in the order of joining.
    groups: Vec<GroupPort>,
    memberships: Memberships,
    /// Reports to be sent, by time.
    reports: VecDeque<(Nanos, Report)>,
    stream: Stream,
    pub outgoing: Option<Processor>,
    pub incoming: Option<Processor>,
    pub counts: HostCounts,
    pub drops: HostDrops,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    /// A change once more, unless the state has changed again.
    Again(Change),
    /// The answer to a query.
    Answer,
}

impl Host {
    pub fn new(address: Ipv4Addr, mac: Mac, stream: Stream) -> Self {
        Self {
            address,
            mac,
            programs: Vec::new(),
            ports: Vec::new(),
            groups: Vec::new(),
            memberships: Memberships::default(),
            reports: VecDeque::new(),
            stream,
            outgoing: None,
            incoming: None,
            counts: HostCounts::default(),
            drops: HostDrops::default(),
        }
    }

    /// Gives a port to a program; false when another one has it.
    pub fn bind(&mut self, protocol: Protocol, port: u16, program: u32) -> bool {
        match self.ports.binary_search_by_key(&(protocol, port), |&(key, _)| key) {
            Ok(_) => false,
            Err(at) => {
                self.ports.insert(at, ((protocol, port), program));
                true
            }
        }
    }

    /// Checks what a link brought, and reads it if a P4 switch wrote it.
    pub fn accept(&mut self, load: Load) -> Option<Packet> {
        let packet = match load {
            Load::Packet(packet) => packet,
            Load::Frame(octets) => {
                let Ok(packet) = frame::decode(&octets) else {
                    self.drops.bad_frames += 1;
                    return None;
                };
                if !packet.destination.is_multicast() && frame::destination_mac(&octets) != Some(self.mac) {
                    self.drops.wrong_address += 1;
                    return None;
                }
                packet
            }
        };
        if !packet.destination.is_multicast() && packet.destination != self.address {
            self.drops.wrong_address += 1;
            return None;
        }
        self.counts.received_packets += 1;
        self.counts.received_bytes += u64::from(packet.len);
        Some(packet)
    }

    /// Pushes the programs that a packet is for, each once.
    pub fn find_programs(&mut self, packet: &Packet, found: &mut Vec<AppId>) {
        let (protocol, port) = match &packet.body {
            Body::Udp(udp) => (Protocol::Udp, udp.destination_port),
            Body::Tcp(tcp) => (Protocol::Tcp, tcp.destination_port),
            Body::Igmp(_) => return,
        };
        if packet.destination.is_multicast() {
            for member in &self.groups {
                let (group, source) = member.wanted;
                let wanted = group == packet.destination && source.is_none_or(|source| source == packet.source);
                let id = self.programs[member.program as usize].id;
                if wanted && member.port == port && protocol == Protocol::Udp && !found.contains(&id) {
                    found.push(id);
                }
            }
        } else if let Ok(at) = self.ports.binary_search_by_key(&(protocol, port), |&(key, _)| key) {
            found.push(self.programs[self.ports[at].1 as usize].id);
        }
        if found.is_empty() {
            self.drops.no_program += 1;
        }
    }

    /// A program joins; the report to send now, if the host was no member.
    pub fn join(&mut self, wanted: Subscription, port: u16, program: u32, now: Nanos) -> Option<Packet> {
        let entry = GroupPort { wanted, port, program };
        if !self.groups.contains(&entry) {
            self.groups.push(entry);
        }
        self.memberships.join(wanted, program).then(|| self.report(Change::Join(wanted), now))
    }

    /// A program leaves; the report to send now, if it was the host's last member.
    pub fn leave(&mut self, wanted: Subscription, port: u16, program: u32, now: Nanos) -> Option<Packet> {
        self.groups.retain(|entry| *entry != GroupPort { wanted, port, program });
        // Another port of the program may still want the group.
        if self.groups.iter().any(|entry| entry.wanted == wanted && entry.program == program) {
            return None;
        }
        self.memberships.leave(wanted, program).then(|| self.report(Change::Leave(wanted), now))
    }

    fn report(&mut self, change: Change, now: Nanos) -> Packet {
        let delay = self.uniform(REPEAT_WITHIN);
        self.schedule(now + delay, Report::Again(change));
        self.message(change.report())
    }

    /// A query came: the answer leaves at a random time within its bound.
    pub fn hear_query(&mut self, max_response: u8, now: Nanos) {
        if !self.reports.iter().any(|(_, report)| *report == Report::Answer) {
            let delay = self.uniform(Nanos::from(max_response) * 100 * MILLISECOND);
            self.schedule(now + delay, Report::Answer);
        }
    }

    /// When the next report is due.
    pub fn report_at(&self) -> Option<Nanos> {
        self.reports.front().map(|&(time, _)| time)
    }

    /// The report that is due now, if it still makes sense.
    pub fn due_report(&mut self) -> Option<Packet> {
        match self.reports.pop_front()?.1 {
            Report::Answer => self.memberships.current_state().map(|state| self.message(state)),
            Report::Again(change) => {
                let holds = match change {
                    Change::Join(wanted) => self.memberships.contains(wanted),
                    Change::Leave(wanted) => !self.memberships.contains(wanted),
                };
                holds.then(|| self.message(change.report()))
            }
        }
    }

    /// A program dies without a word: its memberships go unreported.
    pub fn forget(&mut self, program: u32) {
        self.groups.retain(|entry| entry.program != program);
        for wanted in self.memberships.of(program) {
            self.memberships.leave(wanted, program);
        }
        self.ports.retain(|&(_, owner)| owner != program);
    }

    fn uniform(&mut self, most: Nanos) -> Nanos {
        (self.stream.uniform() * most as f64) as Nanos
    }

    fn schedule(&mut self, time: Nanos, report: Report) {
        let at = self.reports.partition_point(|&(other, _)| other <= time);
        self.reports.insert(at, (time, report));
    }

    fn message(&self, message: igmp::Message) -> Packet {
        Packet::new(self.address, igmp::REPORT_ADDRESS, Body::Igmp(Arc::new(message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{AppError, Context};

    const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
    const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 9);

    fn host() -> Host {
        Host::new(Ipv4Addr::new(10, 0, 0, 1), [2; 6], Stream::new(1, "host"))
    }

    struct Idle;

    impl App for Idle {
        fn start(&mut self, _: &mut Context<'_>) -> Result<(), AppError> {
            Ok(())
        }
        fn receive(&mut self, _: &Packet, _: &mut Context<'_>) -> Result<(), AppError> {
            Ok(())
        }
        fn handle_timer(&mut self, _: &mut Context<'_>) -> Result<(), AppError> {
            Ok(())
        }
        fn wake_at(&self) -> Option<Nanos> {
            None
        }
    }

    fn programs(host: &mut Host, destination: (Ipv4Addr, u16)) -> Vec<u32> {
        let mut found = Vec::new();
        host.find_programs(&Packet::udp((SOURCE, 7), destination, vec![].into()), &mut found);
        found.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn packets_find_their_programs() {
        let mut host = host();
        for id in 0..3 {
            let name = format!("program{id}");
            host.programs.push(Program { id: AppId(id), app: Box::new(Idle), name, wake_at: None, is_dead: false });
        }
        assert!(host.bind(Protocol::Udp, 5, 0));
        assert!(!host.bind(Protocol::Udp, 5, 1));
        assert!(host.bind(Protocol::Tcp, 5, 1));
        host.join((GROUP, Some(SOURCE)), 6, 1, 0);
        host.join((GROUP, None), 6, 1, 0);
        host.join((GROUP, None), 6, 2, 0);
        let address = host.address;
        assert_eq!(programs(&mut host, (address, 5)), [0]);
        assert_eq!(programs(&mut host, (address, 6)), [0; 0]);
        assert_eq!(programs(&mut host, (GROUP, 6)), [1, 2]);
        assert_eq!(programs(&mut host, (GROUP, 5)), [0; 0]);
        assert_eq!(host.drops.no_program, 2);
    }

    #[test]
    fn changes_are_reported_twice_unless_taken_back() {
        let mut host = host();
        assert!(host.join((GROUP, None), 6, 0, 10).is_some());
        assert!(host.join((GROUP, None), 6, 1, 10).is_none());
        assert!(host.report_at().is_some_and(|at| (10..=10 + REPEAT_WITHIN).contains(&at)));
        assert!(host.due_report().is_some());
        assert!(host.leave((GROUP, None), 6, 0, 20).is_none());
        assert!(host.leave((GROUP, None), 6, 1, 20).is_some());
        assert!(host.join((GROUP, None), 6, 1, 21).is_some());
        // Of the two repetitions, that of the leave no longer holds.
        let sent: Vec<_> = std::iter::from_fn(|| host.report_at().map(|_| host.due_report().is_some())).collect();
        assert_eq!(sent.iter().filter(|sent| **sent).count(), 1);
    }

    #[test]
    fn a_query_is_answered_once_with_all_memberships() {
        let mut host = host();
        host.hear_query(100, 0);
        assert!(host.due_report().is_none());
        host.join((GROUP, Some(SOURCE)), 6, 0, 0);
        host.due_report();
        host.hear_query(100, 5);
        host.hear_query(100, 6);
        let packet = host.due_report().expect("an answer");
        let Body::Igmp(message) = packet.body else { panic!("not IGMP") };
        assert_eq!(message.changes(), [Change::Join((GROUP, Some(SOURCE)))]);
        assert_eq!(host.report_at(), None);
    }
}
