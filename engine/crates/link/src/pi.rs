//! The proportional integral controller that PIE and DualPI2 share.
//!
//! Its updates are due at whole multiples of the interval. Nothing wakes a queue for them: those that are due are carried
//! out before the next packet comes or goes, each as of its own time. Between packets a queue does not change, so the delay
//! at that time is known.

use crate::config::PiConfig;

const S: f64 = 1e9;

#[derive(Clone, Debug)]
pub(crate) struct Pi {
    config: PiConfig,
    next_update_ns: u64,
    /// The delay at the last update, seconds.
    old_delay_s: f64,
}

/// What an update finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    /// By how much the controller wants the probability to change.
    pub change: f64,
    pub delay_s: f64,
    pub old_delay_s: f64,
}

impl Pi {
    pub fn new(config: PiConfig) -> Self {
        Self { config, next_update_ns: config.update_ns, old_delay_s: 0.0 }
    }

    /// Other parameters; the state goes on.
    pub fn set_config(&mut self, config: PiConfig) {
        if config.update_ns != self.config.update_ns {
            let last = self.next_update_ns.saturating_sub(self.config.update_ns);
            self.next_update_ns = (last / config.update_ns + 1) * config.update_ns;
        }
        self.config = config;
    }

    /// The delay at the last update, seconds.
    pub fn old_delay_s(&self) -> f64 {
        self.old_delay_s
    }

    pub fn target_s(&self) -> f64 {
        self.config.target_ns as f64 / S
    }

    /// Carries out all updates that are due by `now_ns`. The head of the queue has waited since `since_ns`; None: nothing
    /// waits. `apply` changes the probability, and says whether another update of this kind would leave it as it is: the
    /// rest of a long silence is passed over then.
    pub fn catch_up(&mut self, now_ns: u64, since_ns: Option<u64>, mut apply: impl FnMut(Update) -> bool) {
        while self.next_update_ns <= now_ns {
            let delay_s = delay_s(since_ns, self.next_update_ns);
            let change =
                self.config.alpha * (delay_s - self.target_s()) + self.config.beta * (delay_s - self.old_delay_s);
            let is_settled = apply(Update { change, delay_s, old_delay_s: self.old_delay_s });
            if is_settled {
                self.next_update_ns = now_ns - now_ns % self.config.update_ns;
            }
            self.old_delay_s = self::delay_s(since_ns, self.next_update_ns);
            self.next_update_ns += self.config.update_ns;
        }
    }
}

fn delay_s(since_ns: Option<u64>, time_ns: u64) -> f64 {
    since_ns.map_or(0.0, |since| time_ns.saturating_sub(since) as f64 / S)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_update_is_made_as_of_its_own_time() {
        let config = PiConfig { target_ns: 15 * MS, update_ns: 10 * MS, alpha: 0.5, beta: 2.0 };
        let (mut pi, mut seen) = (Pi::new(config), Vec::new());
        let mut note = |update: Update| {
            seen.push((update.delay_s, update.change));
            false
        };
        pi.catch_up(9 * MS, None, &mut note);
        pi.catch_up(35 * MS, Some(5 * MS), &mut note);
        let expected = [5.0e-3, 15.0e-3, 25.0e-3].map(|delay: f64| {
            let grown = if delay < 0.01 { delay } else { 0.01 };
            (delay, 0.5 * (delay - 0.015) + 2.0 * grown)
        });
        assert_eq!(seen.len(), 3);
        for ((delay, change), (expected_delay, expected_change)) in seen.into_iter().zip(expected) {
            assert!((delay - expected_delay).abs() < 1e-12 && (change - expected_change).abs() < 1e-12);
        }
    }

    #[test]
    fn a_long_silence_costs_nothing() {
        let config = PiConfig { target_ns: MS, update_ns: MS, alpha: 1.0, beta: 1.0 };
        let (mut pi, mut updates) = (Pi::new(config), 0);
        pi.catch_up(u64::MAX / 2, Some(0), |_| {
            updates += 1;
            updates == 10
        });
        assert_eq!(updates, 10);
        let last = u64::MAX / 2 / MS * MS;
        assert_eq!(pi.old_delay_s(), last as f64 / S);
        assert_eq!(pi.next_update_ns, last + MS);
    }
}
