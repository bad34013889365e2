//! HyStart++: slow start ends when the round trip time rises, before the queue overflows (RFC 9406).

use super::super::window::{Ack, Window};
use crate::time::{Nanos, MILLISECOND};

/// Section 4.3.
const LEAST_RISE: Nanos = 4 * MILLISECOND;
const MOST_RISE: Nanos = 16 * MILLISECOND;
const RISE_DIVISOR: Nanos = 8;
const SAMPLES: u32 = 8;
const CAUTIOUS_DIVISOR: f64 = 4.0;
const CAUTIOUS_ROUNDS: u32 = 5;
/// L, for senders that do not pace; with pacing the RFC has no limit, and the bursts are no longer either.
const LIMIT: f64 = 8.0;

#[derive(Debug, Default)]
pub struct HyStart {
    round_end: u64,
    last_least: Option<Nanos>,
    least: Option<Nanos>,
    samples: u32,
    /// Conservative slow start: the least round trip time at its beginning, and its rounds so far.
    cautious: Option<(Nanos, u32)>,
}

impl HyStart {
    /// An acknowledgment in slow start: grows the window, and sets the threshold where slow start ends.
    pub fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        if ack.first > self.round_end {
            self.begin_round(window, ack.end);
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        let delivered = (ack.delivered as f64).min(LIMIT);
        match self.cautious {
            None => {
                window.cwnd += delivered;
                self.look_for_rise();
            }
            Some((baseline, _)) => {
                window.cwnd += delivered / CAUTIOUS_DIVISOR;
                if self.samples >= SAMPLES && self.least.is_some_and(|least| least < baseline) {
                    self.cautious = None; // the rise was no queue's
                }
            }
        }
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn begin_round(&mut self, window: &mut Window, end: u64) {
        (self.last_least, self.least, self.samples) = (self.least, None, 0);
        self.round_end = end;
        if let Some((_, rounds)) = &mut self.cautious {
            *rounds += 1;
            if *rounds >= CAUTIOUS_ROUNDS {
                window.ssthresh = window.cwnd;
                self.cautious = None;
            }
        }
    }

    fn look_for_rise(&mut self) {
        let (Some(last), Some(least), SAMPLES..) = (self.last_least, self.least, self.samples) else { return };
        if least >= last + (last / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE) {
            self.cautious = Some((least, 0));
        }
    }
}
