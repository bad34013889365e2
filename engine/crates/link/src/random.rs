//! Named random streams of one seed.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64 as its authors recommend. Both
//! use integer operations only, so a stream is the same on every machine. Each random choice of a simulation draws from
//! a stream of its own: switching one choice off leaves all others as they were.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// FNV-1a, 64 bits: offset basis and prime (RFC 9923, section 5).
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream called `name` of the run seeded with `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive(seed, name)))
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }

    /// True with the probability given. Always draws, so that the stream's position depends on the number of choices
    /// alone.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }
}

/// A seed for the part called `name` of a run seeded with `seed`, for parts that have streams of their own.
pub fn derive(seed: u64, name: &str) -> u64 {
    // The seed goes through the hash too: neighbouring seeds must not give overlapping streams.
    let hash = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    let seeded = seed.to_le_bytes().into_iter().fold(FNV_OFFSET, hash);
    name.bytes().fold(seeded, hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_the_same_on_every_machine() {
        let mut stream = Stream::new(1, "loss");
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        // Computed from the definitions of FNV-1a, SplitMix64 and xoshiro256++, apart from this code.
        assert_eq!(first, [13_106_514_167_953_388_154, 1_211_661_785_139_316_599, 15_249_386_823_614_110_897]);
    }

    #[test]
    fn streams_differ_by_seed_and_name() {
        let draw = |seed, name| Stream::new(seed, name).next_u64();
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_eq!(draw(7, "a"), draw(7, "a"));
    }

    #[test]
    fn uniform_has_mean_one_half() {
        let mut stream = Stream::new(3, "mean");
        let mean = (0..100_000).map(|_| stream.uniform()).sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
