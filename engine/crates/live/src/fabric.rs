//! A switch with its links in virtual time: what happens between a frame's arrival at a port and its departure, without
//! sockets and without a clock.
//!
//! ```text
//!  receive ─► rx link ─► ingress ─► tx link: queue ─► egress ─► rate, loss, delay ─► outbox
//!            (optional)     │  replication                 │
//!            inject ────────┘                              └─► CPU port: packet-in
//! ```
//!
//! Link events that are due are carried out at the time they were due, however late the caller is: lateness costs no
//! rate, and queue metadata holds the emulated link's times.

use std::collections::VecDeque;

use link::frame::{arrival, mark};
use link::{random, Arrival, ConfigError};
use p4vm::{PacketCopy, QueueMeta, Rate, Switch};

use crate::events::EventQueue;
use crate::pool::Pool;
use crate::port::{Departed, Item, LinkSettings, Port};

/// Marks a port number that no port has.
const NO_PORT: u16 = u16::MAX;

/// The ports of one switch and the packets between them.
pub struct Fabric {
    seed: u64,
    cpu_port: Option<u16>,
    ports: Vec<Port>,
    /// Port number to position in `ports`, or `NO_PORT`.
    positions: Vec<u16>,
    /// Copies that p4vm has just made, and those that wait for their turn to be queued.
    copies: Vec<PacketCopy>,
    pending: VecDeque<(PacketCopy, Arrival)>,
    pool: Pool,
    outgoing: usize,
    packet_in_rate: Rate,
    /// Copies for a port that has no device.
    pub drop_no_port: u64,
}

impl Fabric {
    /// Each link draws from streams of its own, derived from `seed`.
    pub fn new(seed: u64, cpu_port: Option<u16>) -> Self {
        Self {
            seed,
            cpu_port,
            ports: Vec::new(),
            positions: vec![NO_PORT; usize::from(NO_PORT)],
            copies: Vec::new(),
            pending: VecDeque::new(),
            pool: Pool::default(),
            outgoing: 0,
            packet_in_rate: Rate::default(),
            drop_no_port: 0,
        }
    }

    /// Adds a port. Its number must be free.
    pub fn add_port(&mut self, number: u16, tx: LinkSettings, rx: Option<LinkSettings>) -> Result<(), ConfigError> {
        let tx = tx.build(|| self.link_seed(number, "tx"))?;
        let rx = rx.map(|settings| settings.build(|| self.link_seed(number, "rx"))).transpose()?;
        self.positions[usize::from(number)] = self.ports.len() as u16;
        self.ports.push(Port::new(number, tx, rx));
        Ok(())
    }

    /// How many packet-ins each port may cause; more are dropped before egress, and counted at the port.
    pub fn set_packet_in_rate(&mut self, rate: Rate) {
        self.packet_in_rate = rate;
    }

    /// Removes a port with all that its links hold.
    pub fn remove_port(&mut self, number: u16) {
        if let Some(position) = self.position(number) {
            self.outgoing -= self.ports.swap_remove(position).outbox.len();
            self.positions[usize::from(number)] = NO_PORT;
            if let Some(moved) = self.ports.get(position) {
                self.positions[usize::from(moved.number)] = position as u16;
            }
        }
    }

    /// Changes a port's links; what they hold stays. None leaves a direction as it is.
    pub fn set_link(
        &mut self,
        number: u16,
        tx: Option<LinkSettings>,
        rx: Option<LinkSettings>,
    ) -> Result<(), ConfigError> {
        let rx_seed = self.link_seed(number, "rx");
        let Some(port) = self.port_mut(number) else { return Ok(()) };
        // Both are checked before either is changed.
        if let Some(rx) = &rx {
            rx.config.validate()?;
        }
        if let Some(tx) = tx {
            port.tx.set_config(tx.bounded())?;
        }
        match (rx, &mut port.rx) {
            (Some(settings), Some(link)) => link.set_config(settings.bounded())?,
            (Some(settings), empty) => *empty = Some(settings.build(|| rx_seed)?),
            (None, _) => (),
        }
        Ok(())
    }

    /// Takes a port down, with the loss of all that its links hold, or up.
    pub fn set_up(&mut self, now_ns: u64, number: u16, up: bool) {
        if let Some(port) = self.port_mut(number) {
            port.up = up;
            port.tx.set_up(now_ns, up);
            if let Some(rx) = &mut port.rx {
                rx.set_up(now_ns, up);
            }
        }
    }

    pub fn port(&self, number: u16) -> Option<&Port> {
        self.position(number).map(|position| &self.ports[position])
    }

    fn port_mut(&mut self, number: u16) -> Option<&mut Port> {
        self.position(number).map(|position| &mut self.ports[position])
    }

    /// When a link next has something to do.
    pub fn next_event_time(&self) -> Option<u64> {
        self.ports.iter().filter_map(Port::next_event_time).min()
    }

    /// Carries out link events that are due, in order of time, but no more than `budget`. Returns whether that was all.
    pub fn advance(&mut self, switch: &mut Switch, events: &EventQueue, now_ns: u64, budget: usize) -> bool {
        for _ in 0..budget {
            let next = self.ports.iter().enumerate().filter_map(|(at, port)| Some((port.next_event_time()?, at))).min();
            match next {
                Some((time, at)) if time <= now_ns => {
                    self.run_tx(switch, at, time);
                    self.run_rx(switch, events, at, time);
                    self.dispatch(switch, events, time);
                }
                _ => return true,
            }
        }
        false
    }

    /// A frame arrives at a port from outside. Events before `now_ns` must have been carried out.
    pub fn receive(&mut self, switch: &mut Switch, events: &EventQueue, now_ns: u64, number: u16, frame: &[u8]) {
        let Some(at) = self.position(number) else { return };
        let port = &mut self.ports[at];
        port.rx_packets += 1;
        port.rx_bytes += frame.len() as u64;
        if !port.up {
            port.rx_drop_down += 1;
            return;
        }
        match &mut port.rx {
            None => self.ingress(switch, now_ns, number, frame),
            Some(rx) => {
                let mut held = self.pool.take();
                held.extend_from_slice(frame);
                if let Err(dropped) = rx.offer(now_ns, arrival(frame), held) {
                    self.pool.give(dropped.item);
                }
                self.run_rx(switch, events, at, now_ns);
            }
        }
        self.dispatch(switch, events, now_ns);
    }

    /// The first half of the pipeline; its copies wait for their queues.
    fn ingress(&mut self, switch: &mut Switch, now_ns: u64, number: u16, frame: &[u8]) {
        switch.ingress(now_ns, number, frame, &mut self.copies);
        let arrival = arrival(frame);
        self.pending.extend(self.copies.drain(..).map(|copy| (copy, arrival)));
    }

    /// A packet enters ingress as if it had arrived at `number`, past any link: a packet-out at the CPU port.
    pub fn inject(&mut self, switch: &mut Switch, events: &EventQueue, now_ns: u64, number: u16, packet: &[u8]) {
        self.ingress(switch, now_ns, number, packet);
        self.dispatch(switch, events, now_ns);
    }

    /// Frames that wait for their devices.
    pub fn outgoing(&self) -> usize {
        self.outgoing
    }

    /// Hands each port's outgoing frames, in order, to `send`, which may take them away; what it leaves is forgotten.
    pub fn flush(&mut self, mut send: impl FnMut(u16, &mut Vec<Departed>)) {
        if self.outgoing == 0 {
            return;
        }
        self.outgoing = 0;
        for port in &mut self.ports {
            if !port.outbox.is_empty() {
                send(port.number, &mut port.outbox);
                port.outbox.drain(..).for_each(|one| self.pool.give(one.frame));
            }
        }
    }

    /// Takes a buffer back that a flush gave away.
    pub fn reclaim(&mut self, buffer: Vec<u8>) {
        self.pool.give(buffer);
    }

    /// Queues new copies at their ports, and carries out what is due there at once.
    fn dispatch(&mut self, switch: &mut Switch, events: &EventQueue, now_ns: u64) {
        loop {
            let Some((copy, arrival)) = self.pending.pop_front() else { return };
            if Some(copy.port()) == self.cpu_port {
                self.packet_in(switch, events, now_ns, copy, arrival);
                continue;
            }
            let Some(at) = self.position(copy.port()) else {
                self.drop_no_port += 1;
                switch.recycle(copy);
                continue;
            };
            let len = u32::try_from(copy.len()).unwrap_or(u32::MAX);
            let arrival = Arrival { len, ..arrival };
            if let Err(dropped) = self.ports[at].tx.offer(now_ns, arrival, Item::Copy(copy, arrival)) {
                self.discard(switch, dropped.item);
            }
            self.run_tx(switch, at, now_ns);
        }
    }

    /// Carries out what is due at a port's tx link: departures with egress processing, and deliveries.
    fn run_tx(&mut self, switch: &mut Switch, at: usize, now_ns: u64) {
        let Fabric { ports, copies, pending, pool, outgoing, .. } = self;
        let Some(Port { tx, outbox, .. }) = ports.get_mut(at) else { return };
        while let Some(time) = tx.next_event_time().filter(|&time| time <= now_ns) {
            while let Some(packet) = tx.dequeue(time) {
                let Item::Copy(copy, arrival) = packet.item else { continue };
                let queue = QueueMeta {
                    enq_timestamp_us: packet.enq_time_ns / 1000,
                    enq_qdepth: packet.enq_depth,
                    deq_timedelta_us: packet.deq_timedelta_ns / 1000,
                    deq_qdepth: packet.deq_depth,
                    qid: 0,
                };
                let mut frame = pool.take();
                let sent = match switch.egress(time, copy, &queue, &mut frame, copies) {
                    Some(_) => {
                        if packet.marked {
                            mark(&mut frame);
                        }
                        tx.transmit(time, length(&frame), Item::Frame(frame)).map(drop)
                    }
                    None => {
                        pool.give(frame);
                        Ok(())
                    }
                };
                pending.extend(copies.drain(..).map(|copy| (copy, arrival)));
                if let Err(link::Dropped { item: Item::Frame(frame), .. }) = sent {
                    pool.give(frame);
                }
            }
            while let Some(packet) = tx.deliver(time) {
                if let Item::Frame(frame) = packet.item {
                    if packet.is_twice {
                        let mut copy = pool.take();
                        copy.extend_from_slice(&frame);
                        outbox.push(Departed { at_ns: time, frame: copy });
                        *outgoing += 1;
                    }
                    outbox.push(Departed { at_ns: time, frame });
                    *outgoing += 1;
                }
            }
        }
    }

    /// Carries out what is due at a port's rx link, and ingress for what has come through.
    fn run_rx(&mut self, switch: &mut Switch, events: &EventQueue, at: usize, now_ns: u64) {
        while let Some(Port { rx: Some(rx), number, .. }) = self.ports.get_mut(at) {
            let Some(time) = rx.next_event_time().filter(|&time| time <= now_ns) else { return };
            while let Some(mut packet) = rx.dequeue(time) {
                if packet.marked {
                    mark(&mut packet.item);
                }
                if let Err(dropped) = rx.transmit(time, packet.len, packet.item) {
                    self.pool.give(dropped.item);
                }
            }
            if let Some(packet) = rx.deliver(time) {
                let number = *number;
                for _ in 0..1 + usize::from(packet.is_twice) {
                    self.ingress(switch, time, number, &packet.item);
                }
                self.pool.give(packet.item);
                self.dispatch(switch, events, time);
            }
        }
    }

    /// Egress for the CPU port, which has no link.
    fn packet_in(&mut self, switch: &mut Switch, events: &EventQueue, now_ns: u64, copy: PacketCopy, arrival: Arrival) {
        let rate = self.packet_in_rate;
        if let Some(port) = self.port_mut(copy.ingress_port()) {
            if !port.packet_ins.take(rate, now_ns) {
                port.packet_ins_limited += 1;
                switch.recycle(copy);
                return;
            }
        }
        let queue = QueueMeta { enq_timestamp_us: now_ns / 1000, ..QueueMeta::default() };
        let mut packet = self.pool.take();
        if switch.egress(now_ns, copy, &queue, &mut packet, &mut self.copies).is_some() {
            events.push_packet_in(now_ns / 1000, &packet);
        }
        self.pending.extend(self.copies.drain(..).map(|copy| (copy, arrival)));
        self.pool.give(packet);
    }

    fn discard(&mut self, switch: &mut Switch, item: Item) {
        match item {
            Item::Copy(copy, _) => switch.recycle(copy),
            Item::Frame(frame) => self.pool.give(frame),
        }
    }

    fn position(&self, number: u16) -> Option<usize> {
        self.positions.get(usize::from(number)).filter(|&&at| at != NO_PORT).map(|&at| usize::from(at))
    }

    fn link_seed(&self, number: u16, direction: &str) -> u64 {
        random::derive(self.seed, &format!("port {number} {direction}"))
    }
}

fn length(frame: &[u8]) -> u32 {
    u32::try_from(frame.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "fabric_tests.rs"]
mod tests;
