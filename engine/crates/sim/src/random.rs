//! Distributions, drawn from a named stream. Their logarithms and powers are `libm`'s, in software: a platform's own
//! may differ in the last bit, and one bit is enough to make another run.

use link::random::Stream;

/// Exponential with this mean.
pub fn exponential(stream: &mut Stream, mean: f64) -> f64 {
    -mean * libm::log(1.0 - stream.uniform())
}

/// Pareto with this mean; `shape` above 1 (below 2 the variance is infinite).
pub fn pareto(stream: &mut Stream, mean: f64, shape: f64) -> f64 {
    let scale = mean * (shape - 1.0) / shape;
    scale * libm::pow(1.0 - stream.uniform(), -1.0 / shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_right() {
        let mut stream = Stream::new(1, "means");
        let draws = 200_000;
        let mean = (0..draws).map(|_| exponential(&mut stream, 3.0)).sum::<f64>() / f64::from(draws);
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        let mean = (0..draws).map(|_| pareto(&mut stream, 3.0, 2.5)).sum::<f64>() / f64::from(draws);
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn pareto_has_its_least_value_and_its_tail() {
        let mut stream = Stream::new(1, "tail");
        let drawn: Vec<f64> = (0..100_000).map(|_| pareto(&mut stream, 3.0, 1.5)).collect();
        assert!(drawn.iter().all(|&value| value >= 1.0));
        // P(X > 4) = 4^-1.5
        let above = drawn.iter().filter(|&&value| value > 4.0).count() as f64 / 100_000.0;
        assert!((above - 0.125).abs() < 0.005, "{above}");
    }
}
