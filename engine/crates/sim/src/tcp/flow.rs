//! What all kinds of sender share: the window, the packets outstanding and the rules by which a window opens.

use super::scoreboard::Scoreboard;
use crate::time::Nanos;

/// Least slow start threshold and window after a loss, in packets (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// What the window grows by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// One step for each acknowledgment, as ns-2 counts.
    Acknowledgments,
    /// The packets acknowledged, in slow start at most two a time (RFC 3465 with L = 2).
    Packets,
}

/// RFC 3465, section 2.3: the limit L in slow start, and in a slow start after a time-out.
const BYTE_COUNTING_LIMIT: f64 = 2.0;
const BYTE_COUNTING_LIMIT_AFTER_TIMEOUT: f64 = 1.0;

/// What happened to a sender since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub packets_sent: u64,
    pub retransmissions: u64,
    pub fast_retransmits: u64,
    pub timeouts: u64,
}

/// A sender's window over its packets, which are numbered from 0.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Congestion window in packets.
    pub cwnd: f64,
    /// Slow start threshold in packets.
    pub ssthresh: f64,
    /// What duplicate acknowledgments add to the window during fast recovery, in packets; may be negative.
    pub inflation: f64,
    /// Consecutive duplicate acknowledgments.
    pub dupacks: u32,
    /// The packet to send next when nothing is repaired. Below `board.end()` only after a time-out.
    pub next: u64,
    pub board: Scoreboard,
    /// A packet to send at once, whatever the window says.
    pub resend: Option<u64>,
    /// One past the newest packet that was outstanding at the last time-out; `None` before any.
    pub timed_out_at: Option<u64>,
    /// New packets sent by limited transmit since the last acknowledgment of new data; FlightSize leaves them out.
    pub limited: u64,
    /// Number of packets that the transfer has.
    pub end: u64,
    pub growth: Growth,
    pub limited_transmit: bool,
    /// Packets that the receiver, or a user, allows to be outstanding.
    pub window_limit: f64,
    pub counters: Counters,
}

/// An acknowledgment, as the kinds of sender see it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub now: Nanos,
    /// Packets that it acknowledges cumulatively and no earlier one did.
    pub acked: u64,
    /// Packets that it acknowledges selectively and no earlier one did.
    pub sacked: u64,
    /// Round trip time of the newest packet it acknowledges, if that was sent once.
    pub rtt: Option<Nanos>,
}

impl Flow {
    /// The oldest packet not acknowledged.
    pub fn una(&self) -> u64 {
        self.board.first()
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Opens the window for an acknowledgment of `acked` new packets (RFC 5681, section 3.1).
    pub fn open_window(&mut self, acked: u64) {
        let repairs_timeout = self.timed_out_at.is_some_and(|end| self.una() < end);
        let acked = acked as f64;
        let (slow_start, avoidance) = match self.growth {
            Growth::Acknowledgments => (1.0, 1.0),
            Growth::Packets if repairs_timeout => (acked.min(BYTE_COUNTING_LIMIT_AFTER_TIMEOUT), acked),
            Growth::Packets => (acked.min(BYTE_COUNTING_LIMIT), acked),
        };
        if self.in_slow_start() {
            self.cwnd += slow_start;
        } else {
            self.cwnd += avoidance / self.cwnd;
        }
        // A window that may not be used does not grow (RFC 7661, section 1).
        self.cwnd = self.cwnd.min(self.window_limit.max(MIN_SSTHRESH));
    }

    /// Half of what is in use, for a new slow start threshold. In use is the window (as ns-2 and kernels have it), but
    /// never more than FlightSize without limited transmit (RFC 5681, equation 4; RFC 6675, section 5).
    pub fn half(&self) -> f64 {
        let flight = (self.board.outstanding() - self.limited.min(self.board.outstanding())) as f64;
        (flight.min(self.cwnd) / 2.0).max(MIN_SSTHRESH)
    }

    /// Packets the window allows to be outstanding.
    pub fn window(&self) -> u64 {
        (self.cwnd + self.inflation).min(self.window_limit).max(1.0) as u64
    }

    /// The next packet in order, if the window reaches it.
    pub fn next_in_window(&self) -> Option<u64> {
        (self.next < self.end && self.next < self.una() + self.window()).then_some(self.next)
    }

    /// A new packet for each of the first two duplicate acknowledgments (RFC 3042).
    pub fn next_limited(&self) -> Option<u64> {
        let allowed = self.limited_transmit
            && self.dupacks > 0
            && self.dupacks < super::DUP_THRESHOLD
            && self.limited < u64::from(self.dupacks)
            && self.next == self.board.end()
            && self.next < self.end
            && ((self.board.outstanding() as f64) < self.window_limit);
        allowed.then_some(self.next)
    }

    /// Whether duplicate acknowledgments tell of a loss: not when they answer what a time-out sent once more (RFC 6582,
    /// section 3.2, step 2, and section 4.1).
    pub fn may_fast_retransmit(&self) -> bool {
        self.timed_out_at.is_none_or(|end| self.una() > end)
    }

    /// What a time-out does to the window (RFC 5681, section 3.1): the threshold halves once for each loss, however
    /// often its repair is lost too.
    pub fn collapse(&mut self) {
        let is_repeat = self.timed_out_at.is_some_and(|end| self.una() < end) && self.cwnd <= 1.0;
        if !is_repeat {
            self.ssthresh = self.half();
        }
        self.cwnd = 1.0;
        self.inflation = 0.0;
        self.dupacks = 0;
        self.limited = 0;
        self.resend = None;
        self.timed_out_at = Some(self.board.end());
    }
}
