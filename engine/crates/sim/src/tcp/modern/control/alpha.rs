//! The part of a sender's octets that come marked, smoothed (RFC 8257, section 3.3).

/// Weight of a new observation: g.
const GAIN: f64 = 1.0 / 16.0;

#[derive(Debug)]
pub struct Alpha {
    value: f64,
    delivered: f64,
    marked: f64,
}

impl Default for Alpha {
    /// RFC 8257, section 4.1: begins with 1.
    fn default() -> Self {
        Self { value: 1.0, delivered: 0.0, marked: 0.0 }
    }
}

impl Alpha {
    /// Nothing was marked so far.
    pub fn zero() -> Self {
        Self { value: 0.0, delivered: 0.0, marked: 0.0 }
    }

    /// The part, from 0 to 1.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Packets that were delivered, and how many of them marked.
    pub fn observe(&mut self, delivered: f64, marked: f64) {
        self.delivered += delivered;
        self.marked += marked;
    }

    /// The window of observation ends.
    pub fn update(&mut self) {
        if self.delivered > 0.0 {
            let part = (self.marked / self.delivered).min(1.0);
            self.value += GAIN * (part - self.value);
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_approaches_the_part_that_is_marked() {
        let mut alpha = Alpha::default();
        for round in 1..=80 {
            alpha.observe(30.0, 6.0);
            alpha.update();
            // The distance falls to 15/16 each time.
            let expected = 0.2 + 0.8 * (15.0f64 / 16.0).powi(round);
            assert!((alpha.value() - expected).abs() < 1e-12);
        }
    }
}
