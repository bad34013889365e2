//! Two-rate three-colour meters, colour-blind (RFC 2698, section 3), as deterministic functions of the time given.

use crate::MeterRates;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Green = 0,
    Yellow = 1,
    Red = 2,
}

/// A token bucket in units (bytes or packets).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    tokens: f64,
}

impl Bucket {
    fn refill(&mut self, seconds: f64, rate: f64, burst: u64) {
        self.tokens = (self.tokens + seconds * rate).min(burst as f64);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Meter {
    configured: Option<Configured>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Configured {
    rates: MeterRates,
    committed: Bucket,
    peak: Bucket,
    last_ns: u64,
}

impl Meter {
    /// Both buckets start full.
    pub(crate) fn configure(&mut self, rates: Option<MeterRates>, now_ns: u64) {
        self.configured = rates.map(|rates| Configured {
            rates,
            committed: Bucket { tokens: rates.cburst as f64 },
            peak: Bucket { tokens: rates.pburst as f64 },
            last_ns: now_ns,
        });
    }

    pub(crate) fn rates(&self) -> Option<MeterRates> {
        self.configured.map(|c| c.rates)
    }

    /// Colour a packet of `units`; an unconfigured meter says green.
    pub(crate) fn execute(&mut self, units: u64, now_ns: u64) -> Colour {
        let Some(state) = &mut self.configured else { return Colour::Green };
        let seconds = now_ns.saturating_sub(state.last_ns) as f64 / 1e9;
        state.last_ns = state.last_ns.max(now_ns);
        state.committed.refill(seconds, state.rates.cir, state.rates.cburst);
        state.peak.refill(seconds, state.rates.pir, state.rates.pburst);
        let units = units as f64;
        if state.peak.tokens < units {
            return Colour::Red;
        }
        state.peak.tokens -= units;
        if state.committed.tokens < units {
            return Colour::Yellow;
        }
        state.committed.tokens -= units;
        Colour::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: MeterRates = MeterRates { cir: 10.0, cburst: 2, pir: 20.0, pburst: 4 };

    fn colours(meter: &mut Meter, at_ns: u64, count: usize) -> Vec<Colour> {
        (0..count).map(|_| meter.execute(1, at_ns)).collect()
    }

    #[test]
    fn an_unconfigured_meter_says_green() {
        assert_eq!(Meter::default().execute(1_000_000, 0), Colour::Green);
    }

    #[test]
    fn bursts_are_green_then_yellow_then_red() {
        let mut meter = Meter::default();
        meter.configure(Some(RATES), 5);
        use Colour::{Green, Red, Yellow};
        assert_eq!(colours(&mut meter, 5, 6), [Green, Green, Yellow, Yellow, Red, Red]);
        // A tenth of a second later one committed and two peak tokens are back.
        assert_eq!(colours(&mut meter, 100_000_005, 3), [Green, Yellow, Red]);
    }

    #[test]
    fn time_that_goes_backwards_gives_no_tokens() {
        let mut meter = Meter::default();
        meter.configure(Some(RATES), 1_000_000_000);
        colours(&mut meter, 1_000_000_000, 4);
        assert_eq!(meter.execute(1, 0), Colour::Red);
        assert_eq!(meter.execute(1, 1_000_000_000), Colour::Red);
    }

    #[test]
    fn many_small_steps_refill_as_much_as_one_large_step() {
        let mut meter = Meter::default();
        meter.configure(Some(MeterRates { cir: 3.0, cburst: 1, pir: 1e9, pburst: 1 << 40 }), 0);
        let green = (0..10_000u64).filter(|i| meter.execute(1, i * 1_000_000) == Colour::Green).count();
        assert!((30..=31).contains(&green), "{green} green packets in 10 s at 3 a second");
    }
}
