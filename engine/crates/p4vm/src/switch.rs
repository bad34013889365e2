//! The switch's state, and a packet's way through it.

use std::sync::Arc;

use crate::copy::{Flight, Pool};
use crate::deparser;
use crate::events::Events;
use crate::ir::{Field, Program};
use crate::machine::{Externs, Machine, PacketState, DROP_PORT};
use crate::parser::{self, ValueSetState};
use crate::phv;
use crate::pipeline::{self, Tables};
use crate::pre::Pre;
use crate::stats::Stats;
use crate::table::profile::ProfileState;
use crate::table::TableState;
use crate::{Event, InstanceType, Options, Outputs, PacketCopy, QueueMeta, Replica};

/// An IPv4 or IPv6 packet, or an Ethernet frame of any common MTU, is not longer.
const MAX_PACKET: usize = 65_535;

/// Copies that one packet may have at once in `process`.
const MAX_BURST: usize = 1 << 17;

/// How often `ingress` looks for idle entries.
const SWEEP_NS: u64 = 100_000_000;

/// One P4 switch without I/O or clock. `Send`; the names in control operations are the JSON's. Times only go forward:
/// an earlier `now` counts as the latest one seen.
#[derive(Debug)]
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) options: Options,
    pub(crate) tables: Vec<TableState>,
    pub(crate) profiles: Vec<ProfileState>,
    pub(crate) externs: Externs,
    pub(crate) value_sets: Vec<ValueSetState>,
    pub(crate) pre: Pre,
    pub(crate) events: Events,
    pub(crate) stats: Stats,
    pub(crate) now_ns: u64,
    pub(crate) swept_ns: u64,
    pool: Pool,
    work: Work,
}

/// Buffers of the packet being processed, used again for the next one.
#[derive(Debug, Default)]
struct Work {
    phv: Vec<u64>,
    /// The header vector of the pass before, for field lists; that of an ingress clone.
    other: Vec<u64>,
    key: Vec<u64>,
    scratch: Vec<u8>,
    /// A packet that is recirculated.
    bytes: Vec<u8>,
    /// Copies of `process` that wait for egress, and those that egress makes of them.
    copies: Vec<PacketCopy>,
    more: Vec<PacketCopy>,
}

impl Switch {
    pub fn new(program: Arc<Program>, options: Options) -> Self {
        let work = Work { phv: program.blank.clone(), other: program.blank.clone(), ..Work::default() };
        let mut switch = Self {
            tables: Vec::new(),
            profiles: Vec::new(),
            externs: Externs::new(&program, options.seed, options.max_log),
            value_sets: Vec::new(),
            pre: Pre::default(),
            events: Events::default(),
            stats: Stats::default(),
            now_ns: 0,
            swept_ns: 0,
            pool: Pool::default(),
            program,
            options,
            work,
        };
        switch.load_state();
        switch
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// As given to [`Self::new`].
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Back to the state after loading: no entries but const ones, zero counters and registers, no groups, no events.
    pub fn reset(&mut self) {
        self.externs = Externs::new(&self.program, self.options.seed, self.options.max_log);
        self.pre.clear();
        self.events.clear();
        self.stats = Stats::default();
        self.load_state();
    }

    fn load_state(&mut self) {
        self.tables = self.program.tables.iter().map(TableState::new).collect();
        self.profiles = self.program.profiles.iter().map(|_| ProfileState::default()).collect();
        self.value_sets = self.program.value_sets.iter().map(|_| ValueSetState::default()).collect();
    }

    /// Parser, ingress control and replication of a packet that arrived at `port`: its copies are pushed on `copies`.
    /// Resubmitted packets pass again at once. Nothing is pushed when the packet is dropped.
    pub fn ingress(&mut self, now_ns: u64, port: u16, packet: &[u8], copies: &mut Vec<PacketCopy>) {
        self.advance(now_ns);
        self.stats.packets_in += 1;
        if !self.has_port(port) {
            self.stats.drop_bad_port += 1;
            return;
        }
        if packet.len() > MAX_PACKET {
            self.stats.drop_oversize += 1;
            return;
        }
        let program = Arc::clone(&self.program);
        let meta = &program.intrinsics;
        self.blank(&program);
        phv::set_field(&mut self.work.phv, meta.ingress_port, u64::from(port));
        phv::set_field(&mut self.work.phv, meta.ingress_timestamp, self.now_ns / 1000);
        self.passes(&program, port, packet, InstanceType::Normal, 0, copies);
    }

    pub(crate) fn has_port(&self, port: u16) -> bool {
        port < self.options.num_ports || self.options.cpu_port == Some(port)
    }

    fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        if self.now_ns - self.swept_ns >= SWEEP_NS {
            self.tick(now_ns);
        }
    }

    fn blank(&mut self, program: &Program) {
        self.work.phv.clone_from(&program.blank);
    }

    /// Ingress passes of one packet until it is not resubmitted any more. `work.phv` holds the metadata of the first.
    fn passes(
        &mut self,
        program: &Program,
        port: u16,
        packet: &[u8],
        instance: InstanceType,
        passes: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let meta = &program.intrinsics;
        let (mut instance, mut passes) = (instance, passes);
        loop {
            let length = packet.len() as u32;
            phv::set_field(&mut self.work.phv, meta.packet_length, u64::from(length));
            phv::set_field(&mut self.work.phv, meta.instance_type, instance as u64);
            let mut state =
                PacketState { ingress_port: port, ingress_length: length, length, ..PacketState::default() };
            let consumed = self.run_ingress(program, packet, &mut state);
            self.clone_at_ingress(program, port, packet, &state, passes, copies);
            self.digest(program, state.digest);
            if state.failed {
                self.stats.drop_assert += 1;
                return;
            }
            if state.resubmit == 0 {
                let payload = packet.get(consumed..).unwrap_or_default();
                self.forward(program, payload, state, passes, copies);
                return;
            }
            passes += 1;
            if passes > self.options.max_passes {
                self.stats.drop_loop += 1;
                return;
            }
            self.stats.resubmitted += 1;
            instance = InstanceType::Resubmit;
            self.next_pass(program, state.resubmit);
        }
    }

    /// A blank header vector with the fields of a list kept from the pass before.
    fn next_pass(&mut self, program: &Program, fields: u32) {
        std::mem::swap(&mut self.work.phv, &mut self.work.other);
        self.blank(program);
        keep_fields(program, fields, &mut self.work.phv, &self.work.other);
    }

    /// Parser and ingress control; returns the bytes that the parser took.
    fn run_ingress(&mut self, program: &Program, packet: &[u8], state: &mut PacketState) -> usize {
        let meta = &program.intrinsics;
        let Self { work, externs, tables, profiles, value_sets, stats, now_ns, .. } = self;
        let Work { phv, key, scratch, .. } = work;
        let mut m = Machine { program, phv, state, payload: &[], externs, scratch, now_ns: *now_ns };
        let parsed = parser::parse(&mut m, packet, value_sets, key);
        m.payload = packet.get(parsed.consumed..).unwrap_or_default();
        phv::set_field(m.phv, meta.parser_error, u64::from(parsed.error));
        stats.parser_errors += u64::from(parsed.error != program.errors.no_error);
        let checksum_error = parser::checksum_error(&mut m);
        phv::set_field(m.phv, meta.checksum_error, u64::from(checksum_error));
        stats.checksum_errors += u64::from(checksum_error);
        pipeline::run(&mut m, &mut Tables { tables, profiles, key }, program.ingress.start);
        parsed.consumed
    }

    /// An ingress clone is the packet as it came in, parsed again, with the fields of its list.
    fn clone_at_ingress(
        &mut self,
        program: &Program,
        port: u16,
        packet: &[u8],
        state: &PacketState,
        passes: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let Some((session, fields)) = state.clone else { return };
        let Some(config) = self.pre.session(session) else {
            self.stats.drop_no_session += 1;
            return;
        };
        let (replicas, class) = (config.replicas.len(), config.class_of_service);
        let packet = match config.packet_length as usize {
            0 => packet,
            keep => packet.get(..keep).unwrap_or(packet),
        };
        let meta = &program.intrinsics;
        let Self { work, externs, value_sets, now_ns, .. } = self;
        let Work { phv: original, other, key, scratch, .. } = work;
        other.clone_from(&program.blank);
        phv::set_field(other, meta.ingress_port, u64::from(port));
        let mut copy_state = PacketState {
            ingress_port: port,
            ingress_length: packet.len() as u32,
            length: packet.len() as u32,
            truncate: state.truncate,
            ..PacketState::default()
        };
        let mut m =
            Machine { program, phv: other, state: &mut copy_state, payload: &[], externs, scratch, now_ns: *now_ns };
        let parsed = parser::parse(&mut m, packet, value_sets, key);
        phv::reset_metadata(program, other);
        keep_fields(program, fields, other, original);
        let instance = InstanceType::IngressClone;
        phv::set_field(other, meta.instance_type, instance as u64);
        let mut flight = self.pool.take();
        if let Some(inner) = Arc::get_mut(&mut flight) {
            inner.phv.clone_from(&self.work.other);
            inner.payload.clear();
            inner.payload.extend_from_slice(packet.get(parsed.consumed..).unwrap_or_default());
            inner.state = copy_state;
            inner.passes = passes;
        }
        self.stats.ingress_clones += 1;
        self.replicate(program, flight, Group::Session(session), replicas, instance, Some(class), copies);
    }

    /// Unicast, multicast or drop, as ingress left the metadata.
    fn forward(
        &mut self,
        program: &Program,
        payload: &[u8],
        state: PacketState,
        passes: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let meta = &program.intrinsics;
        let group = phv::get_field(&self.work.phv, meta.mcast_grp) as u16;
        let egress_spec = phv::get_field(&self.work.phv, meta.egress_spec);
        if group == 0 && egress_spec == DROP_PORT {
            self.stats.drop_ingress += 1;
            return;
        }
        let replicas = if group == 0 { 1 } else { self.pre.group(group).map_or(0, <[Replica]>::len) };
        if replicas == 0 {
            self.stats.drop_no_group += 1;
            return;
        }
        let mut flight = self.pool.take();
        if let Some(inner) = Arc::get_mut(&mut flight) {
            std::mem::swap(&mut inner.phv, &mut self.work.phv);
            inner.payload.clear();
            inner.payload.extend_from_slice(payload);
            inner.state = PacketState { exit: false, clone: None, digest: 0, ..state };
            inner.passes = passes;
        }
        if group == 0 {
            let priority = phv::get_field(&flight.phv, meta.priority) as u32;
            let rid = phv::get_field(&flight.phv, meta.egress_rid) as u16;
            let len = copy_len(program, &flight);
            let port = egress_spec as u16;
            self.push(
                PacketCopy { flight, port, instance: rid, len, priority, instance_type: InstanceType::Normal },
                copies,
            );
        } else {
            self.replicate(program, flight, Group::Mcast(group), replicas, InstanceType::Replication, None, copies);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn replicate(
        &mut self,
        program: &Program,
        flight: Arc<Flight>,
        group: Group,
        count: usize,
        instance_type: InstanceType,
        class: Option<u32>,
        copies: &mut Vec<PacketCopy>,
    ) {
        let len = copy_len(program, &flight);
        let priority = class.unwrap_or_else(|| phv::get_field(&flight.phv, program.intrinsics.priority) as u32);
        self.stats.replicas += count.saturating_sub(1) as u64;
        for i in 0..count {
            let replica = match group {
                Group::Mcast(group) => self.pre.group(group).and_then(|replicas| replicas.get(i)),
                Group::Session(session) => self.pre.session(session).and_then(|config| config.replicas.get(i)),
            };
            let Some(&Replica { port, instance }) = replica else { break };
            let flight = Arc::clone(&flight);
            self.push(PacketCopy { flight, port, instance, len, priority, instance_type }, copies);
        }
        self.pool.give(flight);
    }

    #[inline]
    fn push(&mut self, copy: PacketCopy, copies: &mut Vec<PacketCopy>) {
        if self.has_port(copy.port) {
            copies.push(copy);
        } else {
            self.stats.drop_no_port += 1;
            self.recycle(copy);
        }
    }

    fn digest(&mut self, program: &Program, list: u32) {
        let Some(list) = program.learn_lists.get(list as usize).and_then(Option::as_ref).filter(|_| list != 0) else {
            return;
        };
        let (phv, time_us) = (&self.work.phv, self.now_ns / 1000);
        let pushed = self.events.push(self.options.max_events, || {
            let value = |field: &Field| {
                crate::value::bytes::from_words(phv.get(phv::value_words(field)).unwrap_or_default(), field.bits)
            };
            Event::Digest { time_us, digest: Arc::clone(&list.name), values: list.fields.iter().map(value).collect() }
        });
        self.stats.digests += u64::from(pushed);
        self.stats.events_lost += u64::from(!pushed);
    }

    /// Egress control and deparser of one copy. Appends the packet to `out` and returns its port, or appends nothing
    /// and returns None when it is dropped or recirculated. Egress clones, and copies of a recirculated packet after
    /// its next ingress, are pushed on `copies`.
    pub fn egress(
        &mut self,
        now_ns: u64,
        copy: PacketCopy,
        queue: &QueueMeta,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Option<u16> {
        self.advance(now_ns);
        let program = Arc::clone(&self.program);
        let PacketCopy { mut flight, port, instance, instance_type, .. } = copy;
        match Arc::get_mut(&mut flight) {
            Some(inner) => std::mem::swap(&mut inner.phv, &mut self.work.phv),
            None => self.work.phv.clone_from(&flight.phv),
        }
        let mut state = PacketState { exit: false, clone: None, ..flight.state };
        self.set_egress_metadata(&program, port, instance, instance_type, queue, &state);
        let start = out.len();
        let sent = self.run_egress(&program, &flight, &mut state, out, copies);
        let recirculate = state.recirculate != 0 && sent;
        if recirculate {
            let Flight { state: PacketState { ingress_port, .. }, passes, .. } = *flight;
            self.recirculate(&program, ingress_port, state.recirculate, passes, (out, start), copies);
        }
        self.pool.give(flight);
        if !sent || recirculate {
            return None;
        }
        self.stats.packets_out += 1;
        Some(port)
    }

    fn set_egress_metadata(
        &mut self,
        program: &Program,
        port: u16,
        instance: u16,
        instance_type: InstanceType,
        queue: &QueueMeta,
        state: &PacketState,
    ) {
        let meta = &program.intrinsics;
        let phv = &mut self.work.phv;
        phv::set_field(phv, meta.egress_rid, u64::from(instance));
        phv::set_field(phv, meta.instance_type, instance_type as u64);
        phv::set_field(phv, meta.egress_timestamp, self.now_ns / 1000);
        phv::set_field(phv, meta.enq_timestamp, queue.enq_timestamp_us);
        phv::set_field(phv, meta.enq_qdepth, u64::from(queue.enq_qdepth));
        phv::set_field(phv, meta.deq_timedelta, queue.deq_timedelta_us);
        phv::set_field(phv, meta.deq_qdepth, u64::from(queue.deq_qdepth));
        phv::set_field(phv, meta.qid, u64::from(queue.qid));
        phv::set_field(phv, meta.egress_port, u64::from(port));
        // Anything but the drop port, as BMv2 does: egress drops by writing the drop port.
        phv::set_field(phv, meta.egress_spec, DROP_PORT + 1);
        phv::set_field(phv, meta.packet_length, u64::from(state.length));
    }

    /// Egress control, egress clone and deparser; true: the packet was appended to `out`.
    fn run_egress(
        &mut self,
        program: &Program,
        flight: &Flight,
        state: &mut PacketState,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> bool {
        {
            let Self { work, externs, tables, profiles, now_ns, .. } = self;
            let Work { phv, key, scratch, .. } = work;
            let payload = &flight.payload;
            let mut m = Machine { program, phv, state, payload, externs, scratch, now_ns: *now_ns };
            pipeline::run(&mut m, &mut Tables { tables, profiles, key }, program.egress.start);
        }
        if let Some((session, fields)) = state.clone.take() {
            self.clone_at_egress(program, flight, state, session, fields, copies);
        }
        if state.failed {
            self.stats.drop_assert += 1;
            return false;
        }
        if phv::get_field(&self.work.phv, program.intrinsics.egress_spec) == DROP_PORT {
            self.stats.drop_egress += 1;
            return false;
        }
        let Self { work, externs, now_ns, .. } = self;
        let Work { phv, scratch, .. } = work;
        let payload = &flight.payload;
        let mut m = Machine { program, phv, state, payload, externs, scratch, now_ns: *now_ns };
        deparser::deparse(&mut m, out);
        true
    }

    /// An egress clone has the headers as egress left them, and only the metadata of its list.
    fn clone_at_egress(
        &mut self,
        program: &Program,
        flight: &Flight,
        state: &PacketState,
        session: u32,
        fields: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let Some(config) = self.pre.session(session) else {
            self.stats.drop_no_session += 1;
            return;
        };
        if flight.passes >= self.options.max_passes {
            self.stats.drop_loop += 1;
            return;
        }
        let (replicas, class, keep) = (config.replicas.len(), config.class_of_service, config.packet_length as usize);
        let instance = InstanceType::EgressClone;
        let mut copy = self.pool.take();
        if let Some(inner) = Arc::get_mut(&mut copy) {
            inner.phv.clone_from(&self.work.phv);
            phv::reset_metadata(program, &mut inner.phv);
            keep_fields(program, fields, &mut inner.phv, &self.work.phv);
            let headers = deparser::header_bytes(program, &inner.phv);
            let kept = match keep {
                0 => flight.payload.len(),
                keep => flight.payload.len().min(keep.saturating_sub(headers)),
            };
            inner.payload.clear();
            inner.payload.extend_from_slice(flight.payload.get(..kept).unwrap_or_default());
            let PacketState { ingress_port, ingress_length, length, truncate, .. } = *state;
            inner.state = PacketState { ingress_port, ingress_length, length, truncate, ..PacketState::default() };
            inner.passes = flight.passes + 1;
        }
        self.stats.egress_clones += 1;
        self.replicate(program, copy, Group::Session(session), replicas, instance, Some(class), copies);
    }

    /// A recirculated packet enters ingress as it was deparsed, with the fields of its list.
    fn recirculate(
        &mut self,
        program: &Program,
        port: u16,
        fields: u32,
        passes: u32,
        (out, start): (&mut Vec<u8>, usize),
        copies: &mut Vec<PacketCopy>,
    ) {
        let mut bytes = std::mem::take(&mut self.work.bytes);
        bytes.clear();
        bytes.extend_from_slice(out.get(start..).unwrap_or_default());
        out.truncate(start);
        if passes >= self.options.max_passes {
            self.stats.drop_loop += 1;
        } else if bytes.len() > MAX_PACKET {
            self.stats.drop_oversize += 1;
        } else {
            self.stats.recirculated += 1;
            self.next_pass(program, fields);
            self.passes(program, port, &bytes, InstanceType::Recirculate, passes + 1, copies);
        }
        self.work.bytes = bytes;
    }

    /// Throw a copy away and keep its buffer.
    #[inline]
    pub fn recycle(&mut self, copy: PacketCopy) {
        self.pool.give(copy.flight);
    }

    /// Ingress and egress of a packet and of all its copies with empty queues. Packets are appended to `out`.
    pub fn process(&mut self, now_ns: u64, port: u16, packet: &[u8], out: &mut Outputs) {
        let mut copies = std::mem::take(&mut self.work.copies);
        let mut more = std::mem::take(&mut self.work.more);
        copies.clear();
        self.ingress(now_ns, port, packet, &mut copies);
        let queue = QueueMeta { enq_timestamp_us: self.now_ns / 1000, ..QueueMeta::default() };
        let mut rounds = 0;
        while !copies.is_empty() {
            for copy in copies.drain(..) {
                if let Some(port) = self.egress(now_ns, copy, &queue, out.buffer(), &mut more) {
                    out.seal(port);
                }
            }
            std::mem::swap(&mut copies, &mut more);
            rounds += 1;
            // Copies that make copies can be more than any number of rounds bounds.
            if rounds > self.options.max_passes || copies.len() > MAX_BURST {
                self.stats.drop_loop += copies.len() as u64;
                copies.clear();
            }
        }
        self.work.copies = copies;
        self.work.more = more;
    }
}

#[derive(Clone, Copy)]
enum Group {
    Mcast(u16),
    Session(u32),
}

fn copy_len(program: &Program, flight: &Flight) -> u32 {
    let len = (deparser::header_bytes(program, &flight.phv) + flight.payload.len()) as u32;
    flight.state.truncate.map_or(len, |limit| len.min(limit))
}

fn keep_fields(program: &Program, list: u32, to: &mut [u64], from: &[u64]) {
    if let Some(list) = program.field_lists.get(list as usize).and_then(Option::as_ref) {
        for field in &list.fields {
            phv::copy_field(to, from, field);
        }
    }
}
