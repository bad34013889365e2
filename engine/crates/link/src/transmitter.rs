//! When a transmitter of a given rate is free, in exact integer arithmetic.

const NS_PER_S: u64 = 1_000_000_000;

/// Sends one frame after another. Within a busy period the end of a frame is the period's start plus the floor of all
/// its bits divided by the rate: what rounding leaves over is carried, so no drift accumulates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transmitter {
    rate_bps: Option<u64>,
    free_at_ns: u64,
    /// The part of a nanosecond by which the last frame ends after `free_at_ns`, in units of 1/rate ns.
    remainder: u64,
}

impl Transmitter {
    pub fn new(rate_bps: Option<u64>) -> Self {
        Self { rate_bps, ..Self::default() }
    }

    pub fn rate_bps(&self) -> Option<u64> {
        self.rate_bps
    }

    /// Holds for frames after the one that is being sent.
    pub fn set_rate(&mut self, rate_bps: Option<u64>) {
        if rate_bps != self.rate_bps {
            self.rate_bps = rate_bps;
            self.remainder = 0;
        }
    }

    pub fn free_at_ns(&self) -> u64 {
        self.free_at_ns
    }

    /// Sends `bytes` from `now_ns` on and returns the time of the last bit. The transmitter must be free.
    pub fn send(&mut self, now_ns: u64, bytes: u64) -> u64 {
        if now_ns > self.free_at_ns {
            self.free_at_ns = now_ns;
            self.remainder = 0;
        }
        if let Some(rate) = self.rate_bps {
            let short = bytes.checked_mul(8 * NS_PER_S).and_then(|work| work.checked_add(self.remainder));
            let (duration, remainder) = match short {
                Some(work) => (work / rate, work % rate),
                None => {
                    let work = u128::from(bytes) * 8 * u128::from(NS_PER_S) + u128::from(self.remainder);
                    let duration = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
                    (duration, (work % u128::from(rate)) as u64) // below rate, which is a u64
                }
            };
            self.free_at_ns = self.free_at_ns.saturating_add(duration);
            self.remainder = remainder;
        }
        self.free_at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_period_does_not_drift() {
        // 1,000 bytes at 3 Mbit/s take 2,666,666.67 ns.
        let mut transmitter = Transmitter::new(Some(3_000_000));
        for n in 1..=3_000_000u64 {
            let end = transmitter.send(transmitter.free_at_ns(), 1000);
            assert_eq!(end, n * 8_000_000 / 3);
        }
    }

    #[test]
    fn an_idle_transmitter_starts_at_once() {
        let mut transmitter = Transmitter::new(Some(8_000_000));
        assert_eq!(transmitter.send(0, 1000), 1_000_000);
        assert_eq!(transmitter.send(5_000_000, 1000), 6_000_000);
        assert_eq!(Transmitter::new(None).send(7, 1000), 7);
    }

    #[test]
    fn extreme_rates_do_not_overflow() {
        assert_eq!(Transmitter::new(Some(u64::MAX)).send(3, 1500), 3);
        assert_eq!(Transmitter::new(Some(1)).send(3, 1_000_000_000), 3 + 8 * 1_000_000_000_000_000_000);
        assert_eq!(Transmitter::new(Some(1)).send(3, u64::MAX), u64::MAX);
    }
}
