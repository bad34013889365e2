//! Simpler expressions that are worth the same.
//!
//! P4's slices and concatenations are shifts and masks in BMv2's JSON. Computed as such, three words out of a register of
//! 608 bits, or eight written to one, are arithmetic on numbers of 608 bits and more. Here a slice becomes a read of its
//! bits ([`Value::Part`]) and a concatenation a list of parts, each computed for itself ([`Value::Join`]).
//!
//! Every function takes the *demand* as in [`range`]: the low bits that anybody looks at. Others may come out different.

use super::range::{self, ones, Range};
use crate::ir::{BoolExpr, Compare, Expr, JoinPart, Op, Value};
use crate::value::{Int, Widest};

/// No part begins above this bit: more than any number has.
const MOST_SHIFT: u32 = 1 << 16;

/// Values of more nodes are not looked through for parts: that would be done again at each level above them.
const MOST_NODES: usize = 256;

/// Up to this width shifts and ors in one word are as fast as a list of parts.
const NARROW: u32 = 64;

/// Simplify a value, and give it the tier that is exact for it; `demand`: the low bits that its reader takes, None for all.
pub(crate) fn expr(value: Value, demand: Option<u32>) -> Expr {
    range::tiered(rewrite(value, demand), demand)
}

/// Simplify two values, and compare them in the tier that is exact for both.
pub(crate) fn compare(op: Compare, left: Value, right: Value) -> BoolExpr {
    let (left, right) = (rewrite(left, None), rewrite(right, None));
    let mut need = 0;
    range::analyse(&left, None, &mut need);
    range::analyse(&right, None, &mut need);
    if op == Compare::Eq && (65..=Widest::BITS).contains(&need) && range::only_bits(&left) && range::only_bits(&right) {
        let differs = match right {
            Value::Const(0) => left,
            right => Value::Binary(Op::Xor, Box::new(left), Box::new(right)),
        };
        return BoolExpr::NoBits { value: Box::new(differs), words: need.div_ceil(64) };
    }
    BoolExpr::Compare(op, range::tier(need), Box::new((left, right)))
}

fn rewrite(value: Value, demand: Option<u32>) -> Value {
    match value {
        Value::AnyField { word, bits, signed } => match demand {
            Some(demand) if demand < bits || (demand == bits && signed) => part(word, 0, demand),
            _ => Value::AnyField { word, bits, signed },
        },
        Value::Binary(op, left, right) => binary(op, *left, *right, demand),
        Value::Not(value) => Value::Not(Box::new(rewrite(*value, demand))),
        Value::Choose(condition, then, otherwise) => {
            Value::Choose(condition, Box::new(rewrite(*then, demand)), Box::new(rewrite(*otherwise, demand)))
        }
        Value::TwoCompMod(value, width) => match demand {
            Some(demand) if demand <= width => rewrite(*value, Some(demand)),
            _ => Value::TwoCompMod(Box::new(rewrite(*value, Some(width))), width),
        },
        Value::USatCast(value, width) => Value::USatCast(Box::new(rewrite(*value, None)), width),
        Value::SatCast(value, width) => Value::SatCast(Box::new(rewrite(*value, None)), width),
        other => other,
    }
}

fn binary(op: Op, left: Value, right: Value, demand: Option<u32>) -> Value {
    let both = |left, right, (of_left, of_right)| {
        Value::Binary(op, Box::new(rewrite(left, of_left)), Box::new(rewrite(right, of_right)))
    };
    match (op, &right) {
        (Op::And, mask) if ones(mask).is_some() => {
            let bits = ones(mask).unwrap_or_default();
            let left = rewrite(left, Some(demand.map_or(bits, |demand| demand.min(bits))));
            cut(left, bits, demand).unwrap_or_else(|left| Value::Binary(op, Box::new(left), Box::new(right)))
        }
        (Op::And, _) => {
            let demands = (range::mask_demand(&right, demand), range::mask_demand(&left, demand));
            both(left, right, demands)
        }
        (Op::Shl, &Value::Const(amount)) => match u32::try_from(amount) {
            Ok(amount) => shift_up(left, amount, demand),
            Err(_) => both(left, right, (demand, None)),
        },
        (Op::Shr, &Value::Const(amount)) => match u32::try_from(amount) {
            Ok(amount) => shift_down(left, amount, demand),
            Err(_) => both(left, right, (None, None)),
        },
        (Op::Or, _) => {
            let (left, right) = (rewrite(left, demand), rewrite(right, demand));
            join(left, right, demand)
        }
        (Op::Add | Op::Sub | Op::Mul | Op::Xor, _) => both(left, right, (demand, demand)),
        (Op::Shl, _) => both(left, right, (demand, None)),
        (Op::Div | Op::Mod | Op::Shr, _) => both(left, right, (None, None)),
    }
}

/// The low `bits` bits of a value of which no more than `demand` matter; the value back where a mask has to do it.
fn cut(value: Value, bits: u32, demand: Option<u32>) -> Result<Value, Value> {
    if demand.is_some_and(|demand| demand <= bits) {
        return Ok(value);
    }
    if let Range { pos, neg: None } = range::analyse(&value, None, &mut 0) {
        if pos <= bits {
            return Ok(value);
        }
    }
    match value {
        Value::Field { word, .. } | Value::AnyField { word, signed: false, .. } => Ok(part(word, 0, bits)),
        Value::Part { word, shift, bits: more } => Ok(part(word, shift, bits.min(more))),
        other => Err(other),
    }
}

fn part(word: u32, shift: u32, bits: u32) -> Value {
    if bits == 0 {
        return Value::Const(0);
    }
    Value::Part { word: word + shift / 64, shift: shift % 64, bits }
}

fn shift_down(value: Value, amount: u32, demand: Option<u32>) -> Value {
    let value = rewrite(value, demand.map(|demand| demand.saturating_add(amount)));
    let place = match value {
        Value::Field { word, bits } | Value::AnyField { word, bits, signed: false } => Some((word, 0, bits)),
        Value::Part { word, shift, bits } => Some((word, shift, bits)),
        _ => None,
    };
    match place {
        Some((_, _, bits)) if amount >= bits => Value::Const(0),
        Some((word, shift, bits)) => {
            let left = bits - amount;
            part(word, shift + amount, demand.map_or(left, |demand| demand.min(left)))
        }
        None => Value::Binary(Op::Shr, Box::new(value), Box::new(Value::Const(i64::from(amount)))),
    }
}

fn shift_up(value: Value, amount: u32, demand: Option<u32>) -> Value {
    if demand.is_some_and(|demand| demand <= amount) {
        return Value::Const(0);
    }
    match rewrite(value, demand.map(|demand| demand - amount)) {
        Value::Join(parts) if amount <= MOST_SHIFT => Value::Join(moved(&parts, amount)),
        value => Value::Binary(Op::Shl, Box::new(value), Box::new(Value::Const(i64::from(amount)))),
    }
}

/// `left | right`, as parts side by side where they are.
fn join(left: Value, right: Value, demand: Option<u32>) -> Value {
    let parts = |value| if is_small(value) { parts_of(value, demand) } else { None };
    if let (Some(high), Some(low)) = (parts(&left), parts(&right)) {
        let mut parts: Vec<JoinPart> = high.into_iter().chain(low).filter(|part| part.bits > 0).collect();
        parts.sort_by_key(|part| part.shift);
        let apart = parts.windows(2).all(|pair| matches!(pair, [low, high] if end(low) <= high.shift));
        if apart && parts.last().is_some_and(|last| end(last) > NARROW) {
            return Value::Join(parts.into());
        }
    }
    Value::Binary(Op::Or, Box::new(left), Box::new(right))
}

fn is_small(value: &Value) -> bool {
    count(value, MOST_NODES).is_some()
}

/// What is left of `room` after a value's nodes.
fn count(value: &Value, room: usize) -> Option<usize> {
    let room = room.checked_sub(1)?;
    match value {
        Value::Binary(_, left, right) | Value::Choose(_, left, right) => count(right, count(left, room)?),
        Value::Not(value) | Value::TwoCompMod(value, _) | Value::USatCast(value, _) | Value::SatCast(value, _) => {
            count(value, room)
        }
        Value::Join(parts) => parts.iter().try_fold(room, |room, part| count(&part.value.value, room)),
        _ => Some(room),
    }
}

fn end(part: &JoinPart) -> u32 {
    part.shift + part.bits
}

/// A value as the parts that it consists of: none for one that may be negative.
fn parts_of(value: &Value, demand: Option<u32>) -> Option<Vec<JoinPart>> {
    if let Value::Binary(Op::And, moved, mask) = value {
        if let (Value::Binary(Op::Shl, value, amount), Some(bits)) = (&**moved, ones(mask)) {
            return shifted(value, amount, Some(bits), demand);
        }
    }
    match value {
        Value::Join(parts) => Some(parts.to_vec()),
        Value::Binary(Op::Shl, value, amount) => shifted(value, amount, None, demand),
        value => Some(vec![one(value.clone(), 0, demand)?]),
    }
}

/// `value << amount`, cut to `bits` bits.
fn shifted(value: &Value, amount: &Value, bits: Option<u32>, demand: Option<u32>) -> Option<Vec<JoinPart>> {
    let Value::Const(amount) = amount else { return None };
    let amount = u32::try_from(*amount).ok().filter(|&amount| amount <= MOST_SHIFT)?;
    let wanted = [bits, demand].into_iter().flatten().min();
    Some(vec![one(value.clone(), amount, wanted)?])
}

/// One part from bit `shift` on, of which nothing from bit `end` on is wanted.
fn one(value: Value, shift: u32, end: Option<u32>) -> Option<JoinPart> {
    let room = end.map(|end| end.saturating_sub(shift));
    let bits = match (range::analyse(&value, None, &mut 0), room) {
        (Range { pos, neg: None }, room) => room.map_or(pos, |room| room.min(pos)),
        (_, Some(room)) => room,
        (_, None) => return None,
    };
    Some(JoinPart { shift, bits, value: range::tiered(value, Some(bits)) })
}

fn moved(parts: &[JoinPart], by: u32) -> Box<[JoinPart]> {
    parts.iter().map(|part| JoinPart { shift: part.shift.saturating_add(by), ..part.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Tier;

    const WIDE: Value = Value::AnyField { word: 10, bits: 608, signed: false };

    fn of(op: Op, left: Value, right: i64) -> Value {
        Value::Binary(op, Box::new(left), Box::new(Value::Const(right)))
    }

    fn or(left: Value, right: Value) -> Value {
        Value::Binary(Op::Or, Box::new(left), Box::new(right))
    }

    fn narrow(word: u32) -> Value {
        Value::Field { word, bits: 32 }
    }

    /// `wide[127:96]`, as p4c writes it.
    fn slice() -> Value {
        of(Op::And, of(Op::Shr, WIDE, 96), 0xffff_ffff)
    }

    #[test]
    fn a_slice_of_a_wide_field_is_read_in_one_word() {
        let expr = expr(slice(), None);
        assert!(matches!(expr.value, Value::Part { word: 11, shift: 32, bits: 32 }), "{expr:?}");
        assert_eq!(expr.tier, Tier::I64);
    }

    #[test]
    fn a_slice_needs_no_mask_where_nothing_else_is_looked_at() {
        let expr = expr(of(Op::Shr, WIDE, 480), Some(128));
        assert!(matches!(expr.value, Value::Part { word: 17, shift: 32, bits: 128 }), "{expr:?}");
        assert_eq!(expr.tier, Tier::Words);
    }

    #[test]
    fn what_is_shifted_out_is_nothing() {
        assert!(matches!(rewrite(of(Op::Shr, WIDE, 608), None), Value::Const(0)));
        assert!(matches!(rewrite(of(Op::Shl, WIDE, 32), Some(32)), Value::Const(0)));
    }

    #[test]
    fn many_parts_lie_side_by_side_each_in_its_own_tier() {
        let whole = or(of(Op::Shl, or(of(Op::Shl, narrow(1), 128), of(Op::Shl, narrow(2), 64)), 32), narrow(3));
        let Value::Join(parts) = rewrite(whole, Some(192)) else { panic!("not joined") };
        let places: Vec<_> = parts.iter().map(|part| (part.shift, part.bits, part.value.tier)).collect();
        assert_eq!(places, [(0, 32, Tier::I64), (96, 32, Tier::I64), (160, 32, Tier::I64)]);
    }

    #[test]
    fn a_large_value_is_not_copied_at_every_level_above_it() {
        let mut value = narrow(0);
        for word in 1..20 {
            value = Value::Binary(Op::Add, Box::new(value.clone()), Box::new(value));
            if word < 12 {
                continue;
            }
            assert!(!is_small(&value));
            assert!(matches!(rewrite(or(of(Op::Shl, narrow(1), 80), value.clone()), None), Value::Binary(Op::Or, ..)));
            break;
        }
        assert!(is_small(&slice()));
    }

    #[test]
    fn parts_that_overlap_or_may_be_negative_stay_a_sum_of_bits() {
        let overlapping = or(of(Op::Shl, narrow(1), 80), WIDE);
        assert!(matches!(rewrite(overlapping, None), Value::Binary(Op::Or, ..)));
        let negative = or(of(Op::Shl, narrow(1), 80), Value::AnyField { word: 2, bits: 8, signed: true });
        assert!(matches!(rewrite(negative, None), Value::Binary(Op::Or, ..)));
    }
}
