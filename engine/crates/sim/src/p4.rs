//! A P4 switch in the network: the two halves of its pipeline, around queues that its channels hold.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use p4vm::{PacketCopy, QueueMeta, Switch};

use crate::channel::{Cargo, Channel, Flight};
use crate::frame::{self, Mac};
use crate::packet::Load;
use crate::time::{Nanos, MICROSECOND};

/// A switch that a control plane holds as well.
pub type SharedSwitch = Arc<Mutex<Switch>>;

/// A frame for the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketIn {
    pub time: Nanos,
    pub frame: Vec<u8>,
}

/// Copies on their way to a port's queue.
pub(crate) type Queued = Vec<(u32, Cargo)>;

/// Packet-ins kept until they are taken; more are dropped and counted.
const MAX_PACKET_INS: usize = 65_536;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct P4Drops {
    /// Copies for a port without a link.
    pub no_link: u64,
    /// Packet-ins that nobody took in time.
    pub packet_ins: u64,
}

pub(crate) struct P4Node {
    pub switch: SharedSwitch,
    pub mac: Mac,
    pub packet_ins: Vec<PacketIn>,
    pub drops: P4Drops,
    cpu_port: Option<u16>,
    copies: Vec<PacketCopy>,
    out: Vec<u8>,
}

fn lock(switch: &SharedSwitch) -> MutexGuard<'_, Switch> {
    // The switch keeps no invariant across a panic that a packet could break: it never panics on one.
    switch.lock().unwrap_or_else(PoisonError::into_inner)
}

impl P4Node {
    pub fn new(switch: SharedSwitch, mac: Mac) -> Self {
        let cpu_port = lock(&switch).options().cpu_port;
        Self {
            switch,
            mac,
            packet_ins: Vec::new(),
            drops: P4Drops::default(),
            cpu_port,
            copies: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Ingress of what arrived at `port`; its copies go to the queues. `source` is the sender's MAC address.
    pub fn receive(&mut self, now: Nanos, port: u32, load: &Load, source: Mac, queued: &mut Queued) {
        match load {
            Load::Frame(frame) => self.ingress(now, port, frame, queued),
            Load::Packet(packet) => {
                let frame = frame::encode(packet, source, self.mac);
                self.ingress(now, port, &frame, queued);
            }
        }
    }

    /// As `receive`, with octets.
    pub fn ingress(&mut self, now: Nanos, port: u32, frame: &[u8], queued: &mut Queued) {
        let switch = Arc::clone(&self.switch);
        let mut switch = lock(&switch);
        let ecn = frame::is_ecn_capable(frame);
        let mut copies = std::mem::take(&mut self.copies);
        switch.ingress(now, port as u16, frame, &mut copies);
        self.enqueue(now, &mut switch, &mut copies, ecn, queued);
        self.copies = copies;
    }

    /// Egress of what leaves a port's queue, and its transmission. Clones go to the queues.
    pub fn depart(&mut self, now: Nanos, channel: &mut Channel, queued: &mut Queued) {
        let switch = Arc::clone(&self.switch);
        let mut switch = lock(&switch);
        let mut copies = std::mem::take(&mut self.copies);
        while let Some(left) = channel.link.dequeue(now) {
            let Flight { number, cargo } = left.item;
            let Cargo::Copy(copy, ecn) = cargo else { continue };
            let meta = QueueMeta {
                enq_timestamp_us: left.enq_time_ns / MICROSECOND,
                enq_qdepth: left.enq_depth,
                deq_timedelta_us: left.deq_timedelta_ns / MICROSECOND,
                deq_qdepth: left.deq_depth,
                qid: 0,
            };
            self.out.clear();
            if switch.egress(now, *copy, &meta, &mut self.out, &mut copies).is_some() {
                if left.marked {
                    frame::mark(&mut self.out);
                }
                let load = Load::Frame(self.out.as_slice().into());
                let flight = Flight { number, cargo: Cargo::Load(load) };
                // What is lost on the wire is counted by the link.
                let _ = channel.link.transmit(now, self.out.len() as u32, flight);
            }
            self.enqueue(now, &mut switch, &mut copies, ecn, queued);
        }
        self.copies = copies;
    }

    /// Hands copies to the queues of their ports; those for the control plane have none.
    fn enqueue(
        &mut self,
        now: Nanos,
        switch: &mut Switch,
        copies: &mut Vec<PacketCopy>,
        ecn: bool,
        queued: &mut Queued,
    ) {
        // Egress for the control plane may clone again: what it appends is worked off here too.
        let mut next = 0;
        while next < copies.len() {
            let is_for_control = Some(copies[next].port()) == self.cpu_port;
            if !is_for_control {
                next += 1;
                continue;
            }
            let copy = copies.remove(next);
            let meta = QueueMeta { enq_timestamp_us: now / MICROSECOND, ..QueueMeta::default() };
            self.out.clear();
            if switch.egress(now, copy, &meta, &mut self.out, copies).is_some() {
                if self.packet_ins.len() < MAX_PACKET_INS {
                    self.packet_ins.push(PacketIn { time: now, frame: self.out.clone() });
                } else {
                    self.drops.packet_ins += 1;
                }
            }
        }
        queued.extend(copies.drain(..).map(|copy| (u32::from(copy.port()), Cargo::Copy(Box::new(copy), ecn))));
    }
}
