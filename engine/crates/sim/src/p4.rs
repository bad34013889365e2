//! A P4 switch in the network: the two halves of its pipeline, around queues that its channels hold.

use std::sync::{Arc, Mutex, PoisonError};

use link::Arrival;
use p4vm::{PacketCopy, Program, QueueMeta, Switch, Work};

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
    /// Which desk it works at.
    desk: usize,
    copies: Copies,
}

/// Where copies go.
struct Copies {
    cpu_port: Option<u16>,
    counts: P4Counts,
}

/// What nodes whose switches run one program work with, one after the other, each while it has its switch.
pub(crate) struct Desk {
    program: Arc<Program>,
    work: Box<Work>,
    // Reused between packets.
    copies: Vec<PacketCopy>,
    out: Vec<u8>,
    /// What frames came in, for others to leave in.
    spare: Vec<Vec<u8>>,
}

/// Frames kept for others (ours).
const SPARE: usize = 64;

/// The ways out of a switch, for a packet that need not wait.
pub(crate) struct Exits<'n> {
    pub ports: &'n [Option<u32>],
    pub channels: &'n mut [Channel],
    /// The latest event's number.
    pub number: &'n mut u64,
}

impl Exits<'_> {
    fn channel(&mut self, port: u16) -> Option<&mut Channel> {
        let &channel = self.ports.get(usize::from(port))?.as_ref()?;
        self.channels.get_mut(channel as usize)
    }
}

impl P4Node {
    /// A node with its desk among `desks`, which is one of another node or a new one.
    pub fn new(handle: Arc<dyn SwitchHandle>, mac: Mac, desks: &mut Vec<Desk>) -> Self {
        let (mut cpu_port, mut desk) = (None, 0);
        handle.with(&mut |switch| {
            cpu_port = switch.options().cpu_port;
            let program = switch.program();
            let found = desks.iter().position(|desk| Arc::ptr_eq(&desk.program, program));
            desk = found.unwrap_or_else(|| {
                desks.push(Desk::new(Arc::clone(program)));
                desks.len() - 1
            });
        });
        Self { handle, mac, desk, copies: Copies { cpu_port, counts: P4Counts::default() } }
    }

    pub fn counts(&self) -> P4Counts {
        self.copies.counts
    }

    /// A copy was for a port without a link.
    pub fn count_no_link(&mut self) {
        self.copies.counts.no_link += 1;
    }

    /// What arrived at `port`, as octets. `source` is the sender's MAC address.
    pub fn frame(&self, load: Load, source: Mac) -> Vec<u8> {
        match load {
            Load::Frame(frame) => frame,
            Load::Packet(packet) => frame::encode(&packet, source, self.mac),
        }
    }

    /// Does something with the switch at the node's desk.
    #[inline]
    fn work(&mut self, desks: &mut [Desk], mut work: impl FnMut(At<'_>)) {
        let Self { handle, desk, copies, .. } = self;
        let Some(desk) = desks.get_mut(*desk) else { return };
        handle.with(&mut |switch| {
            switch.exchange(&mut desk.work);
            work(At { switch, desk, copies, handle: &**handle });
            switch.exchange(&mut desk.work);
        });
    }

    /// Ingress of a frame that arrived at `port`; its copies go to the queues.
    pub fn ingress(&mut self, now: Nanos, port: u32, frame: &[u8], desks: &mut [Desk], queued: &mut Queued) {
        let Ok(port) = u16::try_from(port) else { return };
        self.work(desks, |mut at| {
            at.switch.ingress(now, port, frame, &mut at.desk.copies);
            at.enqueue(now, || link::frame::arrival(frame), queued);
        });
    }

    /// As `ingress`, but a packet's only copy that would leave its queue at once does. Returns the port that it left by;
    /// what that has put under way is to be looked after.
    pub fn pass(
        &mut self,
        now: Nanos,
        port: u32,
        mut frame: Vec<u8>,
        exits: &mut Exits<'_>,
        desks: &mut [Desk],
        queued: &mut Queued,
    ) -> Option<u16> {
        let port = u16::try_from(port).ok()?;
        let mut left_by = None;
        self.work(desks, |mut at| {
            let desk = &mut *at.desk;
            let mut enters = |port, len| exits.channel(port).is_some_and(|channel| channel.enters(now, len));
            desk.out.clear();
            let through = at.switch.ingress_through(now, port, &frame, &mut enters, &mut desk.out, &mut desk.copies);
            let arrival = (!desk.copies.is_empty()).then(|| link::frame::arrival(&frame));
            let mut frame = std::mem::take(&mut frame);
            if let Some(through) = through {
                left_by = Some(through.port);
                *exits.number += 1;
                let number = *exits.number;
                if let Some(channel) = exits.channel(through.port).filter(|_| through.is_sent) {
                    match through.payload {
                        Some(payload) => put_head(&mut frame, payload, &desk.out),
                        None => std::mem::swap(&mut frame, &mut desk.out),
                    }
                    transmit(now, channel, number, std::mem::take(&mut frame));
                }
            }
            desk.keep(frame);
            if let Some(arrival) = arrival {
                at.enqueue(now, || arrival, queued);
            }
        });
        left_by
    }

    /// Egress of what leaves a port's queue, and its transmission. Clones go to the queues.
    pub fn depart(&mut self, now: Nanos, channel: &mut Channel, desks: &mut [Desk], queued: &mut Queued) {
        self.work(desks, |mut at| {
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
                let desk = &mut *at.desk;
                desk.out.clear();
                if at.switch.egress(now, copy, &meta, &mut desk.out, &mut desk.copies).is_some() {
                    if left.marked {
                        link::frame::mark(&mut desk.out);
                    }
                    let spare = desk.spare.pop().unwrap_or_default();
                    transmit(now, channel, number, std::mem::replace(&mut desk.out, spare));
                }
                at.enqueue(now, || arrival, queued);
            }
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
}

/// A node at work, while it has its switch.
struct At<'w> {
    switch: &'w mut Switch,
    desk: &'w mut Desk,
    copies: &'w mut Copies,
    handle: &'w dyn SwitchHandle,
}

impl At<'_> {
    /// Hands copies to the queues of their ports; those for the control plane have none.
    fn enqueue(&mut self, now: Nanos, arrival: impl Fn() -> Arrival, queued: &mut Queued) {
        let Desk { copies, out, .. } = &mut *self.desk;
        if copies.is_empty() {
            return;
        }
        // Egress for the control plane may clone again: what it appends is worked off here too.
        let is_for_control = |copy: &PacketCopy| Some(copy.port()) == self.copies.cpu_port;
        while let Some(at) = copies.iter().position(is_for_control) {
            let copy = copies.remove(at);
            let meta = QueueMeta { enq_timestamp_us: now / MICROSECOND, ..QueueMeta::default() };
            out.clear();
            if self.switch.egress(now, copy, &meta, out, copies).is_some() {
                self.copies.counts.packet_ins += 1;
                self.handle.packet_in(now, out);
            }
        }
        let arrival = arrival();
        queued.extend(copies.drain(..).map(|copy| (u32::from(copy.port()), Cargo::Copy(copy, arrival))));
    }
}

impl Desk {
    fn new(program: Arc<Program>) -> Self {
        Self { program, work: Box::default(), copies: Vec::new(), out: Vec::new(), spare: Vec::new() }
    }

    /// Keeps a frame's room, if it has some.
    fn keep(&mut self, frame: Vec<u8>) {
        if frame.capacity() > 0 && self.spare.len() < SPARE {
            self.spare.push(frame);
        }
    }
}

/// Sends what egress has written.
fn transmit(now: Nanos, channel: &mut Channel, number: u64, frame: Vec<u8>) {
    let (len, cargo) = (frame.len() as u32, Cargo::Load(Load::Frame(frame)));
    // What is lost on the wire is counted by the link.
    let _ = channel.link.transmit(now, len, Flight { number, cargo });
}

/// Puts headers in front of a frame's payload, in the place of those there.
fn put_head(frame: &mut Vec<u8>, payload: usize, head: &[u8]) {
    match frame.get_mut(..payload).filter(|old| old.len() == head.len()) {
        Some(old) => old.copy_from_slice(head),
        None => drop(frame.splice(..payload.min(frame.len()), head.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use link::{CodelConfig, DualPi2Config, FqCodelConfig, Limit, Link, LinkConfig, PieConfig, QueueConfig, RedConfig};
    use p4vm::{ActionCall, EntryTarget, MatchKey, Options, Program};

    use super::*;
    use crate::channel::End;
    use crate::time::MILLISECOND;

    /// Joins ports by a table; packets of EtherType 0x88b5 carry their queueing metadata.
    const CROSSBAR: &str = include_str!("../../../../tests/engine/data/crossbar.json");

    /// What leaves port 2 at 8 Mbit/s, of frames that come together at 5 ms to port 1.
    fn pass(queue: QueueConfig, frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut switch = Switch::new(Program::from_json(CROSSBAR).expect("p4c's"), Options::default());
        let call = ActionCall { action: "ingress.forward".to_owned(), params: vec![vec![0, 2]] };
        let key = [MatchKey::Value(vec![0, 1])];
        switch.table_add("crossbar", &key, 0, &EntryTarget::Action(call), 0).expect("a rule");
        let mut desks = Vec::new();
        let mut node = P4Node::new(LocalSwitch::new(switch), [2; 6], &mut desks);
        let config = LinkConfig { rate_bps: Some(8_000_000), queue, ..LinkConfig::default() };
        let (from, to) = (End { node: 0, port: 2 }, End { node: 1, port: 0 });
        let mut channel = Channel::new(0, from, to, Link::new(config, 1).expect("a link"), true);
        let (mut queued, mut number) = (Queued::new(), 0);
        for frame in frames {
            node.ingress(5 * MILLISECOND, 1, frame, &mut desks, &mut queued);
            for (port, cargo) in queued.drain(..) {
                assert_eq!(port, 2);
                number += 1;
                channel.offer(5 * MILLISECOND, number, cargo).expect("there is room");
            }
        }
        while let Some(time) = channel.link.next_departure() {
            node.depart(time, &mut channel, &mut desks, &mut queued);
        }
        let delivered = std::iter::from_fn(|| channel.link.deliver(Nanos::MAX));
        let frames = delivered.map(|packet| match packet.item.cargo {
            Cargo::Load(Load::Frame(frame)) => frame,
            other => panic!("{other:?} is no frame"),
        });
        frames.collect()
    }

    #[test]
    fn egress_sees_every_kind_of_queue() {
        let limit = Limit::Packets(10);
        let mut frame = vec![0xff; 12];
        frame.extend([0x88, 0xb5]);
        frame.resize(1000, 0);
        for queue in [
            QueueConfig::DropTail(limit),
            QueueConfig::Red(RedConfig::new(limit, 5.0, 9.0)),
            QueueConfig::Codel(CodelConfig::new(limit)),
            QueueConfig::FqCodel(FqCodelConfig::new(limit)),
            QueueConfig::Pie(PieConfig::new(limit)),
            QueueConfig::DualPi2(DualPi2Config::new(limit)),
        ] {
            let word = |octets: &[u8]| octets.iter().fold(0u32, |word, &octet| word << 8 | u32::from(octet));
            let sent = pass(queue, &vec![frame.clone(); 4]);
            let seen: Vec<_> =
                sent.iter().map(|f| [&f[14..18], &f[18..22], &f[22..25], &f[25..28]].map(word)).collect();
            // enq_timestamp and deq_timedelta in microseconds, enq_qdepth, deq_qdepth. The first one leaves when the
            // others have come; it was due before them, so the second finds nobody waiting.
            assert_eq!(seen, [[5000, 0, 0, 3], [5000, 1000, 0, 2], [5000, 2000, 1, 1], [5000, 3000, 2, 0]]);
        }
    }

    #[test]
    fn the_link_marks_what_egress_has_written() {
        let datagram = |ecn: u8| {
            let mut packet = crate::packet::Packet::udp(
                (std::net::Ipv4Addr::new(10, 0, 0, 1), 1),
                (std::net::Ipv4Addr::new(10, 0, 0, 2), 2),
                vec![0; 958].into(),
            );
            packet.ecn = ecn;
            frame::encode(&packet, [2; 6], [4; 6]).to_vec()
        };
        let dual = QueueConfig::DualPi2(DualPi2Config::new(Limit::Packets(10)));
        for (ecn, marked) in [(0b01, [1, 1, 3, 3, 3, 1]), (0b00, [0; 6])] {
            let sent = pass(dual.clone(), &vec![datagram(ecn); 6]);
            // 2, 3 and 4 ms in the L queue are too long; decoding checks the header's checksum.
            let seen: Vec<u8> = sent.iter().map(|f| frame::decode(f).expect("a sound packet").ecn).collect();
            assert_eq!(seen, marked);
        }
    }

    #[test]
    fn a_head_of_any_length_takes_another_ones_place() {
        for head in [&b""[..], b"1", b"12", b"123"] {
            let mut frame = b"abpayload".to_vec();
            put_head(&mut frame, 2, head);
            assert_eq!(frame, [head, b"payload"].concat());
        }
    }
}
