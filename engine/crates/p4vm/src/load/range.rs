//! How many bits a computation needs.
//!
//! BMv2 computes with unlimited integers. Here every value of an expression gets bounds from the widths of its operands,
//! and the number of low bits that anybody looks at (its *demand*): a value that is cut to 32 bits afterwards may be
//! computed in 64 that wrap, as long as only `+ - * & | ^ ~ <<` lie between.

use crate::ir::{Expr, Op, Tier, Value};
use crate::value::{Int, Wide192, Wide576, Widest};

/// Bounds `-2^neg .. 2^pos - 1`, with `neg` None for values that are never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub pos: u32,
    pub neg: Option<u32>,
}

/// More than any number has.
const MANY: u32 = 1 << 16;

impl Range {
    pub(crate) fn unsigned(bits: u32) -> Self {
        Self { pos: bits, neg: None }
    }

    pub(crate) fn signed(bits: u32) -> Self {
        Self { pos: bits.saturating_sub(1), neg: Some(bits.saturating_sub(1)) }
    }

    fn union(self, other: Self) -> Self {
        let neg = match (self.neg, other.neg) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        Self { pos: self.pos.max(other.pos), neg }
    }

    /// Bits of a two's complement number that holds every value.
    fn bits(self) -> u32 {
        self.pos.max(self.neg.unwrap_or(0)).saturating_add(1)
    }

    fn widen(self, by: u32) -> Self {
        let more = |bits: u32| bits.saturating_add(by).min(MANY);
        Self { pos: more(self.pos), neg: self.neg.map(more) }
    }
}

/// The bounds of a constant.
fn of_const(value: i64) -> Range {
    if value < 0 {
        Range { pos: 0, neg: Some(64 - (!value).leading_zeros()) }
    } else {
        Range::unsigned(64 - value.leading_zeros())
    }
}

fn of_wide(words: &[u64]) -> Range {
    let wide = Widest::from_words(words, words.len() as u32 * 64, true);
    let bits = |value: &Widest| {
        let top = (0..words.len()).rev().find(|&i| value.limb(i) != 0);
        top.map_or(0, |i| i as u32 * 64 + 64 - value.limb(i).leading_zeros())
    };
    if wide.is_negative() {
        Range { pos: 0, neg: Some(bits(&wide.not())) }
    } else {
        Range::unsigned(bits(&wide))
    }
}

/// The bounds of `value`; `need` grows to the bits that computing it takes. `demand`: the low bits that matter.
pub(crate) fn analyse(value: &Value, demand: Option<u32>, need: &mut u32) -> Range {
    let range = match value {
        Value::Const(value) => of_const(*value),
        Value::WideConst(words) => of_wide(words),
        Value::Field { bits, .. } | Value::Argument { bits, .. } | Value::Register { bits, .. } => {
            Range::unsigned(*bits)
        }
        Value::AnyField { bits, signed, .. } | Value::In { bits, signed, .. } => {
            if *signed {
                Range::signed(*bits)
            } else {
                Range::unsigned(*bits)
            }
        }
        Value::Part { bits, .. } => Range::unsigned(*bits),
        Value::Join(parts) => Range::unsigned(parts.iter().map(|part| part.shift + part.bits).max().unwrap_or(0)),
        Value::Binary(op, left, right) => binary(*op, left, right, demand, need),
        Value::Not(value) => {
            let range = analyse(value, demand, need);
            Range { pos: range.neg.unwrap_or(0), neg: Some(range.pos) }
        }
        Value::Choose(_, then, otherwise) => analyse(then, demand, need).union(analyse(otherwise, demand, need)),
        Value::FromBool(_) => Range::unsigned(1),
        Value::TwoCompMod(value, width) => {
            analyse(value, Some(*width), need);
            Range::signed(*width)
        }
        Value::USatCast(value, width) => {
            analyse(value, None, need);
            *need = (*need).max(width + 1);
            Range::unsigned(*width)
        }
        Value::SatCast(value, width) => {
            analyse(value, None, need);
            *need = (*need).max(*width);
            Range::signed(*width)
        }
        // An empty stack has last index -1.
        Value::LastIndex(_) => Range::signed(33),
        Value::StackSize(_) => Range::unsigned(32),
    };
    let bits = demand.map_or(range.bits(), |demand| demand.min(range.bits()));
    *need = (*need).max(bits);
    range
}

fn binary(op: Op, left: &Value, right: &Value, demand: Option<u32>, need: &mut u32) -> Range {
    // The low bits of the result depend on no more than the low bits of the operands.
    let carried = match op {
        Op::Add | Op::Sub | Op::Mul | Op::Or | Op::Xor => (demand, demand),
        Op::And => (mask_demand(right, demand), mask_demand(left, demand)),
        Op::Shl => (demand, None),
        Op::Shr => (shifted_demand(right, demand), None),
        Op::Div | Op::Mod => (None, None),
    };
    let a = analyse(left, carried.0, need);
    let b = analyse(right, carried.1, need);
    match op {
        Op::Add => a.union(b).widen(1),
        Op::Sub => {
            let negated = Range { pos: b.neg.unwrap_or(0).saturating_add(1), neg: Some(b.pos) };
            a.union(negated).widen(1)
        }
        Op::Mul => {
            let bits = a.bits().saturating_add(b.bits()).min(MANY);
            if a.neg.is_none() && b.neg.is_none() {
                Range::unsigned(a.pos.saturating_add(b.pos).min(MANY))
            } else {
                Range { pos: bits, neg: Some(bits) }
            }
        }
        Op::Div => a.union(Range { pos: 0, neg: b.neg.map(|_| a.pos) }).widen(u32::from(b.neg.is_some())),
        Op::Mod => a,
        Op::And => match (a.neg, b.neg) {
            (None, None) => Range::unsigned(a.pos.min(b.pos)),
            (None, Some(_)) => a,
            (Some(_), None) => b,
            _ => a.union(b),
        },
        Op::Or | Op::Xor if a.neg.is_none() && b.neg.is_none() => a.union(b),
        // Of -1 and 127 come -128 and less than 128.
        Op::Or | Op::Xor => {
            let bits = a.bits().max(b.bits()).saturating_sub(1);
            Range { pos: bits, neg: Some(bits) }
        }
        Op::Shl => match right {
            Value::Const(amount) => a.widen(u32::try_from(*amount).unwrap_or(MANY)),
            _ => a.widen(1u32.checked_shl(b.pos.min(31)).unwrap_or(MANY)),
        },
        Op::Shr => a,
    }
}

/// Behind `& mask` only the bits matter that the mask can have.
pub(crate) fn mask_demand(mask: &Value, demand: Option<u32>) -> Option<u32> {
    match (width(mask), demand) {
        (Some(width), Some(demand)) => Some(demand.min(width)),
        (width, demand) => width.or(demand),
    }
}

/// Behind `>> amount`, with a constant, so many bits more.
fn shifted_demand(amount: &Value, demand: Option<u32>) -> Option<u32> {
    match amount {
        Value::Const(amount) => Some(demand?.saturating_add(u32::try_from(*amount).ok()?)),
        _ => None,
    }
}

/// The bits of a value that is not negative, where that can be seen at once: to look through a whole tree for each `&` in
/// it would take time by its size and its depth.
fn width(value: &Value) -> Option<u32> {
    match value {
        Value::Const(_)
        | Value::WideConst(_)
        | Value::Field { .. }
        | Value::AnyField { .. }
        | Value::Part { .. }
        | Value::Argument { .. } => match analyse(value, None, &mut 0) {
            Range { pos, neg: None } => Some(pos),
            _ => None,
        },
        _ => None,
    }
}

/// For constants 2^n - 1: n.
pub(crate) fn ones(value: &Value) -> Option<u32> {
    match value {
        Value::Const(value) if *value >= 0 && value & value.wrapping_add(1) == 0 => Some(value.trailing_ones()),
        Value::WideConst(words) => {
            let wide = Widest::from_words(words, words.len() as u32 * 64, true);
            let plain = !wide.is_negative() && wide.and(&wide.add(&Widest::from_i64(1))).is_zero();
            plain.then(|| words.iter().map(|word| word.count_ones()).sum())
        }
        _ => None,
    }
}

pub(crate) fn tier(need: u32) -> Tier {
    match need {
        0..=64 => Tier::I64,
        65..=128 => Tier::I128,
        129..=Wide192::BITS => Tier::W192,
        193..=Wide576::BITS => Tier::W576,
        _ => Tier::Widest,
    }
}

/// Can [`Tier::Words`] compute it? Nothing in it carries from one word to the next but shifts by a narrow amount.
pub(crate) fn only_bits(value: &Value) -> bool {
    match value {
        Value::Const(_) | Value::WideConst(_) | Value::Field { .. } | Value::Part { .. } | Value::Join(_) => true,
        Value::AnyField { signed, .. } => !signed,
        Value::Not(value) => only_bits(value),
        Value::Binary(Op::And | Op::Or | Op::Xor, left, right) => only_bits(left) && only_bits(right),
        Value::Binary(Op::Shl, value, amount) => {
            let mut need = 0;
            let range = analyse(amount, None, &mut need);
            range.neg.is_none() && tier(need) == Tier::I64 && only_bits(value)
        }
        _ => false,
    }
}

/// The tier that is exact for a value as it is.
pub(crate) fn tiered(value: Value, demand: Option<u32>) -> Expr {
    let mut need = 0;
    analyse(&value, demand, &mut need);
    let tier = match tier(need) {
        Tier::I64 => Tier::I64,
        _ if only_bits(&value) => Tier::Words,
        tier => tier,
    };
    Expr { tier, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(bits: u32) -> Box<Value> {
        Box::new(Value::AnyField { word: 0, bits, signed: false })
    }

    fn need(value: &Value, demand: Option<u32>) -> u32 {
        let mut need = 0;
        analyse(value, demand, &mut need);
        need
    }

    #[test]
    fn a_sum_that_is_not_cut_needs_a_carry_and_a_sign() {
        assert_eq!(need(&Value::Binary(Op::Add, field(32), field(32)), None), 34);
        assert_eq!(need(&Value::Binary(Op::Add, field(64), field(64)), Some(64)), 64);
    }

    #[test]
    fn a_mask_makes_wide_shifts_narrow() {
        let shifted = Box::new(Value::Binary(Op::Shl, field(32), field(8)));
        let masked = Value::Binary(Op::And, shifted, Box::new(Value::Const(0xffff_ffff)));
        assert_eq!(tier(need(&masked, None)), Tier::I64);
        let bare = Value::Binary(Op::Shl, field(32), field(8));
        assert_eq!(tier(need(&bare, None)), Tier::W576);
    }

    #[test]
    fn a_narrow_field_behind_an_and_makes_its_other_side_narrow() {
        // p4c's `(ports & ~(1 << port))[3:3]`
        let one = Box::new(Value::Binary(Op::Shl, Box::new(Value::Const(1)), field(8)));
        let others = Box::new(Value::Binary(Op::And, field(16), Box::new(Value::Not(one))));
        let bit = Value::Binary(Op::Shr, others, Box::new(Value::Const(3)));
        assert_eq!(tier(need(&Value::Binary(Op::And, Box::new(bit), Box::new(Value::Const(1))), None)), Tier::I64);
    }

    #[test]
    fn comparisons_of_differences_keep_their_sign() {
        let difference = Value::Binary(Op::Sub, field(64), field(64));
        assert_eq!(tier(need(&difference, None)), Tier::I128);
    }

    #[test]
    fn what_may_be_negative_has_bits_on_both_sides() {
        let signed = Value::Binary(Op::Xor, Box::new(Value::Const(-1)), field(7));
        assert_eq!(analyse(&signed, None, &mut 0), Range { pos: 7, neg: Some(7) });
    }

    #[test]
    fn constants() {
        assert_eq!(of_const(0), Range::unsigned(0));
        assert_eq!(of_const(255), Range::unsigned(8));
        assert_eq!(of_const(-1), Range { pos: 0, neg: Some(0) });
        assert_eq!(of_const(-128), Range { pos: 0, neg: Some(7) });
        assert_eq!(of_wide(&[0, 1]), Range::unsigned(65));
        assert_eq!(of_wide(&[u64::MAX, u64::MAX]), Range { pos: 0, neg: Some(0) });
    }
}
