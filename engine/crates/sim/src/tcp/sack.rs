//! SACK: loss recovery from selective acknowledgments, by RFC 6675's pipe algorithm.

use super::flow::{Ack, Flow};
use super::recovery::Recovery;
use super::DUP_THRESHOLD;

#[derive(Clone, Debug, Default)]
pub struct Sack {
    /// One past the newest packet sent when recovery started (RecoveryPoint), while it lasts.
    recovery_point: Option<u64>,
    /// Recovery follows a time-out: the window grows as in slow start.
    after_timeout: bool,
    /// The rescue retransmission of this recovery was sent (NextSeg, rule 4).
    rescued: bool,
}

impl Sack {
    fn enter(&mut self, flow: &mut Flow) {
        self.recovery_point = Some(flow.board.end());
        self.after_timeout = false;
        self.rescued = false;
        flow.ssthresh = flow.half();
        flow.cwnd = flow.ssthresh;
        flow.board.lose(flow.una());
        flow.resend = Some(flow.una());
    }
}

impl Recovery for Sack {
    fn acknowledged(&mut self, flow: &mut Flow, ack: &Ack) -> bool {
        if self.recovery_point.is_some_and(|point| flow.una() >= point) {
            self.recovery_point = None;
        }
        if self.recovery_point.is_none() || self.after_timeout {
            flow.open_window(ack.acked);
        }
        let oldest_lost = flow.board.judge();
        // A new loss that this very acknowledgment reveals: its blocks already lie three packets above.
        if oldest_lost && self.recovery_point.is_none() {
            self.enter(flow);
        }
        true
    }

    fn duplicate(&mut self, flow: &mut Flow, ack: &Ack) {
        let oldest_lost = flow.board.judge();
        // Section 2: only an acknowledgment with news in its blocks is a duplicate here.
        if ack.sacked == 0 {
            flow.dupacks -= 1;
        }
        if self.recovery_point.is_none() && (flow.dupacks >= DUP_THRESHOLD || oldest_lost) {
            self.enter(flow);
        }
    }

    fn timed_out(&mut self, flow: &mut Flow) {
        flow.collapse();
        flow.board.lose_all();
        self.recovery_point = Some(flow.board.end());
        self.after_timeout = true;
        self.rescued = true;
    }

    fn next(&mut self, flow: &mut Flow) -> Option<u64> {
        let outstanding = flow.board.outstanding() as f64;
        let new = (flow.next < flow.end && outstanding < flow.window_limit).then_some(flow.next);
        if self.recovery_point.is_none() {
            // Packets acknowledged selectively have left: what limited transmit sends for duplicates (section 5, 3.3).
            let used = if flow.limited_transmit { flow.board.pipe() } else { flow.board.outstanding() };
            return new.filter(|_| used < flow.window());
        }
        if flow.board.pipe() >= flow.window() {
            return None;
        }
        // NextSeg's rules, in order.
        flow.board.next_lost().or(new).or_else(|| flow.board.next_hole()).or_else(|| {
            let rescue = flow.board.last_hole().filter(|_| !self.rescued);
            self.rescued = true;
            rescue
        })
    }

    fn is_recovering(&self) -> bool {
        self.recovery_point.is_some()
    }
}
