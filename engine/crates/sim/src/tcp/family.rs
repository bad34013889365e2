//! The classic TCP and the modern one behind one face, for programs on hosts.

use super::modern;
use super::receiver::{Receiver, ReceiverConfig};
use super::segment::Segment;
use super::sender::{Sender, SenderConfig};
use crate::time::{to_seconds, Nanos, MILLISECOND};

/// A sender's parameters, of either family.
#[derive(Clone, Debug, PartialEq)]
pub enum AnySenderConfig {
    Classic(SenderConfig),
    Modern(modern::SenderConfig),
}

/// A receiver's parameters, of either family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnyReceiverConfig {
    Classic(ReceiverConfig),
    Modern(modern::ReceiverConfig),
}

impl From<SenderConfig> for AnySenderConfig {
    fn from(config: SenderConfig) -> Self {
        Self::Classic(config)
    }
}

impl From<modern::SenderConfig> for AnySenderConfig {
    fn from(config: modern::SenderConfig) -> Self {
        Self::Modern(config)
    }
}

impl From<ReceiverConfig> for AnyReceiverConfig {
    fn from(config: ReceiverConfig) -> Self {
        Self::Classic(config)
    }
}

impl From<modern::ReceiverConfig> for AnyReceiverConfig {
    fn from(config: modern::ReceiverConfig) -> Self {
        Self::Modern(config)
    }
}

impl AnySenderConfig {
    /// The same for a transfer of so many octets.
    pub fn with_transfer(mut self, octets: u64) -> Self {
        match &mut self {
            Self::Classic(config) => config.transfer = Some(octets),
            Self::Modern(config) => config.transfer = Some(octets),
        }
        self
    }

    /// The same with another seed for what a congestion control draws at random.
    pub fn with_seed(mut self, seed: u64) -> Self {
        if let Self::Modern(config) = &mut self {
            config.seed = seed;
        }
        self
    }

    /// The same for one of several connections: its seed is another than the others'.
    pub fn varied_by(mut self, number: u64) -> Self {
        if let Self::Modern(config) = &mut self {
            config.seed = config.seed.wrapping_add(number);
        }
        self
    }
}

/// Segments, each with the codepoint for its IP header.
pub type Outgoing = Vec<(Segment, u8)>;

/// A sender of either family.
#[derive(Debug)]
pub enum AnySender {
    Classic(Box<Sender>),
    Modern(Box<modern::Sender>),
}

impl AnySender {
    pub fn new(config: AnySenderConfig) -> Self {
        match config {
            AnySenderConfig::Classic(config) => Self::Classic(Box::new(Sender::new(config))),
            AnySenderConfig::Modern(config) => Self::Modern(Box::new(modern::Sender::new(config))),
        }
    }

    pub fn start(&mut self, now: Nanos, out: &mut Outgoing) {
        match self {
            Self::Classic(sender) => plainly(out, |out| sender.start(now, out)),
            Self::Modern(sender) => sender.start(now, out),
        }
    }

    pub fn receive(&mut self, segment: &Segment, now: Nanos, out: &mut Outgoing) {
        match self {
            Self::Classic(sender) => plainly(out, |out| sender.receive(segment, now, out)),
            Self::Modern(sender) => sender.receive(segment, now, out),
        }
    }

    pub fn handle_timer(&mut self, now: Nanos, out: &mut Outgoing) {
        match self {
            Self::Classic(sender) => plainly(out, |out| sender.handle_timer(now, out)),
            Self::Modern(sender) => sender.handle_timer(now, out),
        }
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        match self {
            Self::Classic(sender) => sender.wake_at(),
            Self::Modern(sender) => sender.wake_at(),
        }
    }

    pub fn acknowledged(&self) -> u64 {
        match self {
            Self::Classic(sender) => sender.acknowledged(),
            Self::Modern(sender) => sender.acknowledged(),
        }
    }

    pub fn finished_at(&self) -> Option<Nanos> {
        match self {
            Self::Classic(sender) => sender.finished_at(),
            Self::Modern(sender) => sender.finished_at(),
        }
    }

    /// Window, threshold, and how many retransmissions, recoveries and time-outs there were: what changes when there is
    /// news.
    pub fn state(&self) -> (f64, f64, u64) {
        match self {
            Self::Classic(sender) => {
                let counters = sender.counters();
                let events = counters.retransmissions + counters.fast_retransmits + counters.timeouts;
                (sender.cwnd(), sender.ssthresh(), events)
            }
            Self::Modern(sender) => {
                let counters = sender.counters();
                let events = counters.retransmissions + counters.fast_retransmits + counters.timeouts;
                (sender.cwnd(), sender.ssthresh(), events)
            }
        }
    }

    /// What it counts and measures, by name.
    pub fn sample(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Classic(sender) => {
                let counters = sender.counters();
                rows(
                    (sender.cwnd(), sender.ssthresh()),
                    [sender.srtt(), sender.latest_rtt(), Some(sender.rto())],
                    [counters.packets_sent, counters.retransmissions, counters.fast_retransmits, counters.timeouts],
                    (sender.acknowledged(), sender.finished_at()),
                )
            }
            Self::Modern(sender) => {
                let counters = sender.counters();
                let mut rows = rows(
                    (sender.cwnd(), sender.ssthresh()),
                    [sender.srtt(), sender.latest_rtt(), Some(sender.rto())],
                    [counters.packets_sent, counters.retransmissions, counters.fast_retransmits, counters.timeouts],
                    (sender.acknowledged(), sender.finished_at()),
                );
                rows.extend([
                    ("tail_probes", counters.tail_probes as f64),
                    ("mark_responses", counters.mark_responses as f64),
                    ("pacing_packets_per_s", sender.pacing_rate()),
                ]);
                rows
            }
        }
    }
}

/// A classic sender's segments are not ECN capable.
fn plainly(out: &mut Outgoing, send: impl FnOnce(&mut Vec<Segment>)) {
    let mut segments = Vec::new();
    send(&mut segments);
    out.extend(segments.into_iter().map(|segment| (segment, 0)));
}

fn rows(
    (cwnd, ssthresh): (f64, f64),
    times: [Option<Nanos>; 3],
    counts: [u64; 4],
    (acknowledged, finished_at): (u64, Option<Nanos>),
) -> Vec<(&'static str, f64)> {
    let [srtt, rtt, rto] = times.map(|time| time.map_or(f64::NAN, |time| time as f64 / MILLISECOND as f64));
    let [sent, retransmissions, fast, timeouts] = counts.map(|count| count as f64);
    vec![
        ("cwnd_packets", cwnd),
        ("ssthresh_packets", ssthresh),
        ("srtt_ms", srtt),
        ("rtt_ms", rtt),
        ("rto_ms", rto),
        ("sent_packets", sent),
        ("retransmissions", retransmissions),
        ("fast_retransmits", fast),
        ("timeouts", timeouts),
        ("acknowledged_bytes", acknowledged as f64),
        ("finished_at_s", finished_at.map_or(f64::NAN, to_seconds)),
    ]
}

/// A receiver of either family.
#[derive(Debug)]
pub enum AnyReceiver {
    Classic(Box<Receiver>),
    Modern(Box<modern::Receiver>),
}

impl AnyReceiver {
    /// Of the connection that this SYN opens.
    pub fn new(config: &AnyReceiverConfig, syn: &Segment) -> Self {
        match config {
            AnyReceiverConfig::Classic(config) => Self::Classic(Box::new(Receiver::new(config.clone()))),
            AnyReceiverConfig::Modern(config) => Self::Modern(Box::new(modern::Receiver::new(config.clone(), syn))),
        }
    }

    /// A segment arrives with this codepoint in its IP header; the acknowledgment that it causes at once, if any.
    pub fn receive(&mut self, segment: &Segment, codepoint: u8, now: Nanos) -> Option<Segment> {
        match self {
            Self::Classic(receiver) => receiver.receive(segment, now),
            Self::Modern(receiver) => receiver.receive(segment, codepoint, now),
        }
    }

    pub fn handle_timer(&mut self, now: Nanos) -> Option<Segment> {
        match self {
            Self::Classic(receiver) => receiver.handle_timer(now),
            Self::Modern(receiver) => receiver.handle_timer(now),
        }
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        match self {
            Self::Classic(receiver) => receiver.wake_at(),
            Self::Modern(receiver) => receiver.wake_at(),
        }
    }

    pub fn received(&self) -> u64 {
        match self {
            Self::Classic(receiver) => receiver.received(),
            Self::Modern(receiver) => receiver.received(),
        }
    }

    /// Segments that arrived, and those among them that brought nothing new.
    pub fn segments(&self) -> (u64, u64) {
        match self {
            Self::Classic(receiver) => receiver.segments(),
            Self::Modern(receiver) => receiver.segments(),
        }
    }

    pub fn is_complete(&self) -> bool {
        match self {
            Self::Classic(receiver) => receiver.is_complete(),
            Self::Modern(receiver) => receiver.is_complete(),
        }
    }
}

impl AnyReceiverConfig {
    /// Acknowledgments may be held back.
    pub fn delays(&self) -> bool {
        match self {
            Self::Classic(config) => config.delayed_ack.is_some(),
            Self::Modern(config) => config.delayed_ack.is_some(),
        }
    }
}
