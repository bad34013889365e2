//! The sending end: a transfer cut into packets, its timers and round trip times. How it reacts to loss is a
//! [`Recovery`]'s to say.

use super::flow::{Ack, Counters, Flow, Growth};
use super::newreno::NewReno;
use super::recovery::Recovery;
use super::reno::Reno;
use super::rto::RtoEstimator;
use super::sack::Sack;
use super::scoreboard::Scoreboard;
use super::segment::{unwrap, Segment};
use super::vegas::Vegas;
use super::Kind;
use crate::time::{Nanos, MILLISECOND};

/// Payload starts one sequence number after the SYN.
const FIRST_OCTET: u64 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    pub kind: Kind,
    /// Octets of payload in a packet.
    pub mss: u32,
    /// Octets of the transfer; `None` never ends.
    pub transfer: Option<u64>,
    /// Packets of the first flight.
    pub initial_window: f64,
    /// First slow start threshold, in packets; infinite by default (RFC 5681: arbitrarily high).
    pub initial_ssthresh: f64,
    /// Packets that may be outstanding, whatever the congestion window says (a receiver's window).
    pub window_limit: Option<u32>,
    pub growth: Growth,
    /// New packets for the first two duplicate acknowledgments (RFC 3042).
    pub limited_transmit: bool,
    /// Least retransmission time-out: ns-2's and Linux's 0.2 s; RFC 6298 asks for 1 s.
    pub min_rto: Nanos,
    /// Granularity of the retransmission clock (RFC 6298's G).
    pub clock_granularity: Nanos,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            kind: Kind::Sack,
            mss: 946, // 1,000 octets on a link, with the headers of TCP, IP and Ethernet
            transfer: None,
            initial_window: 2.0, // ns-2's windowInit_
            initial_ssthresh: f64::INFINITY,
            window_limit: None,
            growth: Growth::Acknowledgments,
            limited_transmit: true,
            min_rto: 200 * MILLISECOND,
            clock_granularity: MILLISECOND,
        }
    }
}

#[derive(Clone, Debug)]
enum AnyRecovery {
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Vegas(Vegas),
}

impl AnyRecovery {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Reno => Self::Reno(Reno::default()),
            Kind::NewReno => Self::NewReno(NewReno::default()),
            Kind::Sack => Self::Sack(Sack::default()),
            Kind::Vegas => Self::Vegas(Vegas::default()),
        }
    }

    fn get(&mut self) -> &mut dyn Recovery {
        match self {
            Self::Reno(recovery) => recovery,
            Self::NewReno(recovery) => recovery,
            Self::Sack(recovery) => recovery,
            Self::Vegas(recovery) => recovery,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Closed,
    SynSent { at: Nanos, times: u32 },
    Open,
    Finished { at: Nanos },
}

/// A sender of one transfer. `start` it, hand it each acknowledgment, and call `handle_timer` at `wake_at`.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    phase: Phase,
    flow: Flow,
    recovery: AnyRecovery,
    rto: RtoEstimator,
    /// When the retransmission timer expires.
    retransmit_at: Option<Nanos>,
    /// The packet whose round trip is being measured, and when it was sent: one at a time, as ns-2 and BSD do.
    timed: Option<(u64, Nanos)>,
    latest_rtt: Option<Nanos>,
}

impl Sender {
    pub fn new(config: SenderConfig) -> Self {
        let packets = config.transfer.map_or(u64::MAX, |octets| octets.div_ceil(u64::from(config.mss.max(1))));
        let window_limit = config.window_limit.map_or(f64::INFINITY, f64::from);
        let flow = Flow {
            cwnd: config.initial_window.max(1.0),
            ssthresh: config.initial_ssthresh,
            inflation: 0.0,
            dupacks: 0,
            next: 0,
            board: Scoreboard::default(),
            resend: None,
            timed_out_at: None,
            limited: 0,
            end: packets,
            growth: config.growth,
            limited_transmit: config.limited_transmit,
            window_limit,
            counters: Counters::default(),
        };
        Self {
            phase: Phase::Closed,
            flow,
            recovery: AnyRecovery::new(config.kind),
            rto: RtoEstimator::new(config.min_rto, config.clock_granularity),
            retransmit_at: None,
            timed: None,
            latest_rtt: None,
            config,
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Nanos, out: &mut Vec<Segment>) {
        if self.phase == Phase::Closed {
            self.send_syn(now, 1, out);
        }
    }

    /// An acknowledgment arrives; what it allows to be sent is pushed on `out`.
    pub fn receive(&mut self, segment: &Segment, now: Nanos, out: &mut Vec<Segment>) {
        match self.phase {
            Phase::SynSent { at, times } if segment.syn => {
                if times == 1 {
                    self.sample(now - at);
                }
                self.rto.clear_backoff();
                self.retransmit_at = None;
                self.phase = Phase::Open;
                self.finish_if_acknowledged(now);
            }
            Phase::Open if !segment.syn => self.handle_ack(segment, now),
            _ => return,
        }
        self.send_allowed(now, out);
    }

    /// Handles the retransmission timer, if it has expired.
    pub fn handle_timer(&mut self, now: Nanos, out: &mut Vec<Segment>) {
        if self.retransmit_at.is_none_or(|at| now < at) {
            return;
        }
        self.retransmit_at = None;
        self.flow.counters.timeouts += 1;
        self.rto.back_off();
        match self.phase {
            Phase::SynSent { times, .. } => self.send_syn(now, times + 1, out),
            Phase::Open => {
                self.timed = None;
                self.recovery.get().timed_out(&mut self.flow);
                self.send_allowed(now, out);
            }
            Phase::Closed | Phase::Finished { .. } => {}
        }
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        self.retransmit_at
    }

    /// Congestion window in packets, without what duplicate acknowledgments add.
    pub fn cwnd(&self) -> f64 {
        self.flow.cwnd
    }

    /// Slow start threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        self.flow.ssthresh
    }

    pub fn srtt(&self) -> Option<Nanos> {
        self.rto.srtt()
    }

    pub fn latest_rtt(&self) -> Option<Nanos> {
        self.latest_rtt
    }

    /// The retransmission time-out in force.
    pub fn rto(&self) -> Nanos {
        self.rto.timeout()
    }

    pub fn counters(&self) -> Counters {
        self.flow.counters
    }

    /// Loss recovery is going on.
    pub fn is_recovering(&mut self) -> bool {
        self.recovery.get().is_recovering()
    }

    /// Octets acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        let octets = self.flow.una().saturating_mul(u64::from(self.config.mss));
        self.config.transfer.map_or(octets, |transfer| octets.min(transfer))
    }

    /// When the last octet of the transfer was acknowledged.
    pub fn finished_at(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Finished { at } => Some(at),
            _ => None,
        }
    }

    fn send_syn(&mut self, now: Nanos, times: u32, out: &mut Vec<Segment>) {
        self.phase = Phase::SynSent { at: now, times };
        self.retransmit_at = Some(now + self.rto.timeout());
        out.push(Segment { syn: true, ..Segment::default() });
    }

    fn handle_ack(&mut self, segment: &Segment, now: Nanos) {
        let una_octet = FIRST_OCTET + self.flow.una().saturating_mul(u64::from(self.config.mss));
        let acked_end = self.packets_below(unwrap(una_octet, segment.ack)).min(self.flow.board.end());
        let mut sacked = 0;
        for &(start, end) in segment.sack.as_slice() {
            let (start, end) = (unwrap(una_octet, start), unwrap(una_octet, end));
            sacked += self.flow.board.sack(self.packets_below(start), self.packets_below(end));
        }
        if acked_end > self.flow.una() {
            self.handle_new_ack(acked_end, sacked, now);
        } else if acked_end == self.flow.una() && self.flow.board.outstanding() > 0 {
            self.flow.dupacks += 1;
            let ack = Ack { now, acked: 0, sacked, rtt: None };
            let recovering = self.recovery.get().is_recovering();
            self.recovery.get().duplicate(&mut self.flow, &ack);
            self.note_fast_retransmit(recovering);
        }
    }

    fn handle_new_ack(&mut self, acked_end: u64, sacked: u64, now: Nanos) {
        let newest = self.flow.board.last_sent(acked_end - 1);
        let rtt = newest.and_then(|(at, times)| (times == 1).then_some(now - at));
        if let Some((_, at)) = self.timed.take_if(|(packet, _)| *packet < acked_end) {
            self.sample(now - at);
        }
        // Until something is acknowledged that was sent once, the doubled time-out stands (Karn and Partridge, 1987;
        // RFC 6298, section 5).
        if newest.is_some_and(|(_, times)| times == 1) {
            self.rto.clear_backoff();
        }
        let acked = self.flow.board.acknowledge(acked_end);
        self.flow.next = self.flow.next.max(acked_end);
        self.flow.dupacks = 0;
        self.flow.limited = 0;
        let recovering = self.recovery.get().is_recovering();
        let restart = self.recovery.get().acknowledged(&mut self.flow, &Ack { now, acked, sacked, rtt });
        self.note_fast_retransmit(recovering);
        if self.flow.board.outstanding() == 0 {
            self.retransmit_at = None;
        } else if restart || self.retransmit_at.is_none() {
            self.retransmit_at = Some(now + self.rto.timeout());
        }
        self.finish_if_acknowledged(now);
    }

    fn note_fast_retransmit(&mut self, was_recovering: bool) {
        if !was_recovering && self.recovery.get().is_recovering() {
            self.flow.counters.fast_retransmits += 1;
            // The repair starts the timer anew (RFC 6675, section 6) below, when it is sent.
            self.retransmit_at = None;
        }
    }

    fn finish_if_acknowledged(&mut self, now: Nanos) {
        if self.flow.una() >= self.flow.end {
            self.phase = Phase::Finished { at: now };
            self.retransmit_at = None;
        }
    }

    fn send_allowed(&mut self, now: Nanos, out: &mut Vec<Segment>) {
        if self.phase != Phase::Open {
            return;
        }
        if let Some(packet) = self.flow.resend.take() {
            self.send_packet(packet, now, out);
        }
        while let Some(packet) = self.recovery.get().next(&mut self.flow) {
            self.send_packet(packet, now, out);
        }
    }

    fn send_packet(&mut self, packet: u64, now: Nanos, out: &mut Vec<Segment>) {
        let flow = &mut self.flow;
        let again = flow.board.send(packet, now);
        flow.next = flow.next.max(packet + u64::from(packet >= flow.next));
        flow.counters.packets_sent += 1;
        if again {
            flow.counters.retransmissions += 1;
            // Karn's rule; and a packet above a hole would measure the repair as well.
            self.timed = None;
        } else {
            flow.limited += u64::from(flow.dupacks > 0 && !self.recovery.get().is_recovering());
            if self.timed.is_none() {
                self.timed = Some((packet, now));
            }
        }
        if self.retransmit_at.is_none() {
            self.retransmit_at = Some(now + self.rto.timeout());
        }
        out.push(self.segment(packet));
    }

    fn segment(&self, packet: u64) -> Segment {
        let mss = u64::from(self.config.mss);
        let start = packet * mss;
        let rest = self.config.transfer.map_or(mss, |octets| (octets - start).min(mss));
        Segment {
            seq: (FIRST_OCTET + start) as u32,
            ack: 1,
            fin: packet + 1 == self.flow.end,
            len: rest as u32,
            ..Segment::default()
        }
    }

    /// Packets that end at or below a sequence number.
    fn packets_below(&self, seq: u64) -> u64 {
        let octets = seq.saturating_sub(FIRST_OCTET);
        match self.config.transfer {
            Some(transfer) if octets >= transfer => self.flow.end,
            _ => octets / u64::from(self.config.mss),
        }
    }

    fn sample(&mut self, rtt: Nanos) {
        self.latest_rtt = Some(rtt);
        self.rto.sample(rtt);
    }
}
