//! The retransmission time-out of RFC 6298, with its minimum as a parameter.

use crate::time::{Nanos, SECOND};

/// Time-out before the first measurement (RFC 6298, rule 2.1).
const INITIAL: Nanos = SECOND;
/// No time-out is longer (RFC 6298, rule 2.5, asks for at least 60 s).
const MAXIMUM: Nanos = 60 * SECOND;

/// Smoothed round trip time and its variation. All in nanoseconds.
#[derive(Clone, Debug)]
pub struct RtoEstimator {
    srtt: Option<Nanos>,
    rttvar: Nanos,
    /// Before the first measurement.
    initial: Nanos,
    minimum: Nanos,
    granularity: Nanos,
    /// Doublings since something was acknowledged that was sent once (rule 5.5, and the note after rule 5.7).
    backoff: u32,
}

impl RtoEstimator {
    /// `minimum` is the least time-out, `granularity` the clock's (G in rule 2.3).
    pub fn new(minimum: Nanos, granularity: Nanos) -> Self {
        Self::starting_with(INITIAL, minimum, granularity)
    }

    /// With another time-out before the first measurement.
    pub fn starting_with(initial: Nanos, minimum: Nanos, granularity: Nanos) -> Self {
        Self { srtt: None, rttvar: 0, initial, minimum, granularity, backoff: 0 }
    }

    /// A measurement of a packet that was sent once (Karn's rule is the caller's to keep).
    pub fn sample(&mut self, rtt: Nanos) {
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt / 2;
            }
            Some(srtt) => {
                self.rttvar = (3 * self.rttvar + srtt.abs_diff(rtt)) / 4;
                self.srtt = Some((7 * srtt + rtt) / 8);
            }
        }
    }

    /// The time-out now, doublings included.
    pub fn timeout(&self) -> Nanos {
        let base = match self.srtt {
            None => self.initial.max(self.minimum),
            Some(srtt) => (srtt + self.granularity.max(4 * self.rttvar)).max(self.minimum),
        };
        let factor = 1u64.checked_shl(self.backoff).unwrap_or(Nanos::MAX);
        base.saturating_mul(factor).min(MAXIMUM.max(self.minimum))
    }

    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// What was sent once was acknowledged: the doublings end.
    pub fn clear_backoff(&mut self) {
        self.backoff = 0;
    }

    pub fn srtt(&self) -> Option<Nanos> {
        self.srtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::MILLISECOND;

    #[test]
    fn first_sample_sets_the_variation_to_half() {
        let mut rto = RtoEstimator::new(0, 0);
        assert_eq!(rto.timeout(), SECOND);
        rto.sample(100 * MILLISECOND);
        assert_eq!(rto.srtt(), Some(100 * MILLISECOND));
        assert_eq!(rto.timeout(), 300 * MILLISECOND);
        // rttvar = 3/4 * 50 + 1/4 * |100 - 180|, then srtt = 7/8 * 100 + 1/8 * 180
        rto.sample(180 * MILLISECOND);
        assert_eq!(rto.timeout(), 110 * MILLISECOND + 4 * (57 * MILLISECOND + MILLISECOND / 2));
    }

    #[test]
    fn doubles_up_to_the_maximum_and_recovers() {
        let mut rto = RtoEstimator::new(200 * MILLISECOND, 0);
        rto.sample(10 * MILLISECOND);
        let mut timeouts = Vec::new();
        for _ in 0..12 {
            timeouts.push(rto.timeout() / MILLISECOND);
            rto.back_off();
        }
        assert_eq!(timeouts[..4], [200, 400, 800, 1600]);
        assert_eq!(timeouts[11], 60_000);
        rto.clear_backoff();
        assert_eq!(rto.timeout(), 200 * MILLISECOND);
    }

    #[test]
    fn granularity_is_the_floor_of_the_variation() {
        let mut rto = RtoEstimator::new(0, 100 * MILLISECOND);
        for _ in 0..100 {
            rto.sample(50 * MILLISECOND);
        }
        assert_eq!(rto.timeout(), 150 * MILLISECOND);
    }
}
