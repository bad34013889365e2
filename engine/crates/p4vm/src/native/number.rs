//! Numbers of any width in native code: two's complement words, least significant first, as in `value::int`.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I64, I8};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value as V};

use super::emit::{Emit, Words};
use crate::ir::{Compare, Op};
use crate::value::mask64;

/// Bytes of one function's frame, beside registers that are saved.
const MAX_STACK: u32 = 1 << 16;

impl Emit<'_, '_> {
    pub(super) fn constant(&mut self, value: u64) -> V {
        self.b.ins().iconst(I64, value as i64)
    }

    pub(super) fn is(&mut self, code: IntCC, a: V, b: V) -> V {
        self.b.ins().icmp(code, a, b)
    }

    pub(super) fn is_const(&mut self, code: IntCC, a: V, b: i64) -> V {
        self.b.ins().icmp_imm_s(code, a, b)
    }

    pub(super) fn and_const(&mut self, a: V, mask: u64) -> V {
        match mask {
            u64::MAX => a,
            _ => {
                let mask = self.constant(mask);
                self.b.ins().band(a, mask)
            }
        }
    }

    pub(super) fn shl_const(&mut self, a: V, by: u32) -> V {
        match by {
            0 => a,
            1..64 => self.b.ins().ishl_imm_u(a, i64::from(by)),
            _ => self.constant(0),
        }
    }

    pub(super) fn shr_const(&mut self, a: V, by: u32) -> V {
        match by {
            0 => a,
            1..64 => self.b.ins().ushr_imm_u(a, i64::from(by)),
            _ => self.constant(0),
        }
    }

    fn sign(&mut self, a: V) -> V {
        self.b.ins().sshr_imm_u(a, 63)
    }

    /// Zero words behind.
    pub(super) fn extend(&mut self, mut words: Words, n: usize) -> Words {
        while words.len() < n {
            words.push(self.constant(0));
        }
        words.truncate(n);
        words
    }

    /// The sign behind.
    pub(super) fn sign_extend(&mut self, mut words: Words, n: usize) -> Option<Words> {
        if words.len() < n {
            let fill = self.sign(*words.last()?);
            words.resize(n, fill);
        }
        words.truncate(n);
        Some(words)
    }

    pub(super) fn mask(&mut self, words: Words, bits: u32) -> Words {
        let masked = words.into_iter().enumerate();
        masked.map(|(i, word)| self.and_const(word, crate::value::word_mask(bits, i as u32))).collect()
    }

    /// One bit: any word is not zero.
    pub(super) fn any(&mut self, words: &[V]) -> Option<V> {
        let (first, rest) = words.split_first()?;
        let all = rest.iter().fold(*first, |all, &word| self.b.ins().bor(all, word));
        Some(self.is_const(IntCC::NotEqual, all, 0))
    }

    /// As `Int::amount`.
    pub(super) fn amount(&mut self, words: &[V]) -> Option<V> {
        let (first, rest) = words.split_first()?;
        let beyond = match rest {
            [] => self.is_const(IntCC::SignedLessThan, *first, 0),
            rest => self.any(rest)?,
        };
        let most = self.constant(u64::MAX);
        Some(self.b.ins().select(beyond, most, *first))
    }

    pub(super) fn binary(&mut self, op: Op, a: &[V], b: &[V]) -> Option<Words> {
        let bitwise = |this: &mut Self, op: fn(&mut Self, V, V) -> V| {
            a.iter().zip(b).map(|(&a, &b)| op(this, a, b)).collect::<Words>()
        };
        Some(match op {
            Op::And => bitwise(self, |this, a, b| this.b.ins().band(a, b)),
            Op::Or => bitwise(self, |this, a, b| this.b.ins().bor(a, b)),
            Op::Xor => bitwise(self, |this, a, b| this.b.ins().bxor(a, b)),
            Op::Add => self.add(a, b),
            Op::Sub => self.subtract(a, b),
            Op::Mul => match (a, b) {
                (&[a], &[b]) => vec![self.b.ins().imul(a, b)],
                _ => return None,
            },
            Op::Div | Op::Mod => match (a, b) {
                (&[a], &[b]) => vec![self.divide(op == Op::Mod, a, b)],
                _ => return None,
            },
            Op::Shl => {
                let amount = self.amount(b)?;
                self.shift_left(a, amount)?
            }
            Op::Shr => {
                let amount = self.amount(b)?;
                self.shift_right(a, amount)?
            }
        })
    }

    fn add(&mut self, a: &[V], b: &[V]) -> Words {
        let (mut out, mut carry) = (Words::new(), None);
        for (&a, &b) in a.iter().zip(b) {
            let sum = self.b.ins().iadd(a, b);
            let over = self.is(IntCC::UnsignedLessThan, sum, a);
            let (sum, over) = match carry {
                None => (sum, over),
                Some(carry) => {
                    let carry = self.b.ins().uextend(I64, carry);
                    let total = self.b.ins().iadd(sum, carry);
                    let again = self.is(IntCC::UnsignedLessThan, total, sum);
                    (total, self.b.ins().bor(over, again))
                }
            };
            out.push(sum);
            carry = Some(over);
        }
        out
    }

    fn subtract(&mut self, a: &[V], b: &[V]) -> Words {
        let (mut out, mut borrow) = (Words::new(), None);
        for (&a, &b) in a.iter().zip(b) {
            let difference = self.b.ins().isub(a, b);
            let under = self.is(IntCC::UnsignedLessThan, a, b);
            let (difference, under) = match borrow {
                None => (difference, under),
                Some(borrow) => {
                    let borrow = self.b.ins().uextend(I64, borrow);
                    let total = self.b.ins().isub(difference, borrow);
                    let again = self.is(IntCC::UnsignedLessThan, difference, borrow);
                    (total, self.b.ins().bor(under, again))
                }
            };
            out.push(difference);
            borrow = Some(under);
        }
        out
    }

    /// By zero it gives zero; the least number by -1 wraps.
    fn divide(&mut self, remainder: bool, a: V, b: V) -> V {
        let by_zero = self.is_const(IntCC::Equal, b, 0);
        let by_minus_one = self.is_const(IntCC::Equal, b, -1);
        let special = self.b.ins().bor(by_zero, by_minus_one);
        let (zero, one) = (self.constant(0), self.constant(1));
        let divisor = self.b.ins().select(special, one, b);
        let (result, by_minus) = if remainder {
            (self.b.ins().srem(a, divisor), zero)
        } else {
            (self.b.ins().sdiv(a, divisor), self.b.ins().ineg(a))
        };
        let result = self.b.ins().select(by_minus_one, by_minus, result);
        self.b.ins().select(by_zero, zero, result)
    }

    /// By a number of bits known now.
    pub(super) fn shift_left_const(&mut self, a: &[V], by: u64) -> Words {
        let (limbs, bits) = (usize::try_from(by / 64).unwrap_or(usize::MAX), (by % 64) as u32);
        let at = |i: usize| i.checked_sub(limbs).and_then(|i| a.get(i)).copied();
        (0..a.len())
            .map(|i| {
                let high = at(i).map(|word| self.shl_const(word, bits));
                let low = i.checked_sub(1).and_then(at).filter(|_| bits > 0);
                let low = low.map(|word| self.shr_const(word, 64 - bits));
                match (high, low) {
                    (Some(high), Some(low)) => self.b.ins().bor(high, low),
                    (Some(one), None) | (None, Some(one)) => one,
                    (None, None) => self.constant(0),
                }
            })
            .collect()
    }

    /// By any number of bits; zero when everything is shifted out.
    fn shift_left(&mut self, a: &[V], amount: V) -> Option<Words> {
        if let &[a] = a {
            let shifted = self.b.ins().ishl(a, amount);
            let (zero, fits) = (self.constant(0), self.is_const(IntCC::UnsignedLessThan, amount, 64));
            return Some(vec![self.b.ins().select(fits, shifted, zero)]);
        }
        // Zeros and then the words: shifting by whole words is reading at another place.
        let n = a.len();
        let zero = self.constant(0);
        let words: Words = std::iter::repeat_n(zero, n + 1).chain(a.iter().copied()).collect();
        let (base, limbs, bits) = self.shiftable(&words, amount, n)?;
        let back = self.b.ins().ishl_imm_u(limbs, 3);
        let at = self.b.ins().isub(base, back);
        let rest = self.rest(bits);
        Some(
            (0..n)
                .map(|i| {
                    let offset = (i + n + 1) as i32 * 8;
                    let high = self.b.ins().load(I64, MemFlagsData::trusted(), at, offset);
                    let low = self.b.ins().load(I64, MemFlagsData::trusted(), at, offset - 8);
                    let high = self.b.ins().ishl(high, bits);
                    let low = self.b.ins().ushr_imm_u(low, 1);
                    let low = self.b.ins().ushr(low, rest);
                    self.b.ins().bor(high, low)
                })
                .collect(),
        )
    }

    /// Arithmetic, by any number of bits.
    fn shift_right(&mut self, a: &[V], amount: V) -> Option<Words> {
        if let &[a] = a {
            let most = self.constant(63);
            let amount = self.b.ins().umin(amount, most);
            return Some(vec![self.b.ins().sshr(a, amount)]);
        }
        let n = a.len();
        let words = self.sign_extend(a.to_vec(), 2 * n + 1)?;
        let (base, limbs, bits) = self.shiftable(&words, amount, n)?;
        let forward = self.b.ins().ishl_imm_u(limbs, 3);
        let at = self.b.ins().iadd(base, forward);
        let rest = self.rest(bits);
        Some(
            (0..n)
                .map(|i| {
                    let offset = i as i32 * 8;
                    let low = self.b.ins().load(I64, MemFlagsData::trusted(), at, offset);
                    let high = self.b.ins().load(I64, MemFlagsData::trusted(), at, offset + 8);
                    let low = self.b.ins().ushr(low, bits);
                    let high = self.b.ins().ishl_imm_u(high, 1);
                    let high = self.b.ins().ishl(high, rest);
                    self.b.ins().bor(high, low)
                })
                .collect(),
        )
    }

    /// Words in memory of their own: its address, and by how many words (`n` at most) and bits an amount shifts.
    fn shiftable(&mut self, words: &[V], amount: V, n: usize) -> Option<(V, V, V)> {
        let base = self.memory(words)?;
        let limbs = self.b.ins().ushr_imm_u(amount, 6);
        let most = self.constant(n as u64);
        let limbs = self.b.ins().umin(limbs, most);
        let bits = self.and_const(amount, 63);
        Some((base, limbs, bits))
    }

    /// 63 - bits: shifted by one and then by this, nothing is left of a word when `bits` is 0.
    fn rest(&mut self, bits: V) -> V {
        let most = self.constant(63);
        self.b.ins().isub(most, bits)
    }

    /// The address of memory on the stack that holds these words; None when the function has much of it already.
    pub(super) fn memory(&mut self, words: &[V]) -> Option<V> {
        let bytes = u32::try_from(words.len().max(1) * 8).ok()?;
        self.stack = self.stack.checked_add(bytes).filter(|&stack| stack <= MAX_STACK)?;
        let slot = self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3));
        let base = self.b.ins().stack_addr(I64, slot, 0);
        for (i, &word) in words.iter().enumerate() {
            self.b.ins().store(MemFlagsData::trusted(), word, base, i as i32 * 8);
        }
        Some(base)
    }

    /// One bit shifted to the place that an amount says.
    pub(super) fn bit_at(&mut self, amount: V, n: usize) -> Words {
        let limb = self.b.ins().ushr_imm_u(amount, 6);
        let one = self.constant(1);
        let (bit, zero) = (self.b.ins().ishl(one, amount), self.constant(0));
        (0..n)
            .map(|i| {
                let here = self.is_const(IntCC::Equal, limb, i as i64);
                self.b.ins().select(here, bit, zero)
            })
            .collect()
    }

    pub(super) fn compare(&mut self, op: Compare, a: &[V], b: &[V]) -> Option<V> {
        match op {
            Compare::Eq => {
                let differ = self.binary(Op::Xor, a, b)?;
                let differ = self.any(&differ)?;
                Some(self.not(differ))
            }
            Compare::Lt => self.less(a, b),
            Compare::Gt => self.less(b, a),
            Compare::Le => self.less(b, a).map(|greater| self.not(greater)),
            Compare::Ge => self.less(a, b).map(|less| self.not(less)),
        }
    }

    fn less(&mut self, a: &[V], b: &[V]) -> Option<V> {
        let (&a_top, a) = a.split_last()?;
        let (&b_top, b) = b.split_last()?;
        let mut below = None;
        for (&a, &b) in a.iter().zip(b) {
            below = Some(self.less_then(IntCC::UnsignedLessThan, a, b, below));
        }
        Some(self.less_then(IntCC::SignedLessThan, a_top, b_top, below))
    }

    fn less_then(&mut self, code: IntCC, a: V, b: V, below: Option<V>) -> V {
        let less = self.is(code, a, b);
        let Some(below) = below else { return less };
        let equal = self.is(IntCC::Equal, a, b);
        let tie = self.b.ins().band(equal, below);
        self.b.ins().bor(less, tie)
    }

    pub(super) fn not(&mut self, bit: V) -> V {
        self.b.ins().bxor_imm_u(bit, 1)
    }

    pub(super) fn bit(&mut self, value: bool) -> V {
        self.b.ins().iconst(I8, i64::from(value))
    }

    /// The low bits as a signed number.
    pub(super) fn two_comp_mod(&mut self, mut words: Words, width: u32) -> Option<Words> {
        let n = words.len();
        if width as usize >= n * 64 {
            return Some(words);
        }
        let Some(top) = width.checked_sub(1) else { return Some(self.extend(Vec::new(), n)) };
        words.truncate(top as usize / 64 + 1);
        let unused = i64::from(63 - top % 64);
        let last = words.pop()?;
        let last = self.b.ins().ishl_imm_u(last, unused);
        words.push(self.b.ins().sshr_imm_u(last, unused));
        self.sign_extend(words, n)
    }

    /// The nearest number of so many bits, of one word.
    pub(super) fn saturate(&mut self, words: &[V], width: u32, signed: bool) -> Option<Words> {
        let &[value] = words else { return None };
        let (low, high): (i64, i64) = match (signed, width) {
            (false, 0..=62) => (0, mask64(width) as i64),
            (true, 1..=63) => (-1 << (width - 1), !(-1 << (width - 1))),
            _ => return None,
        };
        let (low, high) = (self.constant(low as u64), self.constant(high as u64));
        let value = self.b.ins().smax(value, low);
        Some(vec![self.b.ins().smin(value, high)])
    }
}
