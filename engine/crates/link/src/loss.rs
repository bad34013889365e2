//! Random loss on the wire.

use crate::config::LossConfig;
use crate::random::Stream;

#[derive(Clone, Debug)]
pub(crate) struct Loss {
    model: LossConfig,
    bad: bool,
    state: Stream,
    draw: Stream,
}

impl Loss {
    /// None when nothing is to be lost.
    pub fn new(model: LossConfig, seed: u64) -> Option<Self> {
        (model != LossConfig::None).then(|| Self {
            model,
            bad: false,
            state: Stream::new(seed, "loss state"),
            draw: Stream::new(seed, "loss"),
        })
    }

    /// Changes the model; the streams and the state go on.
    pub fn set_model(&mut self, model: LossConfig) {
        self.model = model;
    }

    /// Whether the next packet is lost.
    pub fn loses(&mut self) -> bool {
        match self.model {
            LossConfig::None => false,
            LossConfig::Bernoulli(p) => self.draw.chance(p),
            LossConfig::GilbertElliott(model) => {
                let change = if self.bad { model.bad_to_good } else { model.good_to_bad };
                self.bad ^= self.state.chance(change);
                self.draw.chance(if self.bad { model.loss_bad } else { model.loss_good })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GilbertElliott;

    const PACKETS: usize = 400_000;

    fn losses(model: LossConfig) -> Vec<bool> {
        let mut loss = Loss::new(model, 11);
        (0..PACKETS).map(|_| loss.as_mut().is_some_and(Loss::loses)).collect()
    }

    fn rate(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&l| l).count() as f64 / lost.len() as f64
    }

    #[test]
    fn bernoulli_loses_its_share() {
        assert_eq!(rate(&losses(LossConfig::None)), 0.0);
        assert_eq!(rate(&losses(LossConfig::Bernoulli(1.0))), 1.0);
        assert!((rate(&losses(LossConfig::Bernoulli(0.01))) - 0.01).abs() < 0.0005);
    }

    #[test]
    fn gilbert_elliott_has_its_stationary_rate_and_burst_length() {
        let model = GilbertElliott { good_to_bad: 0.02, bad_to_good: 0.25, loss_good: 0.0, loss_bad: 1.0 };
        let lost = losses(LossConfig::GilbertElliott(model));
        let stationary = 0.02 / (0.02 + 0.25);
        assert!((rate(&lost) / stationary - 1.0).abs() < 0.02, "{}", rate(&lost));
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        let mean_burst = lost.iter().filter(|&&l| l).count() as f64 / bursts;
        assert!((mean_burst / 4.0 - 1.0).abs() < 0.03, "{mean_burst}"); // 1 / bad_to_good
    }
}
