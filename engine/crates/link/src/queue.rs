//! The queue in front of a transmitter, of any kind, in packets or bytes.

use crate::codel::CodelQueue;
use crate::config::{Limit, QueueConfig};
use crate::discipline::{Offer, Refusal};
use crate::dualpi2::DualPi2;
use crate::fifo::{has_room, Fifo, Waiting};
use crate::fq_codel::FqCodel;
use crate::pie::PieQueue;
use crate::red::RedQueue;
use crate::stats::{Reason, Stats};

/// Boxed where it is not DropTail: most links have no other, and a simulation has tens of thousands of links.
#[derive(Clone, Debug)]
enum Kind<T> {
    DropTail(Fifo<T>, Limit),
    Red(Box<RedQueue<T>>),
    Codel(Box<CodelQueue<T>>),
    FqCodel(Box<FqCodel<T>>),
    Pie(Box<PieQueue<T>>),
    DualPi2(Box<DualPi2<T>>),
}

#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    kind: Kind<T>,
    seed: u64,
}

impl<T> Kind<T> {
    fn new(config: &QueueConfig, seed: u64) -> Self {
        match config.clone() {
            QueueConfig::DropTail(limit) => Kind::DropTail(Fifo::default(), limit),
            QueueConfig::Red(red) => Kind::Red(Box::new(RedQueue::new(red, seed))),
            QueueConfig::Codel(codel) => Kind::Codel(Box::new(CodelQueue::new(codel))),
            QueueConfig::FqCodel(fq) => Kind::FqCodel(Box::new(FqCodel::new(fq, seed))),
            QueueConfig::Pie(pie) => Kind::Pie(Box::new(PieQueue::new(pie, seed))),
            QueueConfig::DualPi2(dual) => Kind::DualPi2(Box::new(DualPi2::new(dual))),
        }
    }

    /// The one FIFO of those kinds that have one.
    fn fifo(&self) -> Option<&Fifo<T>> {
        match self {
            Kind::DropTail(fifo, _) => Some(fifo),
            Kind::Red(queue) => Some(&queue.fifo),
            Kind::Codel(queue) => Some(&queue.fifo),
            Kind::Pie(queue) => Some(&queue.fifo),
            Kind::FqCodel(_) | Kind::DualPi2(_) => None,
        }
    }
}

impl<T> Queue<T> {
    pub fn new(config: &QueueConfig, seed: u64) -> Self {
        Self { kind: Kind::new(config, seed), seed }
    }

    /// Changes the discipline. Packets that wait stay, even beyond a smaller limit; the state of one that goes on being of
    /// its kind (RED's average, a controller's probability) goes on.
    pub fn set_config(&mut self, config: &QueueConfig) {
        match (&mut self.kind, config) {
            (Kind::DropTail(_, limit), QueueConfig::DropTail(new)) => *limit = *new,
            (Kind::Red(queue), QueueConfig::Red(red)) => queue.red.set_config(red.clone()),
            (Kind::Codel(queue), QueueConfig::Codel(codel)) => queue.config = codel.clone(),
            (Kind::FqCodel(queue), QueueConfig::FqCodel(fq)) if queue.queues() == fq.flows => {
                queue.set_config(fq.clone())
            }
            (Kind::Pie(queue), QueueConfig::Pie(pie)) => queue.set_config(pie.clone()),
            (Kind::DualPi2(queue), QueueConfig::DualPi2(dual)) => queue.set_config(dual.clone()),
            _ => {
                let mut next = Self::new(config, self.seed);
                while let Some(packet) = self.take() {
                    next.put(packet);
                }
                *self = next;
            }
        }
    }

    #[inline]
    pub fn packets(&self) -> u64 {
        match &self.kind {
            Kind::DropTail(fifo, _) => fifo.packets(),
            Kind::FqCodel(queue) => queue.packets(),
            Kind::DualPi2(queue) => queue.packets(),
            other => other.fifo().map_or(0, Fifo::packets),
        }
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        match &self.kind {
            Kind::DropTail(fifo, _) => fifo.bytes(),
            Kind::FqCodel(queue) => queue.bytes(),
            Kind::DualPi2(queue) => queue.bytes(),
            other => other.fifo().map_or(0, Fifo::bytes),
        }
    }

    /// From when on a packet could leave, and the length of the one whose turn it is; None when nothing waits.
    #[inline]
    pub fn next(&self) -> Option<(u64, u32)> {
        match &self.kind {
            Kind::DropTail(fifo, _) => fifo.head().map(|head| (head.enq_time_ns, head.len)),
            Kind::FqCodel(queue) => queue.next(),
            Kind::DualPi2(queue) => queue.next(),
            other => other.fifo()?.head().map(|head| (head.enq_time_ns, head.len)),
        }
    }

    /// Whether an arrival's flow matters.
    pub fn sorts_by_flow(&self) -> bool {
        matches!(self.kind, Kind::FqCodel(_))
    }

    pub fn red_average(&self) -> Option<f64> {
        match &self.kind {
            Kind::Red(queue) => Some(queue.red.average()),
            _ => None,
        }
    }

    /// The probability that PIE's or DualPI2's controller has set.
    pub fn probability(&self) -> Option<f64> {
        match &self.kind {
            Kind::Pie(queue) => Some(queue.probability()),
            Kind::DualPi2(queue) => Some(queue.base_probability()),
            _ => None,
        }
    }

    /// Lets a packet in, or says why not. What is dropped in its place, and marks, are counted in `stats`.
    pub fn offer(&mut self, packet: Waiting<T>, offer: &Offer, stats: &mut Stats) -> Result<(), Refusal<T>> {
        match &mut self.kind {
            Kind::DropTail(fifo, limit) => {
                let packets = fifo.packets().saturating_sub(offer.due_packets);
                let bytes = fifo.bytes().saturating_sub(offer.due_bytes);
                if !has_room(*limit, packets, bytes, packet.len) {
                    return Err((packet.item, Reason::QueueFull));
                }
                fifo.push(packet);
                Ok(())
            }
            Kind::Red(queue) => queue.offer(packet, offer, stats),
            Kind::Codel(queue) => queue.offer(packet, offer),
            Kind::FqCodel(queue) => {
                queue.push(packet, offer, stats);
                Ok(())
            }
            Kind::Pie(queue) => queue.offer(packet, offer, stats),
            Kind::DualPi2(queue) => queue.offer(packet, offer),
        }
    }

    /// Whether a packet that finds nobody before it is let in for certain, and leaves no trace in the discipline.
    #[inline]
    pub fn is_open_for(&self, len: u32) -> bool {
        matches!(&self.kind, Kind::DropTail(fifo, limit) if fifo.is_empty() && has_room(*limit, 0, 0, len))
    }

    /// The packet that leaves now. Those that are dropped before it are gone, and counted in `stats`.
    #[inline]
    pub fn pop(&mut self, now_ns: u64, stats: &mut Stats) -> Option<Waiting<T>> {
        match &mut self.kind {
            Kind::DropTail(fifo, _) => fifo.pop(),
            Kind::Red(queue) => queue.fifo.pop(),
            Kind::Codel(queue) => queue.pop(now_ns, stats),
            Kind::FqCodel(queue) => queue.pop(now_ns, stats),
            Kind::Pie(queue) => queue.pop(now_ns),
            Kind::DualPi2(queue) => queue.pop(now_ns, stats),
        }
    }

    /// Loses all that waits.
    pub fn clear(&mut self) {
        while self.take().is_some() {}
    }

    /// A packet, whatever the discipline would do with it.
    fn take(&mut self) -> Option<Waiting<T>> {
        match &mut self.kind {
            Kind::DropTail(fifo, _) => fifo.pop(),
            Kind::Red(queue) => queue.fifo.pop(),
            Kind::Codel(queue) => queue.fifo.pop(),
            Kind::FqCodel(queue) => queue.take(),
            Kind::Pie(queue) => queue.fifo.pop(),
            Kind::DualPi2(queue) => queue.take(),
        }
    }

    /// Puts a packet behind the others, whatever the discipline would say; its flow is not known any more.
    fn put(&mut self, packet: Waiting<T>) {
        match &mut self.kind {
            Kind::DropTail(fifo, _) => fifo.push(packet),
            Kind::Red(queue) => queue.fifo.push(packet),
            Kind::Codel(queue) => queue.fifo.push(packet),
            Kind::FqCodel(queue) => queue.put(packet),
            Kind::Pie(queue) => queue.fifo.push(packet),
            Kind::DualPi2(queue) => queue.push(packet),
        }
    }
}
