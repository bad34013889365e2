//! What a link has seen.

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The queue was full.
    QueueFull,
    /// RED chose it at random.
    RedEarly,
    /// RED's average was too high for any packet.
    RedForced,
    /// CoDel, PIE or DualPI2 chose it.
    Aqm,
    /// Longer than `LinkConfig::max_frame_bytes`.
    Oversize,
    /// Random loss on the wire.
    Loss,
    /// Too many bytes under way (`LinkConfig::in_flight_limit_bytes`).
    InFlight,
    /// The link was down, or went down.
    Down,
}

impl Reason {
    pub const ALL: [Reason; 8] = [
        Reason::QueueFull,
        Reason::RedEarly,
        Reason::RedForced,
        Reason::Aqm,
        Reason::Oversize,
        Reason::Loss,
        Reason::InFlight,
        Reason::Down,
    ];
}

/// Counts since the link was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub offered_packets: u64,
    pub offered_bytes: u64,
    /// Sent by the transmitter, lost ones among them.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    /// Those that came twice count twice.
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// ECN marks.
    pub marked_packets: u64,
    /// Packets that came later than the link's delay, and those that came twice.
    pub reordered_packets: u64,
    pub duplicated_packets: u64,
    pub max_queue_packets: u64,
    pub max_queue_bytes: u64,
    dropped: [u64; Reason::ALL.len()],
    /// Packets waiting, integrated over time.
    packet_ns: u128,
    since_ns: u64,
}

impl Stats {
    pub fn dropped(&self, reason: Reason) -> u64 {
        self.dropped[reason as usize]
    }

    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn drop(&mut self, reason: Reason, packets: u64) {
        self.dropped[reason as usize] += packets;
    }

    /// Notes that the queue has held this much until `now_ns`.
    pub(crate) fn held(&mut self, now_ns: u64, packets: u64) {
        let span = u128::from(now_ns.saturating_sub(self.since_ns));
        self.packet_ns += span * u128::from(packets);
        self.since_ns = self.since_ns.max(now_ns);
    }

    pub(crate) fn filled(&mut self, packets: u64, bytes: u64) {
        self.max_queue_packets = self.max_queue_packets.max(packets);
        self.max_queue_bytes = self.max_queue_bytes.max(bytes);
    }

    /// Mean number of packets waiting from time 0 to the last change (the one in transmission is not waiting).
    pub fn mean_queue_packets(&self) -> f64 {
        self.packet_ns as f64 / (self.since_ns.max(1)) as f64
    }
}
