//! A P4 switch in the network: the two halves of its pipeline, around queues that its channels hold.

use std::sync::{Arc, Mutex, PoisonError};

use link::Arrival;
use p4vm::{PacketCopy, QueueMeta, Switch};

use crate::channel::{Cargo, Channel, Flight};
use crate::frame::{self, Mac};
use crate::load::Load;
use crate::time::{Nanos, MICROSECOND};

/// A switch that a control plane holds as well.
pub trait SwitchHandle: Send + Sync {
    /// Gives the switch to `work`, which nobody else has meanwhile.
    fn with(&self, work: &mut dyn FnMut(&mut Switch));
    /// A frame for the control plane.
    fn packet_in(&self, now: Nanos, frame: &[u8]);
}

/// A switch in this process whose control plane is whoever made it, and takes no packets.
pub struct LocalSwitch {
    switch: Mutex<Switch>,
}

impl LocalSwitch {
    pub fn new(switch: Switch) -> Arc<Self> {
        Arc::new(Self { switch: Mutex::new(switch) })
    }
}

impl SwitchHandle for LocalSwitch {
    fn with(&self, work: &mut dyn FnMut(&mut Switch)) {
        // A panic elsewhere leaves a switch as it was between two packets.
        work(&mut self.switch.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn packet_in(&self, _now: Nanos, _frame: &[u8]) {}
}

/// Copies on their way to a port's queue.
pub(crate) type Queued = Vec<(u32, Cargo)>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct P4Counts {
    /// Copies for a port without a link.
    pub no_link: u64,
    pub packet_ins: u64,
}

pub(crate) struct P4Node {
    handle: Arc<dyn SwitchHandle>,
    mac: Mac,
    cpu_port: Option<u16>,
    pub counts: P4Counts,
    // Reused between packets.
    copies: Vec<PacketCopy>,
    out: Vec<u8>,
}

impl P4Node {
    pub fn new(handle: Arc<dyn SwitchHandle>, mac: Mac) -> Self {
        let mut cpu_port = None;
        handle.with(&mut |switch| cpu_port = switch.options().cpu_port);
        Self { handle, mac, cpu_port, counts: P4Counts::default(), copies: Vec::new(), out: Vec::new() }
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
        let Ok(port) = u16::try_from(port) else { return };
        let arrival = link::frame::arrival(frame);
        let handle = Arc::clone(&self.handle);
        handle.with(&mut |switch| {
            let mut copies = std::mem::take(&mut self.copies);
            switch.ingress(now, port, frame, &mut copies);
            self.enqueue(now, switch, &mut copies, arrival, queued);
            self.copies = copies;
        });
    }

    /// Egress of what leaves a port's queue, and its transmission. Clones go to the queues.
    pub fn depart(&mut self, now: Nanos, channel: &mut Channel, queued: &mut Queued) {
        let handle = Arc::clone(&self.handle);
        handle.with(&mut |switch| {
            let mut copies = std::mem::take(&mut self.copies);
            while let Some(left) = channel.link.dequeue(now) {
                let Flight { number, cargo } = left.item;
                let Cargo::Copy(copy, arrival) = cargo else { continue };
                let meta = QueueMeta {
                    enq_timestamp_us: left.enq_time_ns / MICROSECOND,
                    enq_qdepth: left.enq_depth,
                    deq_timedelta_us: left.deq_timedelta_ns / MICROSECOND,
                    deq_qdepth: left.deq_depth,
                    qid: 0,
                };
                self.out.clear();
                if switch.egress(now, copy, &meta, &mut self.out, &mut copies).is_some() {
                    if left.marked {
                        link::frame::mark(&mut self.out);
                    }
                    let load = Load::Frame(self.out.as_slice().into());
                    let flight = Flight { number, cargo: Cargo::Load(load) };
                    // What is lost on the wire is counted by the link.
                    let _ = channel.link.transmit(now, self.out.len() as u32, flight);
                }
                self.enqueue(now, switch, &mut copies, arrival, queued);
            }
            self.copies = copies;
        });
    }

    /// A copy found no room in its queue: its buffer serves another packet.
    pub fn recycle(&self, copy: PacketCopy) {
        let mut copy = Some(copy);
        self.handle.with(&mut |switch| {
            if let Some(copy) = copy.take() {
                switch.recycle(copy);
            }
        });
    }

    /// Hands copies to the queues of their ports; those for the control plane have none.
    fn enqueue(
        &mut self,
        now: Nanos,
        switch: &mut Switch,
        copies: &mut Vec<PacketCopy>,
        arrival: Arrival,
        queued: &mut Queued,
    ) {
        // Egress for the control plane may clone again: what it appends is worked off here too.
        let is_for_control = |copy: &PacketCopy| Some(copy.port()) == self.cpu_port;
        while let Some(at) = copies.iter().position(is_for_control) {
            let copy = copies.remove(at);
            let meta = QueueMeta { enq_timestamp_us: now / MICROSECOND, ..QueueMeta::default() };
            self.out.clear();
            if switch.egress(now, copy, &meta, &mut self.out, copies).is_some() {
                self.counts.packet_ins += 1;
                self.handle.packet_in(now, &self.out);
            }
        }
        queued.extend(copies.drain(..).map(|copy| (u32::from(copy.port()), Cargo::Copy(copy, arrival))));
    }
}
