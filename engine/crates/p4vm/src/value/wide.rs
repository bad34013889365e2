//! Numbers beyond 128 bits. BMv2's widest field is 2,048 bits, so sums and differences of two fit the widest number here
//! with room to spare; narrower ones are there because computing takes as long as a number is wide.

use std::cmp::Ordering;

use super::Int;

/// A signed integer of so many words, least significant first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wide<const LIMBS: usize>([u64; LIMBS]);

/// Holds any two values of 128 bits, such as IPv6 addresses, and what comes of them.
pub(crate) type Wide192 = Wide<3>;

/// The same for 512 bits: sixteen words of 32 bits side by side.
pub(crate) type Wide576 = Wide<9>;

/// Holds everything.
pub(crate) type Widest = Wide<34>;

impl<const LIMBS: usize> Wide<LIMBS> {
    fn zip(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = [0; LIMBS];
        for ((o, &a), &b) in out.iter_mut().zip(&self.0).zip(&other.0) {
            *o = f(a, b);
        }
        Self(out)
    }

    fn fill(&self) -> u64 {
        if self.is_negative() {
            u64::MAX
        } else {
            0
        }
    }

    fn negate(&self) -> Self {
        self.not().add(&Self::from_i64(1))
    }

    fn magnitude(&self) -> Self {
        if self.is_negative() {
            self.negate()
        } else {
            self.clone()
        }
    }

    /// Quotient and remainder of magnitudes, one bit at a time: division is rare and its operands are constants.
    fn div_rem(&self, other: &Self) -> (Self, Self) {
        let (mut quotient, mut remainder) = (Self::from_i64(0), Self::from_i64(0));
        if other.is_zero() {
            return (quotient, remainder);
        }
        let (dividend, divisor) = (self.magnitude(), other.magnitude());
        for limb in (0..LIMBS).rev() {
            for bit in (0..64).rev() {
                remainder = remainder.shl(1);
                remainder.0[0] |= dividend.limb(limb) >> bit & 1;
                if remainder.compare(&divisor) != Ordering::Less {
                    remainder = remainder.sub(&divisor);
                    if let Some(limb) = quotient.0.get_mut(limb) {
                        *limb |= 1 << bit;
                    }
                }
            }
        }
        (quotient, remainder)
    }
}

impl<const LIMBS: usize> Int for Wide<LIMBS> {
    const BITS: u32 = LIMBS as u32 * 64;

    fn from_i64(value: i64) -> Self {
        let mut out = [if value < 0 { u64::MAX } else { 0 }; LIMBS];
        out[0] = value as u64;
        Self(out)
    }

    fn from_words(words: &[u64], bits: u32, signed: bool) -> Self {
        let mut out = [0; LIMBS];
        for (o, &word) in out.iter_mut().zip(words) {
            *o = word;
        }
        let value = Self(out);
        if signed {
            value.two_comp_mod(bits)
        } else {
            value
        }
    }

    fn add(&self, other: &Self) -> Self {
        let (mut out, mut carry) = ([0; LIMBS], false);
        for ((o, &a), &b) in out.iter_mut().zip(&self.0).zip(&other.0) {
            let (sum, first) = a.overflowing_add(b);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            *o = sum;
            carry = first || second;
        }
        Self(out)
    }

    fn sub(&self, other: &Self) -> Self {
        self.add(&other.negate())
    }

    fn mul(&self, other: &Self) -> Self {
        let mut out = [0u64; LIMBS];
        for (i, &a) in self.0.iter().enumerate().filter(|(_, &a)| a != 0) {
            let mut carry = 0u128;
            for (o, &b) in out.iter_mut().skip(i).zip(&other.0) {
                let sum = u128::from(a) * u128::from(b) + u128::from(*o) + carry;
                *o = sum as u64;
                carry = sum >> 64;
            }
        }
        Self(out)
    }

    fn div(&self, other: &Self) -> Self {
        let (quotient, _) = self.div_rem(other);
        if self.is_negative() == other.is_negative() {
            quotient
        } else {
            quotient.negate()
        }
    }

    fn rem(&self, other: &Self) -> Self {
        let (_, remainder) = self.div_rem(other);
        if self.is_negative() {
            remainder.negate()
        } else {
            remainder
        }
    }

    fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    fn xor(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a ^ b)
    }

    fn not(&self) -> Self {
        self.zip(self, |a, _| !a)
    }

    fn shl(&self, amount: u64) -> Self {
        let mut out = [0; LIMBS];
        if amount < u64::from(Self::BITS) {
            let (limbs, bits) = ((amount / 64) as usize, (amount % 64) as u32);
            let mut below = 0;
            for (o, &limb) in out.iter_mut().skip(limbs).zip(&self.0) {
                *o = limb << bits | if bits == 0 { 0 } else { below >> (64 - bits) };
                below = limb;
            }
        }
        Self(out)
    }

    fn shr(&self, amount: u64) -> Self {
        let amount = amount.min(u64::from(Self::BITS - 1));
        let (limbs, bits) = ((amount / 64) as usize, (amount % 64) as u32);
        let mut out = [0; LIMBS];
        for (i, o) in out.iter_mut().enumerate() {
            let (low, high) = (self.limb(i + limbs), self.limb(i + limbs + 1));
            *o = low >> bits | if bits == 0 { 0 } else { high << (64 - bits) };
        }
        Self(out)
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => self.0.iter().rev().cmp(other.0.iter().rev()),
        }
    }

    fn limb(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or_else(|| self.fill())
    }

    fn is_zero(&self) -> bool {
        self.0.iter().all(|&limb| limb == 0)
    }

    fn is_negative(&self) -> bool {
        self.0.last().is_some_and(|limb| limb >> 63 != 0)
    }
}
