//! Ingress: parser, control, and where the packet goes from there.

use std::sync::Arc;

use crate::copy::{Buffer, Flight};
use crate::egress::{Leaving, Left, Through};
use crate::ir::Field;
use crate::machine::{Machine, PacketState, DROP_PORT};
use crate::native::{prefetch, Native};
use crate::parser::{self, ValueSetState};
use crate::phv;
use crate::pipeline::{self, Tables};
use crate::replicate::{keep_fields, packet_len, Group};
use crate::stats::Stats;
use crate::switch::{Work, MAX_PACKET};
use crate::trace::{Observer, Recorder, Silent};
use crate::{Event, InstanceType, Options, Outputs, PacketCopy, Program, QueueMeta, Replica, Switch};

/// A packet whose ingress control has ended and that is not resubmitted; its header vector is in `work.phv`, its state in
/// `work.state`.
pub(crate) struct Arrived<'p> {
    payload: &'p [u8],
    passes: u32,
}

impl Switch {
    /// Parser, ingress control and replication of a packet that arrived at `port`: its copies are pushed on `copies`.
    /// Resubmitted packets pass again at once. Nothing is pushed when the packet is dropped.
    pub fn ingress(&mut self, now_ns: u64, port: u16, packet: &[u8], copies: &mut Vec<PacketCopy>) {
        let Some(program) = self.admit(now_ns, port, packet) else { return };
        if let Some(arrived) = self.arrive(&program, port, packet, copies) {
            self.forward(&program, arrived, copies);
        }
        self.lent = Some(program);
    }

    /// `ingress`, and `egress` with empty queues. A packet's only copy leaves at once, from where it is, without the
    /// buffer that copies wait in. Copies that are left to come are pushed on `copies`.
    pub(crate) fn ingress_and_egress(
        &mut self,
        now_ns: u64,
        port: u16,
        packet: &[u8],
        out: &mut Outputs,
        copies: &mut Vec<PacketCopy>,
    ) {
        let Some(program) = self.admit(now_ns, port, packet) else { return };
        if let Some(arrived) = self.arrive(&program, port, packet, copies) {
            match self.only_port(&program).filter(|_| copies.is_empty()) {
                Some(port) => {
                    if self.go_through(&program, arrived, (port, false), out.buffer(), copies) == Left::Whole {
                        out.seal(port);
                    }
                }
                None => self.forward(&program, arrived, copies),
            }
        }
        self.lent = Some(program);
    }

    /// `ingress`; and where the packet goes to one port only, and `enters`, given that port and the packet's length there,
    /// says that it finds nobody before it, `egress` of it, from where it is, without the buffer that copies wait in. Its
    /// headers are appended to `out` then, with the payload only where that is not the end of `packet` as it is. Copies
    /// that are left to come are pushed on `copies`.
    pub fn ingress_through(
        &mut self,
        now_ns: u64,
        port: u16,
        packet: &[u8],
        enters: &mut dyn FnMut(u16, u32) -> bool,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Option<Through> {
        let program = self.admit(now_ns, port, packet)?;
        let mut through = None;
        if let Some(arrived) = self.arrive(&program, port, packet, copies) {
            let only = self.only_port(&program).filter(|_| copies.is_empty());
            let length = || packet_len(&program, &self.work.phv, arrived.payload, &self.work.state);
            match only.filter(|&port| enters(port, length())) {
                Some(port) => {
                    let at = packet.len() - arrived.payload.len();
                    let left = self.go_through(&program, arrived, (port, true), out, copies);
                    let payload = (left == Left::Headers).then_some(at);
                    through = Some(Through { port, is_sent: left != Left::Gone, payload });
                }
                None => self.forward(&program, arrived, copies),
            }
        }
        self.lent = Some(program);
        through
    }

    /// Egress of a packet's only copy, at once.
    fn go_through(
        &mut self,
        program: &Program,
        arrived: Arrived<'_>,
        (port, apart): (u16, bool),
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Left {
        self.trace_line(self.work.state.traced, format_args!("Egress port is {port}"));
        let Arrived { payload, passes } = arrived;
        let instance = phv::get_field(&self.work.phv, program.intrinsics.egress_rid) as u16;
        let instance_type = InstanceType::Normal;
        let leaving = Leaving { payload, passes, port, instance, instance_type, apart };
        let queue = QueueMeta { enq_timestamp_us: self.now_ns / 1000, ..QueueMeta::default() };
        self.leave(program, leaving, &queue, out, copies)
    }

    /// Where the packet goes that ingress has ended with, if that is one port.
    fn only_port(&self, program: &Program) -> Option<u16> {
        let meta = &program.intrinsics;
        let (group, port) = (meta.mcast_grp, meta.egress_spec);
        let [group, port] = [group, port].map(|field| phv::get_field(&self.work.phv, field));
        (group == 0 && port != DROP_PORT && self.has_port(port as u16)).then_some(port as u16)
    }

    /// The program, with a blank header vector for a packet that may come in.
    fn admit(&mut self, now_ns: u64, port: u16, packet: &[u8]) -> Option<Arc<Program>> {
        self.advance(now_ns);
        self.warm_up();
        self.stats.packets_in += 1;
        if !self.has_port(port) {
            self.stats.drop_bad_port += 1;
            return None;
        }
        if packet.len() > MAX_PACKET {
            self.stats.drop_oversize += 1;
            return None;
        }
        let program = self.lend();
        self.blank(&program);
        Some(program)
    }

    fn arrive<'p>(
        &mut self,
        program: &Program,
        port: u16,
        packet: &'p [u8],
        copies: &mut Vec<PacketCopy>,
    ) -> Option<Arrived<'p>> {
        let meta = self.told(program);
        phv::set_field(&mut self.work.phv, meta.ingress_port, u64::from(port));
        phv::set_field(&mut self.work.phv, meta.ingress_timestamp, self.now_ns / 1000);
        let traced = self.trace_packet(port, packet.len());
        self.passes(program, port, packet, InstanceType::Normal, (0, traced), copies)
    }

    fn blank(&mut self, program: &Program) {
        let poison = self.poison();
        let (Work { phv, copied, .. }, live) = (&mut *self.work, &program.live);
        copied.settle(phv, &live.groups);
        match self.trace {
            // It shows what was there before.
            Some(_) => phv.clone_from(&program.blank),
            None => {
                phv::restore(phv, &program.blank, &live.groups, &live.groups.start);
                if cfg!(debug_assertions) {
                    phv::poison(phv, &program.blank, &live.groups, &live.start, poison);
                }
            }
        }
    }

    /// Ingress passes of one packet until it is not resubmitted any more. `work.phv` holds the metadata of the first.
    pub(crate) fn passes<'p>(
        &mut self,
        program: &Program,
        port: u16,
        packet: &'p [u8],
        mut instance: InstanceType,
        (mut passes, traced): (u32, u64),
        copies: &mut Vec<PacketCopy>,
    ) -> Option<Arrived<'p>> {
        let meta = self.told(program);
        loop {
            let length = packet.len() as u32;
            phv::set_field(&mut self.work.phv, meta.packet_length, u64::from(length));
            phv::set_field(&mut self.work.phv, meta.instance_type, instance as u64);
            self.work.state =
                PacketState { ingress_port: port, ingress_length: length, length, traced, ..PacketState::default() };
            let consumed = self.run_ingress(program, packet);
            let PacketState { clone, digest, failed, resubmit, .. } = self.work.state;
            if let Some((session, fields)) = clone {
                self.clone_at_ingress(program, packet, (session, fields), passes, copies);
            }
            if digest != 0 {
                self.digest(program, port, digest);
            }
            if failed {
                self.stats.drop_assert += 1;
                self.trace_line(traced, format_args!("Dropping packet: an assertion failed"));
                return None;
            }
            if resubmit == 0 {
                return Some(Arrived { payload: packet.get(consumed..).unwrap_or_default(), passes });
            }
            passes += 1;
            if passes > self.options.max_passes {
                self.stats.drop_loop += 1;
                self.trace_line(traced, format_args!("Dropping packet: resubmitted too often"));
                return None;
            }
            self.stats.resubmitted += 1;
            self.trace_line(traced, format_args!("Resubmitting packet"));
            instance = InstanceType::Resubmit;
            self.next_pass(program, resubmit);
        }
    }

    /// A blank header vector with the fields of a list kept from the pass before.
    #[cold]
    pub(crate) fn next_pass(&mut self, program: &Program, fields: u32) {
        let Work { phv, other, copied, .. } = &mut *self.work;
        copied.settle(phv, &program.live.groups);
        std::mem::swap(phv, other);
        self.blank(program);
        let Work { phv, other, .. } = &mut *self.work;
        keep_fields(program, fields, phv, other);
    }

    /// Parser and ingress control; returns the bytes that the parser took.
    fn run_ingress(&mut self, program: &Program, packet: &[u8]) -> usize {
        let native = self.native_of(program, self.work.state.traced);
        let Self { work, externs, tables, profiles, flows, value_sets, stats, now_ns, trace, .. } = self;
        flows.begin(program, tables);
        let Work { phv, state, key, scratch, .. } = &mut **work;
        let recorder = Recorder::of(trace, state.traced);
        let mut m = Machine { program, phv, state, payload: &[], externs, scratch, now_ns: *now_ns };
        let mut tables = Tables { tables, profiles, flows, key };
        match recorder {
            None => ingress_pass(&mut m, &mut tables, value_sets, packet, stats, native, &mut Silent),
            Some(mut recorder) => ingress_pass(&mut m, &mut tables, value_sets, packet, stats, None, &mut recorder),
        }
    }

    /// An ingress clone is the packet as it came in, parsed again, with the fields of its list.
    #[cold]
    fn clone_at_ingress(
        &mut self,
        program: &Program,
        packet: &[u8],
        (session, fields): (u32, u32),
        passes: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let PacketState { ingress_port, traced, .. } = self.work.state;
        let Some(config) = self.pre.session(session) else {
            self.stats.drop_no_session += 1;
            self.trace_line(traced, format_args!("No clone: session {session} does not exist"));
            return;
        };
        let (replicas, class) = (config.replicas.len(), config.class_of_service);
        let packet = match config.packet_length as usize {
            0 => packet,
            keep => packet.get(..keep).unwrap_or(packet),
        };
        let meta = &program.intrinsics;
        let Self { work, externs, value_sets, now_ns, .. } = self;
        let Work { phv: original, other, key, scratch, .. } = &mut **work;
        other.clone_from(&program.blank);
        phv::set_field(other, meta.ingress_port, u64::from(ingress_port));
        let mut copy_state = PacketState {
            ingress_port,
            ingress_length: packet.len() as u32,
            length: packet.len() as u32,
            traced,
            ..PacketState::default()
        };
        let mut m =
            Machine { program, phv: other, state: &mut copy_state, payload: &[], externs, scratch, now_ns: *now_ns };
        let parsed = parser::parse(&mut m, packet, value_sets, key, &mut Silent);
        phv::reset_metadata(program, other);
        keep_fields(program, fields, other, original);
        let instance = InstanceType::IngressClone;
        phv::set_field(other, meta.instance_type, instance as u64);
        let mut flight = self.pool.shared();
        if let Some(inner) = Arc::get_mut(&mut flight) {
            inner.phv.clone_from(&self.work.other);
            inner.payload.clear();
            inner.payload.extend_from_slice(packet.get(parsed.consumed..).unwrap_or_default());
            inner.state = copy_state;
            inner.passes = passes;
        }
        self.stats.ingress_clones += 1;
        self.trace_line(traced, format_args!("Cloning packet at ingress to session {session}: {replicas} copies"));
        self.replicate(program, flight, Group::Session(session), replicas, instance, Some(class), copies);
    }

    /// Unicast, multicast or drop, as ingress left the metadata.
    pub(crate) fn forward(&mut self, program: &Program, arrived: Arrived<'_>, copies: &mut Vec<PacketCopy>) {
        let Arrived { payload, passes } = arrived;
        let state = self.work.state;
        let meta = &program.intrinsics;
        let group = phv::get_field(&self.work.phv, meta.mcast_grp) as u16;
        let egress_spec = phv::get_field(&self.work.phv, meta.egress_spec);
        if group == 0 && egress_spec == DROP_PORT {
            self.stats.drop_ingress += 1;
            self.trace_line(state.traced, format_args!("Dropping packet at the end of ingress"));
            return;
        }
        let replicas = if group == 0 { 1 } else { self.pre.group(group).map_or(0, <[Replica]>::len) };
        if replicas == 0 {
            self.stats.drop_no_group += 1;
            self.trace_line(state.traced, format_args!("Dropping packet: multicast group {group} has no members"));
            return;
        }
        let fill = |inner: &mut Flight, phv: &mut Vec<u64>, state: PacketState| {
            std::mem::swap(&mut inner.phv, phv);
            inner.payload.clear();
            inner.payload.extend_from_slice(payload);
            inner.state = state;
            inner.passes = passes;
        };
        if group == 0 {
            let mut flight = self.pool.own();
            let kept = PacketState { exit: false, clone: None, digest: 0, ..state };
            fill(&mut flight, &mut self.work.phv, kept);
            let priority = phv::get_field(&flight.phv, meta.priority) as u32;
            let rid = phv::get_field(&flight.phv, meta.egress_rid) as u16;
            let len = packet_len(program, &flight.phv, &flight.payload, &flight.state);
            let port = egress_spec as u16;
            self.trace_line(state.traced, format_args!("Egress port is {port}"));
            let (flight, instance_type) = (Buffer::Own(flight), InstanceType::Normal);
            self.push(PacketCopy { flight, port, instance: rid, len, priority, instance_type }, copies);
        } else {
            let mut flight = self.pool.shared();
            if let Some(inner) = Arc::get_mut(&mut flight) {
                fill(inner, &mut self.work.phv, state.of_copy());
            }
            self.trace_line(state.traced, format_args!("Multicast group {group}: {replicas} copies"));
            self.replicate(program, flight, Group::Mcast(group), replicas, InstanceType::Replication, None, copies);
        }
    }

    #[cold]
    fn digest(&mut self, program: &Program, port: u16, list: u32) {
        let Some(list) = program.learn_lists.get(list as usize).and_then(Option::as_ref) else { return };
        let Options { digest_rate, digest_repeat_rate, max_events, .. } = self.options;
        if !self.digest_limits.port(port, digest_rate, self.now_ns) {
            self.stats.digests_limited += 1;
            return;
        }
        let (phv, time_us) = (&self.work.phv, self.now_ns / 1000);
        let value = |field: &Field| {
            crate::value::bytes::from_words(phv.get(phv::value_words(field)).unwrap_or_default(), field.bits)
        };
        let values: Vec<Vec<u8>> = list.fields.iter().map(value).collect();
        if !self.digest_limits.contents(&list.name, &values, digest_repeat_rate, self.now_ns) {
            self.stats.digests_repeated += 1;
            return;
        }
        let pushed = self.events.push(max_events, || Event::Digest { time_us, digest: Arc::clone(&list.name), values });
        self.stats.digests += u64::from(pushed);
        self.stats.events_lost += u64::from(!pushed);
    }
}

/// Parser, checksums and control; returns the bytes that the parser took.
fn ingress_pass<'a, O: Observer>(
    m: &mut Machine<'a>,
    tables: &mut Tables<'_>,
    value_sets: &[ValueSetState],
    packet: &'a [u8],
    stats: &mut Stats,
    native: Option<&Native>,
    observer: &mut O,
) -> usize {
    let program = m.program;
    let meta = &program.intrinsics;
    let parsed = native.and_then(|native| native.parse(m, tables, packet, value_sets));
    let parsed = parsed.unwrap_or_else(|| parser::parse(m, packet, value_sets, tables.key, observer));
    // It comes while checksums are verified.
    tables.flows.expect(m.phv).into_iter().for_each(prefetch);
    m.payload = packet.get(parsed.consumed..).unwrap_or_default();
    phv::set_field(m.phv, meta.parser_error, u64::from(parsed.error));
    stats.parser_errors += u64::from(parsed.error != program.errors.no_error);
    let checksum_error = !program.checksums.is_empty() && {
        let found = native.and_then(|native| native.checksum_error(m, tables));
        found.unwrap_or_else(|| parser::checksum_error(m))
    };
    phv::set_field(m.phv, meta.checksum_error, u64::from(checksum_error));
    stats.checksum_errors += u64::from(checksum_error);
    observer.pipeline(m, "ingress");
    if !native.is_some_and(|native| native.control(false, m, tables)) {
        pipeline::run(m, tables, &program.ingress, observer);
    }
    parsed.consumed
}
