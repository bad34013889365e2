//! Egress: control, egress clones, deparser and recirculation.

use std::sync::Arc;

use crate::copy::Flight;
use crate::deparser;
use crate::machine::{Machine, PacketState, DROP_PORT};
use crate::phv;
use crate::pipeline::{self, Tables};
use crate::replicate::{keep_fields, Group};
use crate::switch::{Work, MAX_PACKET};
use crate::trace::{Observer, Recorder, Silent};
use crate::{InstanceType, PacketCopy, Program, QueueMeta, Switch};

/// A copy on its way out; its header vector is in `work.phv`, its state, as ingress left it, in `work.state`.
pub(crate) struct Leaving<'f> {
    pub payload: &'f [u8],
    pub passes: u32,
    pub port: u16,
    pub instance: u16,
    pub instance_type: InstanceType,
    /// Its payload need not be put behind its headers, where nothing else is to be done with it.
    pub apart: bool,
}

/// What has become of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// It was dropped or recirculated.
    Gone,
    /// It was appended.
    Whole,
    /// Its headers were.
    Headers,
}

/// A packet that has left at once ([`Switch::ingress_through`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Through {
    pub port: u16,
    /// False: egress has dropped or recirculated it.
    pub is_sent: bool,
    /// Where its payload begins in the packet that arrived, if only its headers were written.
    pub payload: Option<usize>,
}

impl Switch {
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
        let program = self.lend();
        let poison = self.poison();
        let PacketCopy { mut flight, port, instance, instance_type, .. } = copy;
        let (Work { phv, copied, .. }, live) = (&mut *self.work, &program.live);
        match flight.get_mut() {
            Some(inner) => {
                copied.settle(phv, &live.groups);
                std::mem::swap(&mut inner.phv, phv);
            }
            None if self.trace.is_some() => {
                copied.settle(phv, &live.groups);
                phv.clone_from(&flight.phv);
            }
            None => {
                phv::copy_of(phv, &flight.phv, flight.serial, &live.groups, copied);
                if cfg!(debug_assertions) {
                    phv::poison(phv, &flight.phv, &live.groups, &live.egress, poison);
                }
            }
        }
        let Flight { payload, state, passes, .. } = &*flight;
        self.work.state = *state;
        let (payload, passes) = (payload.as_slice(), *passes);
        let leaving = Leaving { payload, passes, port, instance, instance_type, apart: false };
        let left = self.leave(&program, leaving, queue, out, copies);
        self.pool.give(flight);
        self.lent = Some(program);
        (left == Left::Whole).then_some(port)
    }

    /// Appends the copy to `out`, if it is sent.
    pub(crate) fn leave(
        &mut self,
        program: &Program,
        leaving: Leaving<'_>,
        queue: &QueueMeta,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Left {
        let Leaving { port, payload, passes, .. } = leaving;
        let state = &mut self.work.state;
        (state.exit, state.clone, state.digest) = (false, None, 0);
        let (ingress_port, traced) = (state.ingress_port, state.traced);
        self.set_egress_metadata(program, &leaving, queue);
        self.trace_copy(traced, port);
        let start = out.len();
        let left = self.run_egress(program, &leaving, out, copies);
        let rest = match left {
            Left::Gone => return Left::Gone,
            Left::Whole => 0,
            Left::Headers => payload.len(),
        };
        let recirculate = self.work.state.recirculate;
        if recirculate != 0 {
            self.recirculate(program, ingress_port, recirculate, (passes, traced), (out, start), copies);
            return Left::Gone;
        }
        self.stats.packets_out += 1;
        let size = out.len() - start + rest;
        self.trace_line(traced, format_args!("Transmitting packet of size {size} out of port {port}"));
        left
    }

    fn set_egress_metadata(&mut self, program: &Program, leaving: &Leaving<'_>, queue: &QueueMeta) {
        let &Leaving { port, instance, instance_type, .. } = leaving;
        let meta = self.told(program);
        let Work { phv, state: PacketState { length, .. }, .. } = &mut *self.work;
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
        phv::set_field(phv, meta.packet_length, u64::from(*length));
    }

    /// Egress control, egress clone and deparser.
    fn run_egress(
        &mut self,
        program: &Program,
        leaving: &Leaving<'_>,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Left {
        let traced = self.work.state.traced;
        let native = self.native_of(program, traced);
        {
            let Self { work, externs, tables, profiles, flows, now_ns, trace, .. } = self;
            flows.begin(program, tables);
            let Work { phv, state, key, scratch, .. } = &mut **work;
            let payload = leaving.payload;
            let recorder = Recorder::of(trace, traced);
            let mut m = Machine { program, phv, state, payload, externs, scratch, now_ns: *now_ns };
            let mut tables = Tables { tables, profiles, flows, key };
            let native = native.is_some_and(|native| native.control(true, &mut m, &mut tables));
            match recorder {
                None if native => {}
                None => pipeline::run(&mut m, &mut tables, &program.egress, &mut Silent),
                Some(mut recorder) => {
                    recorder.pipeline(&m, "egress");
                    pipeline::run(&mut m, &mut tables, &program.egress, &mut recorder);
                }
            }
        }
        if let Some((session, fields)) = self.work.state.clone.take() {
            self.clone_at_egress(program, leaving, session, fields, copies);
        }
        if self.work.state.failed {
            self.stats.drop_assert += 1;
            self.trace_line(traced, format_args!("Dropping packet: an assertion failed"));
            return Left::Gone;
        }
        if phv::get_field(&self.work.phv, program.intrinsics.egress_spec) == DROP_PORT {
            self.stats.drop_egress += 1;
            self.trace_line(traced, format_args!("Dropping packet at the end of egress"));
            return Left::Gone;
        }
        let Self { work, externs, tables, profiles, flows, now_ns, trace, .. } = self;
        let Work { phv, state, key, scratch, .. } = &mut **work;
        let payload = leaving.payload;
        let mut m = Machine { program, phv, state, payload, externs, scratch, now_ns: *now_ns };
        let start = out.len();
        if !native.is_some_and(|native| native.deparse(&mut m, &mut Tables { tables, profiles, flows, key }, out)) {
            deparser::put_headers(&mut m, out);
        }
        let is_apart = leaving.apart && m.state.recirculate == 0 && m.state.truncate.is_none();
        if !is_apart {
            deparser::put_payload(&m, start, out);
        }
        if let Some(mut recorder) = Recorder::of(trace, m.state.traced) {
            recorder.deparsed(&m);
        }
        if is_apart {
            Left::Headers
        } else {
            Left::Whole
        }
    }

    /// An egress clone has the headers as egress left them, and only the metadata of its list.
    #[cold]
    fn clone_at_egress(
        &mut self,
        program: &Program,
        leaving: &Leaving<'_>,
        session: u32,
        fields: u32,
        copies: &mut Vec<PacketCopy>,
    ) {
        let traced = self.work.state.traced;
        let Some(config) = self.pre.session(session) else {
            self.stats.drop_no_session += 1;
            self.trace_line(traced, format_args!("No clone: session {session} does not exist"));
            return;
        };
        if leaving.passes >= self.options.max_passes {
            self.stats.drop_loop += 1;
            return;
        }
        let (replicas, class, keep) = (config.replicas.len(), config.class_of_service, config.packet_length as usize);
        let instance = InstanceType::EgressClone;
        let mut copy = self.pool.shared();
        if let Some(inner) = Arc::get_mut(&mut copy) {
            self.work.copied.settle(&mut self.work.phv, &program.live.groups);
            inner.phv.clone_from(&self.work.phv);
            phv::reset_metadata(program, &mut inner.phv);
            keep_fields(program, fields, &mut inner.phv, &self.work.phv);
            let headers = deparser::header_bytes(program, &inner.phv);
            let kept = match keep {
                0 => leaving.payload.len(),
                keep => leaving.payload.len().min(keep.saturating_sub(headers)),
            };
            inner.payload.clear();
            inner.payload.extend_from_slice(leaving.payload.get(..kept).unwrap_or_default());
            inner.state = self.work.state.of_copy();
            inner.passes = leaving.passes + 1;
        }
        self.stats.egress_clones += 1;
        self.trace_line(traced, format_args!("Cloning packet at egress to session {session}: {replicas} copies"));
        self.replicate(program, copy, Group::Session(session), replicas, instance, Some(class), copies);
    }

    /// A recirculated packet enters ingress as it was deparsed, with the fields of its list.
    #[cold]
    fn recirculate(
        &mut self,
        program: &Program,
        port: u16,
        fields: u32,
        (passes, traced): (u32, u64),
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
            self.trace_line(traced, format_args!("Recirculating packet"));
            self.next_pass(program, fields);
            let arrived = self.passes(program, port, &bytes, InstanceType::Recirculate, (passes + 1, traced), copies);
            if let Some(arrived) = arrived {
                self.forward(program, arrived, copies);
            }
        }
        self.work.bytes = bytes;
    }
}
