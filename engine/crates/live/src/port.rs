//! One port of the fabric: its links, what waits for its device, and its counts.

use link::{Arrival, ConfigError, Link, LinkConfig, Reason};
use p4vm::{Bucket, PacketCopy};

/// Bytes under way on one link, so that neither a long delay nor a high rate takes all memory.
const MAX_IN_FLIGHT_BYTES: u64 = 64 << 20;

/// What a link is, and the seed of its random choices unless the switch's own is to serve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSettings {
    pub config: LinkConfig,
    pub seed: Option<u64>,
}

impl LinkSettings {
    pub(crate) fn build<T>(self, default_seed: impl FnOnce() -> u64) -> Result<Link<T>, ConfigError> {
        let seed = self.seed.unwrap_or_else(default_seed);
        Link::new(self.bounded(), seed)
    }

    pub(crate) fn bounded(self) -> LinkConfig {
        let in_flight_limit_bytes = self.config.in_flight_limit_bytes.min(MAX_IN_FLIGHT_BYTES);
        LinkConfig { in_flight_limit_bytes, ..self.config }
    }
}

/// What is on its way through a tx link: before egress processing and after it.
pub enum Item {
    /// With what a queue wants to know of the frame that came in: its clones in egress take it on.
    Copy(PacketCopy, Arrival),
    Frame(Vec<u8>),
}

/// A frame that has left a tx link, and when: those with the same time left it at the same moment.
#[derive(Debug, Clone)]
pub struct Departed {
    pub at_ns: u64,
    pub frame: Vec<u8>,
}

/// A port's links and counts.
pub struct Port {
    pub number: u16,
    pub tx: Link<Item>,
    pub rx: Option<Link<Vec<u8>>>,
    pub up: bool,
    /// Frames that have left the tx link and wait for the device.
    pub outbox: Vec<Departed>,
    pub rx_packets: u64,
    pub rx_bytes: u64,
    pub rx_drop_down: u64,
    /// What is left of its rate of packet-ins, and how many were beyond it.
    pub packet_ins: Bucket,
    pub packet_ins_limited: u64,
}

impl Port {
    /// A port that is up.
    pub fn new(number: u16, tx: Link<Item>, rx: Option<Link<Vec<u8>>>) -> Self {
        Self {
            number,
            tx,
            rx,
            up: true,
            outbox: Vec::new(),
            rx_packets: 0,
            rx_bytes: 0,
            rx_drop_down: 0,
            packet_ins: Bucket::default(),
            packet_ins_limited: 0,
        }
    }

    pub fn next_event_time(&self) -> Option<u64> {
        let rx = self.rx.as_ref().and_then(Link::next_event_time);
        match (self.tx.next_event_time(), rx) {
            (Some(tx), Some(rx)) => Some(tx.min(rx)),
            (tx, rx) => tx.or(rx),
        }
    }

    /// Name and value of what the links have counted.
    pub fn link_stats(&self) -> Vec<(&'static str, u64)> {
        let tx = self.tx.stats();
        let rx_dropped = |reason| self.rx.as_ref().map_or(0, |link| link.stats().dropped(reason));
        vec![
            ("up", u64::from(self.up)),
            ("rx_packets", self.rx_packets),
            ("rx_bytes", self.rx_bytes),
            ("queue_packets", self.tx.queue_packets()),
            ("queue_bytes", self.tx.queue_bytes()),
            ("queue_packets_max", tx.max_queue_packets),
            ("queue_bytes_max", tx.max_queue_bytes),
            ("in_flight_packets", self.tx.in_flight_packets()),
            ("drop_queue", tx.dropped(Reason::QueueFull)),
            ("drop_red", tx.dropped(Reason::RedEarly) + tx.dropped(Reason::RedForced)),
            ("drop_aqm", tx.dropped(Reason::Aqm)),
            ("marked_packets", tx.marked_packets),
            ("drop_mtu", tx.dropped(Reason::Oversize)),
            ("reordered_packets", tx.reordered_packets),
            ("duplicated_packets", tx.duplicated_packets),
            ("drop_loss", tx.dropped(Reason::Loss)),
            ("drop_in_flight", tx.dropped(Reason::InFlight)),
            ("drop_down", tx.dropped(Reason::Down)),
            ("rx_queue_packets", self.rx.as_ref().map_or(0, Link::queue_packets)),
            ("rx_drop_queue", rx_dropped(Reason::QueueFull)),
            ("rx_drop_red", rx_dropped(Reason::RedEarly) + rx_dropped(Reason::RedForced)),
            ("rx_drop_aqm", rx_dropped(Reason::Aqm)),
            ("rx_marked_packets", self.rx.as_ref().map_or(0, |link| link.stats().marked_packets)),
            ("rx_drop_mtu", rx_dropped(Reason::Oversize)),
            ("rx_reordered_packets", self.rx.as_ref().map_or(0, |link| link.stats().reordered_packets)),
            ("rx_duplicated_packets", self.rx.as_ref().map_or(0, |link| link.stats().duplicated_packets)),
            ("rx_drop_loss", rx_dropped(Reason::Loss)),
            ("rx_drop_in_flight", rx_dropped(Reason::InFlight)),
            ("rx_drop_down", self.rx_drop_down + rx_dropped(Reason::Down)),
            ("packet_ins_limited", self.packet_ins_limited),
        ]
    }
}
