//! Vegas: the window follows the number of its packets that wait in queues, estimated from the round trip time
//! (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", 1995).

use super::flow::{Ack, Flow, MIN_SSTHRESH};
use super::recovery::Recovery;
use super::rto::RtoEstimator;
use super::DUP_THRESHOLD;
use crate::time::Nanos;

/// Packets that a connection keeps in queues, at least and at most, and that end slow start (ns-2's `v_alpha_`,
/// `v_beta_` and `v_gamma_`; the paper's alpha and beta).
const ALPHA: f64 = 1.0;
const BETA: f64 = 3.0;
const GAMMA: f64 = 1.0;
/// What remains of the window after a loss found early, and after one whose repair was lost too (ns-2's tcp-vegas).
const EARLY_CUT: f64 = 0.75;
const LATE_CUT: f64 = 0.5;
/// What remains when slow start has filled the queue (Brakmo and Peterson, section 3.3: less by an eighth).
const SLOW_START_CUT: f64 = 0.875;
/// Acknowledgments after a repair that check the next packet's time too (section 3.1).
const CHECKS_AFTER_REPAIR: u32 = 2;

#[derive(Clone, Debug)]
pub struct Vegas {
    base_rtt: Option<Nanos>,
    rtt_sum: Nanos,
    rtt_count: u64,
    /// The round ends when this packet is acknowledged.
    round_end: u64,
    /// Packets that each acknowledgment of this round adds.
    step: f64,
    /// Slow start doubles in every other round, so that the round between can be measured.
    doubling: bool,
    /// A time-out of fine grain and without a minimum, looked at when an acknowledgment comes.
    fine: RtoEstimator,
    checks: u32,
    last_cut: Nanos,
    recovering: bool,
}

impl Default for Vegas {
    fn default() -> Self {
        Self {
            base_rtt: None,
            rtt_sum: 0,
            rtt_count: 0,
            round_end: 0,
            step: 1.0,
            doubling: true,
            fine: RtoEstimator::new(0, 0),
            checks: 0,
            last_cut: 0,
            recovering: false,
        }
    }
}

impl Vegas {
    fn sample(&mut self, rtt: Nanos) {
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.rtt_sum += rtt;
        self.rtt_count += 1;
        self.fine.sample(rtt);
    }

    /// The end of a round: compares the rate expected with the actual one, in packets of difference (section 3.2).
    fn adjust(&mut self, flow: &mut Flow) {
        self.round_end = flow.board.end();
        let (Some(base), 1..) = (self.base_rtt, self.rtt_count) else { return };
        let rtt = self.rtt_sum as f64 / self.rtt_count as f64;
        (self.rtt_sum, self.rtt_count) = (0, 0);
        let queued = flow.cwnd * (1.0 - base as f64 / rtt);
        if flow.in_slow_start() {
            self.doubling = !self.doubling;
            self.step = f64::from(u8::from(self.doubling));
            if queued > GAMMA {
                flow.cwnd = (flow.cwnd * SLOW_START_CUT).max(MIN_SSTHRESH);
                flow.ssthresh = MIN_SSTHRESH;
                self.step = 0.0;
            }
        } else if queued > BETA {
            flow.cwnd = (flow.cwnd - 1.0).max(MIN_SSTHRESH);
            self.step = 0.0;
        } else if queued < ALPHA {
            self.step = 1.0 / flow.cwnd;
        } else {
            self.step = 0.0;
        }
    }

    /// The oldest packet has been under way for longer than a round trip can take.
    fn is_overdue(&self, flow: &Flow, now: Nanos) -> bool {
        let sent = flow.board.last_sent(flow.una());
        self.fine.srtt().is_some() && sent.is_some_and(|(at, _)| now - at > self.fine.timeout())
    }

    fn repair(&mut self, flow: &mut Flow, now: Nanos) {
        let (sent_at, times) = flow.board.last_sent(flow.una()).unwrap_or((now, 1));
        // Only what was lost since the last cut says that the cut was not enough (section 3.1).
        if sent_at > self.last_cut {
            let remains = if times > 1 { LATE_CUT } else { EARLY_CUT };
            flow.cwnd = (flow.cwnd * remains).max(MIN_SSTHRESH);
            self.last_cut = now;
        }
        flow.ssthresh = flow.ssthresh.min(flow.cwnd).max(MIN_SSTHRESH);
        flow.resend = Some(flow.una());
        self.checks = CHECKS_AFTER_REPAIR;
    }
}

impl Recovery for Vegas {
    fn acknowledged(&mut self, flow: &mut Flow, ack: &Ack) -> bool {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        self.recovering = false;
        flow.inflation = 0.0;
        if flow.una() > self.round_end {
            self.adjust(flow);
        }
        flow.cwnd = (flow.cwnd + self.step).min(flow.window_limit.max(MIN_SSTHRESH));
        if self.checks > 0 {
            self.checks -= 1;
            if flow.board.outstanding() > 0 && self.is_overdue(flow, ack.now) {
                self.repair(flow, ack.now);
            }
        }
        true
    }

    fn duplicate(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.recovering {
            flow.inflation += 1.0;
            return;
        }
        // The third duplicate of a packet that was repaired a moment ago answers what was sent before the repair.
        let sent_once = flow.board.last_sent(flow.una()).is_some_and(|(_, times)| times == 1);
        let third = flow.dupacks == DUP_THRESHOLD && sent_once && flow.may_fast_retransmit();
        if third || self.is_overdue(flow, ack.now) {
            self.recovering = true;
            self.repair(flow, ack.now);
            flow.inflation = f64::from(flow.dupacks);
        }
    }

    fn timed_out(&mut self, flow: &mut Flow) {
        self.recovering = false;
        self.checks = 0;
        self.doubling = true;
        self.step = 1.0;
        (self.rtt_sum, self.rtt_count) = (0, 0);
        self.round_end = flow.board.end();
        flow.collapse();
        flow.next = flow.una();
    }

    fn next(&mut self, flow: &mut Flow) -> Option<u64> {
        flow.next_in_window().or_else(|| flow.next_limited().filter(|_| !self.recovering))
    }

    fn is_recovering(&self) -> bool {
        self.recovering
    }
}
