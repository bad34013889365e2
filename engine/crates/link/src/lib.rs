//! One direction of a link in virtual time. No I/O, no clock, no threads: every call takes the time.
//!
//! ```text
//!   offer ──► queue ──► dequeue ─(egress processing)─► transmit ──► loss ──► in flight ──► deliver
//!              DropTail  at its time                    len / rate            + delay
//!              RED, CoDel, FQ-CoDel, PIE, DualPI2
//! ```
//!
//! A driver owns the clock: the simulator's event loop or the live switch. It calls [`Link::offer`] for a packet that
//! arrives, asks [`Link::next_event_time`] when it is next needed, and at that time calls [`Link::dequeue`] and
//! [`Link::deliver`] until both have nothing. Between `dequeue` and `transmit` a switch runs its egress pipeline, which
//! may change the packet's length or drop it: then `transmit` is not called, and the transmitter stays free. A driver
//! that is late passes the time at which the event was due, not the time at which it got round to it, so that
//! lateness costs no rate. A packet that [`Link::dequeue`] gives as marked gets its mark ([`frame::mark`]) from the driver.
//!
//! Order at one instant is part of the definition: a departure comes before an arrival at the same queue. A departure
//! that is due but not yet carried out therefore no longer counts against an arrival, in whichever order a driver calls.

#![forbid(unsafe_code)]

mod codel;
pub mod config;
mod discipline;
mod disturb;
mod dualpi2;
pub mod ecn;
mod fifo;
mod fq_codel;
pub mod frame;
mod loss;
mod pi;
mod pie;
mod queue;
pub mod random;
mod red;
pub mod stats;
mod transmitter;

use std::collections::VecDeque;

pub use config::{
    CodelConfig, ConfigError, DualPi2Config, FqCodelConfig, GilbertElliott, Limit, LinkConfig, LossConfig, PiConfig,
    PieConfig, QueueConfig, RedConfig, Reorder,
};
pub use ecn::{Arrival, Ecn};
pub use stats::{Reason, Stats};

use discipline::Offer;
use disturb::Disturbance;
use fifo::{charge, Waiting};
use loss::Loss;
use queue::Queue;
use transmitter::Transmitter;

/// A packet that was not taken, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    pub item: T,
    pub reason: Reason,
}

/// A packet that leaves its queue, with what P4's queueing metadata wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dequeued<T> {
    pub item: T,
    /// Bytes, as it was offered.
    pub len: u32,
    pub enq_time_ns: u64,
    /// Packets waiting when it arrived, itself not among them.
    pub enq_depth: u32,
    /// Nanoseconds in the queue.
    pub deq_timedelta_ns: u64,
    /// Packets that still wait.
    pub deq_depth: u32,
    /// The queue marked it: set ECN's congestion experienced.
    pub marked: bool,
}

/// A packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered<T> {
    pub item: T,
    /// Bytes, as it was transmitted.
    pub len: u32,
    pub time_ns: u64,
    /// The path has doubled it: it arrives twice.
    pub is_twice: bool,
}

/// One direction of a link that carries items of type `T`.
#[derive(Clone, Debug)]
pub struct Link<T> {
    /// Boxed, as the loss is: what each packet touches stays within few cache lines.
    config: Box<LinkConfig>,
    wire: Wire,
    up: bool,
    queue: Queue<T>,
    transmitter: Transmitter,
    /// None while there has been no loss.
    loss: Option<Box<Loss>>,
    seed: u64,
    /// None while there has been none.
    disturbance: Option<Box<Disturbance>>,
    /// Ordered by time. Whatever the delay was, a link does not reorder unless it is told to. Only the head needs a timer.
    in_flight: VecDeque<Delivered<T>>,
    /// When the last of them arrives, or arrived, late ones aside.
    last_delivery_ns: u64,
    in_flight_bytes: u64,
    stats: Stats,
}

/// What transmission needs of the configuration.
#[derive(Clone, Copy, Debug)]
struct Wire {
    delay_ns: u64,
    in_flight_limit_bytes: u64,
    overhead_bytes: u32,
    max_frame_bytes: u32,
}

impl Wire {
    fn new(config: &LinkConfig) -> Self {
        let &LinkConfig { delay_ns, in_flight_limit_bytes, overhead_bytes, max_frame_bytes, .. } = config;
        Self { delay_ns, in_flight_limit_bytes, overhead_bytes, max_frame_bytes }
    }
}

impl<T> Link<T> {
    /// A link whose random choices come from streams of `seed` (see [`random::derive`] to give each link its own).
    pub fn new(config: LinkConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            up: true,
            wire: Wire::new(&config),
            queue: Queue::new(&config.queue, seed),
            transmitter: Transmitter::new(config.rate_bps),
            loss: Loss::new(config.loss, seed).map(Box::new),
            disturbance: Disturbance::new(&config, seed).map(Box::new),
            seed,
            in_flight: VecDeque::new(),
            last_delivery_ns: 0,
            in_flight_bytes: 0,
            stats: Stats::default(),
            config: Box::new(config),
        })
    }

    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes the link from now on: packets that wait or are under way stay, and random streams go on.
    pub fn set_config(&mut self, config: LinkConfig) -> Result<(), ConfigError> {
        config.validate()?;
        self.queue.set_config(&config.queue);
        self.transmitter.set_rate(config.rate_bps);
        match &mut self.loss {
            Some(loss) => loss.set_model(config.loss),
            none => *none = Loss::new(config.loss, self.seed).map(Box::new),
        }
        match &mut self.disturbance {
            Some(disturbance) => disturbance.set_config(&config),
            none => *none = Disturbance::new(&config, self.seed).map(Box::new),
        }
        self.wire = Wire::new(&config);
        *self.config = config;
        Ok(())
    }

    /// A packet arrives at the queue. One that is refused comes back; one that is dropped for another's sake is gone.
    pub fn offer(&mut self, now_ns: u64, arrival: impl Into<Arrival>, item: T) -> Result<(), Dropped<T>> {
        let Arrival { len, ecn, flow } = arrival.into();
        self.stats.offered_packets += 1;
        self.stats.offered_bytes += u64::from(len);
        if !self.up {
            return Err(self.dropped(item, Reason::Down));
        }
        if len > self.wire.max_frame_bytes {
            return Err(self.dropped(item, Reason::Oversize));
        }
        let offer = self.surroundings(now_ns, flow);
        let before = self.queue.packets();
        let enq_depth = before.saturating_sub(offer.due_packets) as u32;
        let packet = Waiting { item, enq_time_ns: now_ns, len, enq_depth, ecn, marked: false };
        if let Err((item, reason)) = self.queue.offer(packet, &offer, &mut self.stats) {
            return Err(self.dropped(item, reason));
        }
        self.stats.held(now_ns, before);
        let packets = self.queue.packets().saturating_sub(offer.due_packets);
        self.stats.filled(packets, self.queue.bytes().saturating_sub(offer.due_bytes));
        Ok(())
    }

    /// Whether the queue looks at an [`Arrival`]'s flow: where not, its hash need not be computed.
    pub fn sorts_by_flow(&self) -> bool {
        self.queue.sorts_by_flow()
    }

    /// As [`Link::offer`], [`Link::dequeue`] and [`Link::transmit`] at one instant, for a packet that would leave at once:
    /// nobody is before it and no queue discipline looks at it. Otherwise the packet comes back, and nothing happened.
    pub fn pass(&mut self, now_ns: u64, len: u32, item: T) -> Result<Result<u64, Dropped<T>>, T> {
        if !self.up || self.transmitter.free_at_ns() > now_ns || !self.queue.is_open_for(len) {
            return Err(item);
        }
        self.stats.offered_packets += 1;
        self.stats.offered_bytes += u64::from(len);
        self.stats.held(now_ns, 0);
        Ok(self.transmit(now_ns, len, item))
    }

    /// As [`Link::offer`] and [`Link::dequeue`] at one instant, for a packet that would leave at once: its driver transmits
    /// it then, or drops it. Otherwise false, and nothing happened.
    pub fn enter(&mut self, now_ns: u64, len: u32) -> bool {
        let is_busy = !self.up || self.transmitter.free_at_ns() > now_ns || !self.queue.is_open_for(len);
        if is_busy || len > self.wire.max_frame_bytes {
            return false;
        }
        self.stats.offered_packets += 1;
        self.stats.offered_bytes += u64::from(len);
        self.stats.held(now_ns, 0);
        self.stats.filled(1, charge(len));
        true
    }

    /// When [`Link::dequeue`] will next have a packet: the transmitter is free and something waits.
    pub fn next_departure(&self) -> Option<u64> {
        self.queue.next().map(|(since_ns, _)| since_ns.max(self.transmitter.free_at_ns()))
    }

    /// When [`Link::deliver`] will next have a packet.
    pub fn next_delivery(&self) -> Option<u64> {
        self.in_flight.front().map(|packet| packet.time_ns)
    }

    /// The packet that [`Link::deliver`] will give next.
    pub fn head_in_flight(&self) -> Option<&Delivered<T>> {
        self.in_flight.front()
    }

    /// When the link next needs its driver.
    pub fn next_event_time(&self) -> Option<u64> {
        match (self.next_departure(), self.next_delivery()) {
            (Some(departure), Some(delivery)) => Some(departure.min(delivery)),
            (departure, delivery) => departure.or(delivery),
        }
    }

    /// Takes the next packet from the queue if its departure is due at `now_ns`; None also when an AQM has dropped all that
    /// waited.
    pub fn dequeue(&mut self, now_ns: u64) -> Option<Dequeued<T>> {
        if self.next_departure()? > now_ns {
            return None;
        }
        self.stats.held(now_ns, self.queue.packets());
        let packet = self.queue.pop(now_ns, &mut self.stats)?;
        let deq_timedelta_ns = packet.sojourn_ns(now_ns);
        let Waiting { item, len, enq_time_ns, enq_depth, marked, .. } = packet;
        Some(Dequeued {
            item,
            len,
            enq_time_ns,
            enq_depth,
            deq_timedelta_ns,
            deq_depth: self.queue.packets() as u32,
            marked,
        })
    }

    /// Transmits a packet that was dequeued at `now_ns` and has `len` bytes by now. Returns when its last bit has left.
    /// A packet that is lost on the wire comes back at once, though it occupies the transmitter like any other; one that is
    /// too long does not.
    pub fn transmit(&mut self, now_ns: u64, len: u32, item: T) -> Result<u64, Dropped<T>> {
        if len > self.wire.max_frame_bytes {
            return Err(self.dropped(item, Reason::Oversize));
        }
        let end = self.transmitter.send(now_ns, u64::from(len) + u64::from(self.wire.overhead_bytes));
        self.stats.sent_packets += 1;
        self.stats.sent_bytes += u64::from(len);
        if self.loss.as_mut().is_some_and(|loss| loss.loses()) {
            return Err(self.dropped(item, Reason::Loss));
        }
        if self.in_flight_bytes.saturating_add(charge(len)) > self.wire.in_flight_limit_bytes {
            return Err(self.dropped(item, Reason::InFlight));
        }
        let time_ns = end.saturating_add(self.wire.delay_ns).max(self.last_delivery_ns);
        self.in_flight_bytes += charge(len);
        let packet = Delivered { item, len, time_ns, is_twice: false };
        match self.disturbance {
            Some(_) => self.disturb(packet),
            None => {
                self.last_delivery_ns = time_ns;
                self.in_flight.push_back(packet);
            }
        }
        Ok(end)
    }

    /// Puts a packet under way on a path that delays some and doubles some.
    fn disturb(&mut self, mut packet: Delivered<T>) {
        let Some(disturbance) = &mut self.disturbance else { return };
        packet.is_twice = disturbance.doubles();
        self.stats.duplicated_packets += u64::from(packet.is_twice);
        match disturbance.extra_delay_ns() {
            Some(extra) => {
                self.stats.reordered_packets += 1;
                packet.time_ns = packet.time_ns.saturating_add(extra);
            }
            None => self.last_delivery_ns = packet.time_ns,
        }
        let at = self.in_flight.partition_point(|other| other.time_ns <= packet.time_ns);
        self.in_flight.insert(at, packet);
    }

    /// Whether a packet may overtake others that are under way.
    pub fn reorders(&self) -> bool {
        self.disturbance.is_some()
    }

    /// Takes the next packet that has reached the far end by `now_ns`.
    pub fn deliver(&mut self, now_ns: u64) -> Option<Delivered<T>> {
        if self.next_delivery()? > now_ns {
            return None;
        }
        let packet = self.in_flight.pop_front()?;
        self.in_flight_bytes -= charge(packet.len);
        let copies = 1 + u64::from(packet.is_twice);
        self.stats.delivered_packets += copies;
        self.stats.delivered_bytes += copies * u64::from(packet.len);
        Some(packet)
    }

    /// Takes the link down, with the loss of all that waits and is under way, or up again.
    pub fn set_up(&mut self, now_ns: u64, up: bool) {
        self.up = up;
        if !up {
            self.stats.held(now_ns, self.queue.packets());
            let lost = self.queue.packets() + self.in_flight.len() as u64;
            self.stats.drop(Reason::Down, lost);
            self.queue.clear();
            self.in_flight.clear();
            self.last_delivery_ns = 0;
            self.in_flight_bytes = 0;
        }
    }

    pub fn queue_packets(&self) -> u64 {
        self.queue.packets()
    }

    pub fn queue_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    pub fn in_flight_packets(&self) -> u64 {
        self.in_flight.len() as u64
    }

    /// RED's average queue, in packets or bytes.
    pub fn red_average(&self) -> Option<f64> {
        self.queue.red_average()
    }

    /// The probability that PIE's controller has set, or DualPI2's: of that the base probability p'.
    pub fn probability(&self) -> Option<f64> {
        self.queue.probability()
    }

    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn dropped(&mut self, item: T, reason: Reason) -> Dropped<T> {
        self.stats.drop(reason, 1);
        Dropped { item, reason }
    }

    /// An arrival, and the transmitter at that moment.
    fn surroundings(&self, now_ns: u64, flow: u32) -> Offer {
        let rate_bps = self.transmitter.rate_bps();
        let idle_ns = now_ns.saturating_sub(self.transmitter.free_at_ns());
        let due = now_ns >= self.transmitter.free_at_ns();
        let (due_packets, due_bytes, idle_ns) = match self.queue.next() {
            None => (0, 0, idle_ns),
            Some(_) if due && rate_bps.is_none() => (self.queue.packets(), self.queue.bytes(), 0),
            Some((_, len)) if due => (1, charge(len), 0),
            Some(_) => (0, 0, 0),
        };
        Offer { now_ns, flow, due_packets, due_bytes, idle_ns, rate_bps }
    }
}
