//! The three kinds of number that expressions are computed in.
//!
//! P4's values have a fixed width, but BMv2's JSON writes them as arithmetic on unlimited signed integers with explicit
//! truncation (`&` with a mask, `two_comp_mod`, `usat_cast`). The loader proves how many bits an expression needs (see
//! `load::range`) and picks i64, i128 or a [`Wide`](super::wide::Wide); all wrap, which is exact below that width.

use std::cmp::Ordering;

/// A signed two's complement integer of `BITS` bits with wrapping arithmetic.
pub(crate) trait Int: Clone {
    const BITS: u32;
    fn from_i64(value: i64) -> Self;
    /// From `bits` bits of words, least significant first.
    fn from_words(words: &[u64], bits: u32, signed: bool) -> Self;
    fn add(&self, other: &Self) -> Self;
    fn sub(&self, other: &Self) -> Self;
    fn mul(&self, other: &Self) -> Self;
    /// Truncating division; by zero it gives zero, as there is no trap in a data plane.
    fn div(&self, other: &Self) -> Self;
    fn rem(&self, other: &Self) -> Self;
    fn and(&self, other: &Self) -> Self;
    fn or(&self, other: &Self) -> Self;
    fn xor(&self, other: &Self) -> Self;
    fn not(&self) -> Self;
    /// Zero when everything is shifted out.
    fn shl(&self, amount: u64) -> Self;
    /// Arithmetic.
    fn shr(&self, amount: u64) -> Self;
    fn compare(&self, other: &Self) -> Ordering;
    /// Word `index` of the sign-extended value.
    fn limb(&self, index: usize) -> u64;

    fn low(&self) -> u64 {
        self.limb(0)
    }

    fn is_zero(&self) -> bool;

    fn is_negative(&self) -> bool;

    /// As a shift amount, index or count: anything negative or above 64 bits counts as the largest.
    fn amount(&self) -> u64 {
        if self.is_negative() || !self.shr(63).shr(1).is_zero() {
            u64::MAX
        } else {
            self.low()
        }
    }

    /// The low `width` bits as a signed number.
    fn two_comp_mod(&self, width: u32) -> Self {
        let unused = u64::from(Self::BITS.saturating_sub(width));
        self.shl(unused).shr(unused)
    }

    /// The nearest number in `0..2^width`.
    fn usat_cast(&self, width: u32) -> Self {
        let max = Self::from_i64(-1).shl(u64::from(width)).not();
        if self.is_negative() {
            Self::from_i64(0)
        } else if self.compare(&max) == Ordering::Greater {
            max
        } else {
            self.clone()
        }
    }

    /// The nearest number in `-2^(width-1)..2^(width-1)`.
    fn sat_cast(&self, width: u32) -> Self {
        let min = Self::from_i64(-1).shl(u64::from(width.saturating_sub(1)));
        let max = min.not();
        if self.compare(&min) == Ordering::Less {
            min
        } else if self.compare(&max) == Ordering::Greater {
            max
        } else {
            self.clone()
        }
    }
}

macro_rules! primitive_int {
    ($signed:ty, $unsigned:ty) => {
        impl Int for $signed {
            const BITS: u32 = <$signed>::BITS;

            #[inline]
            fn from_i64(value: i64) -> Self {
                value as $signed
            }

            #[inline]
            fn from_words(words: &[u64], bits: u32, signed: bool) -> Self {
                let mut value: $unsigned = 0;
                for (i, &word) in words.iter().enumerate().take((Self::BITS / 64) as usize) {
                    value |= (word as $unsigned) << (i as u32 * 64);
                }
                if signed && bits < Self::BITS {
                    let unused = Self::BITS - bits;
                    (value << unused) as $signed >> unused
                } else {
                    value as $signed
                }
            }

            #[inline]
            fn add(&self, other: &Self) -> Self {
                self.wrapping_add(*other)
            }

            #[inline]
            fn sub(&self, other: &Self) -> Self {
                self.wrapping_sub(*other)
            }

            #[inline]
            fn mul(&self, other: &Self) -> Self {
                self.wrapping_mul(*other)
            }

            #[inline]
            fn div(&self, other: &Self) -> Self {
                if *other == 0 {
                    0
                } else {
                    self.wrapping_div(*other)
                }
            }

            #[inline]
            fn rem(&self, other: &Self) -> Self {
                if *other == 0 {
                    0
                } else {
                    self.wrapping_rem(*other)
                }
            }

            #[inline]
            fn and(&self, other: &Self) -> Self {
                self & other
            }

            #[inline]
            fn or(&self, other: &Self) -> Self {
                self | other
            }

            #[inline]
            fn xor(&self, other: &Self) -> Self {
                self ^ other
            }

            #[inline]
            fn not(&self) -> Self {
                !self
            }

            #[inline]
            fn shl(&self, amount: u64) -> Self {
                if amount >= u64::from(Self::BITS) {
                    0
                } else {
                    self << amount
                }
            }

            #[inline]
            fn shr(&self, amount: u64) -> Self {
                self >> amount.min(u64::from(Self::BITS - 1))
            }

            #[inline]
            fn compare(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }

            #[inline]
            fn limb(&self, index: usize) -> u64 {
                self.shr(index as u64 * 64) as u64
            }

            #[inline]
            fn is_zero(&self) -> bool {
                *self == 0
            }

            #[inline]
            fn is_negative(&self) -> bool {
                *self < 0
            }
        }
    };
}

primitive_int!(i64, u64);
primitive_int!(i128, u128);
