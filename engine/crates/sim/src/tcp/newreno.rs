//! NewReno: fast recovery lasts until everything that was outstanding at its start has arrived, and each partial
//! acknowledgment repairs one more loss (RFC 6582).

use super::flow::{Ack, Flow};
use super::recovery::Recovery;
use super::DUP_THRESHOLD;

#[derive(Clone, Debug, Default)]
pub struct NewReno {
    /// One past the newest packet sent when recovery started, while it lasts.
    recover: Option<u64>,
    partial_seen: bool,
    /// One past the newest packet sent when the last recovery started: no other one starts before something beyond it is
    /// acknowledged.
    recovered: Option<u64>,
}

impl NewReno {
    /// RFC 6582, section 3.2, step 2: the acknowledgment covers more than `recover`.
    fn is_beyond(&self, una: u64) -> bool {
        self.recovered.is_none_or(|end| una > end)
    }
}

impl Recovery for NewReno {
    fn acknowledged(&mut self, flow: &mut Flow, ack: &Ack) -> bool {
        let Some(recover) = self.recover else {
            flow.open_window(ack.acked);
            return true;
        };
        if flow.una() >= recover {
            self.recover = None;
            flow.inflation = 0.0;
            // Step 3, full acknowledgment, option 1: no burst when little is outstanding.
            flow.cwnd = flow.ssthresh.min((flow.board.outstanding() as f64).max(1.0) + 1.0);
            return true;
        }
        // Step 3, partial acknowledgment: repair the next hole; deflate by what has left, but let one packet go.
        flow.resend = Some(flow.una());
        flow.inflation += 1.0 - ack.acked as f64;
        // Only the first one restarts the timer ("impatient", section 4), so that many losses end in a slow start.
        !std::mem::replace(&mut self.partial_seen, true)
    }

    fn duplicate(&mut self, flow: &mut Flow, _ack: &Ack) {
        if self.recover.is_some() {
            flow.inflation += 1.0;
        } else if flow.dupacks == DUP_THRESHOLD && flow.may_fast_retransmit() && self.is_beyond(flow.una()) {
            self.recover = Some(flow.board.end());
            self.recovered = Some(flow.board.end());
            self.partial_seen = false;
            flow.ssthresh = flow.half();
            flow.cwnd = flow.ssthresh;
            flow.inflation = f64::from(DUP_THRESHOLD);
            flow.resend = Some(flow.una());
        }
    }

    fn timed_out(&mut self, flow: &mut Flow) {
        self.recover = None;
        flow.collapse();
        flow.next = flow.una();
    }

    fn next(&mut self, flow: &mut Flow) -> Option<u64> {
        flow.next_in_window().or_else(|| flow.next_limited().filter(|_| self.recover.is_none()))
    }

    fn is_recovering(&self) -> bool {
        self.recover.is_some()
    }
}
