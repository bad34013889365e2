//! The generator behind `random()`: xoshiro256** (Blackman, Vigna, 2018), seeded by SplitMix64.

#[derive(Debug, Clone)]
pub(crate) struct Random([u64; 4]);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let result = self.0[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = self.0[1] << 17;
        self.0[2] ^= self.0[0];
        self.0[3] ^= self.0[1];
        self.0[1] ^= self.0[2];
        self.0[0] ^= self.0[3];
        self.0[2] ^= t;
        self.0[3] = self.0[3].rotate_left(45);
        result
    }

    /// Uniform in `low..=high`: multiply and take the high word (Lemire, 2019), rejecting the biased part.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        let Some(span) = (high - low).checked_add(1) else { return self.next() };
        let threshold = span.wrapping_neg() % span;
        loop {
            let product = u128::from(self.next()) * u128::from(span);
            if product as u64 >= threshold {
                return low + (product >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..8).map(|_| random.between(0, u64::MAX)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn every_value_of_a_range_comes_equally_often() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 6];
        for _ in 0..60_000 {
            seen[(random.between(10, 15) - 10) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (9_500..10_500).contains(&n)), "{seen:?}");
        assert_eq!(random.between(3, 3), 3);
    }
}
