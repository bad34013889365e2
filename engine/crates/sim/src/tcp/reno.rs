//! Reno: fast retransmit, and a fast recovery that ends with the first acknowledgment of new data (RFC 2581).
//!
//! With several losses in a window it halves for each one that three duplicates reveal, and waits for a time-out when
//! they no longer come: what the papers' Reno does.

use super::flow::{Ack, Flow};
use super::recovery::Recovery;
use super::DUP_THRESHOLD;

#[derive(Clone, Debug, Default)]
pub struct Reno {
    recovering: bool,
}

impl Recovery for Reno {
    fn acknowledged(&mut self, flow: &mut Flow, ack: &Ack) -> bool {
        if self.recovering {
            self.recovering = false;
            flow.inflation = 0.0;
            flow.cwnd = flow.ssthresh;
        } else {
            flow.open_window(ack.acked);
        }
        true
    }

    fn duplicate(&mut self, flow: &mut Flow, _ack: &Ack) {
        if self.recovering {
            flow.inflation += 1.0;
        } else if flow.dupacks == DUP_THRESHOLD && flow.may_fast_retransmit() {
            self.recovering = true;
            flow.ssthresh = flow.half();
            flow.cwnd = flow.ssthresh;
            // The packets whose departure the duplicates have reported (RFC 5681, section 3.2, step 3).
            flow.inflation = f64::from(DUP_THRESHOLD);
            flow.resend = Some(flow.una());
        }
    }

    fn timed_out(&mut self, flow: &mut Flow) {
        self.recovering = false;
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
