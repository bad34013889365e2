//! Copies of a packet for the members of a group or session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::copy::{Buffer, Flight};
use crate::deparser;
use crate::ir::Program;
use crate::machine::PacketState;
use crate::phv;
use crate::{InstanceType, PacketCopy, Replica, Switch};

/// The next packet with several copies, of any switch: switches may share buffers.
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// Where replicas come from.
#[derive(Clone, Copy)]
pub(crate) enum Group {
    Mcast(u16),
    Session(u32),
}

impl Switch {
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn replicate(
        &mut self,
        program: &Program,
        mut flight: Arc<Flight>,
        group: Group,
        count: usize,
        instance_type: InstanceType,
        class: Option<u32>,
        copies: &mut Vec<PacketCopy>,
    ) {
        let len = packet_len(program, &flight.phv, &flight.payload, &flight.state);
        let priority = class.unwrap_or_else(|| phv::get_field(&flight.phv, program.intrinsics.priority) as u32);
        if let Some(inner) = Arc::get_mut(&mut flight) {
            inner.serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        }
        self.stats.replicas += count.saturating_sub(1) as u64;
        for i in 0..count {
            let replica = match group {
                Group::Mcast(group) => self.pre.group(group).and_then(|replicas| replicas.get(i)),
                Group::Session(session) => self.pre.session(session).and_then(|config| config.replicas.get(i)),
            };
            let Some(&Replica { port, instance }) = replica else { break };
            let flight = Buffer::Shared(Arc::clone(&flight));
            self.push(PacketCopy { flight, port, instance, len, priority, instance_type }, copies);
        }
        self.pool.give(Buffer::Shared(flight));
    }

    #[inline]
    pub(crate) fn push(&mut self, copy: PacketCopy, copies: &mut Vec<PacketCopy>) {
        if self.has_port(copy.port) {
            copies.push(copy);
        } else {
            self.stats.drop_no_port += 1;
            self.recycle(copy);
        }
    }
}

/// Bytes of a packet on the wire, as ingress left it.
pub(crate) fn packet_len(program: &Program, phv: &[u64], payload: &[u8], state: &PacketState) -> u32 {
    let len = (deparser::header_bytes(program, phv) + payload.len()) as u32;
    state.truncate.map_or(len, |limit| len.min(limit))
}

/// Keep the fields of a list.
pub(crate) fn keep_fields(program: &Program, list: u32, to: &mut [u64], from: &[u64]) {
    if let Some(list) = program.field_lists.get(list as usize).and_then(Option::as_ref) {
        phv::mark_all(to, &program.live.groups);
        for field in &list.fields {
            phv::copy_field(to, from, field);
        }
    }
}
