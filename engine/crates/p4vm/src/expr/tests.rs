//! Arithmetic against num-bigint, which has no widths: what BMv2 computes.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use super::*;
use crate::load::rewrite;
use crate::value::word_mask;

/// Widths around the words' ends.
pub(crate) const WIDTHS: [u32; 12] = [1, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 300];

/// Fields lie at fixed words: field i, of width WIDTHS[i], at word 5 * i.
const STRIDE: u32 = 5;

/// Words of all fields.
pub(crate) const PHV_WORDS: usize = WIDTHS.len() * STRIDE as usize;

fn words_of(value: &BigInt, count: usize) -> Vec<u64> {
    let modulus = BigInt::from(1) << (count * 64);
    let low = ((value % &modulus) + &modulus) % &modulus;
    let mut words = low.to_u64_digits().1;
    words.resize(count, 0);
    words
}

fn number(words: &[u64], bits: u32, signed: bool) -> BigInt {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let value = BigInt::from_bytes_le(Sign::Plus, &bytes) % (BigInt::from(1) << bits);
    if signed && value >= BigInt::from(1) << (bits - 1) {
        value - (BigInt::from(1) << bits)
    } else {
        value
    }
}

fn shift_amount(value: &BigInt) -> u32 {
    u32::try_from(value).unwrap()
}

/// What an expression is worth, without any width.
fn model(value: &Value, phv: &[u64]) -> BigInt {
    match value {
        Value::Const(value) => BigInt::from(*value),
        Value::WideConst(words) => number(words, words.len() as u32 * 64, true),
        Value::Field { word, bits } => number(&phv[*word as usize..][..1], *bits, false),
        Value::AnyField { word, bits, signed } => {
            number(&phv[*word as usize..][..words_for(*bits) as usize], *bits, *signed)
        }
        Value::Part { word, shift, bits } => {
            let count = words_for(shift + bits) as usize;
            let words = number(&phv[*word as usize..][..count], count as u32 * 64, false);
            (words >> *shift) % (BigInt::from(1) << *bits)
        }
        Value::Join(parts) => parts.iter().fold(BigInt::ZERO, |whole, part| {
            let low = number(&words_of(&model(&part.value.value, phv), 40), part.bits, false);
            whole | low << part.shift
        }),
        Value::Binary(op, left, right) => {
            let (left, right) = (model(left, phv), model(right, phv));
            match op {
                Op::Add => left + right,
                Op::Sub => left - right,
                Op::Mul => left * right,
                Op::Div if right == BigInt::ZERO => BigInt::ZERO,
                Op::Div => left / right,
                Op::Mod if right == BigInt::ZERO => BigInt::ZERO,
                Op::Mod => left % right,
                Op::And => left & right,
                Op::Or => left | right,
                Op::Xor => left ^ right,
                Op::Shl => left << shift_amount(&right),
                Op::Shr => left >> shift_amount(&right),
            }
        }
        Value::Not(value) => -model(value, phv) - 1,
        Value::Choose(condition, then, otherwise) => {
            if truth(condition, phv) {
                model(then, phv)
            } else {
                model(otherwise, phv)
            }
        }
        Value::FromBool(condition) => BigInt::from(u8::from(truth(condition, phv))),
        Value::TwoCompMod(value, width) => {
            let low = words_of(&model(value, phv), 40);
            number(&low, *width, true)
        }
        Value::USatCast(value, width) => model(value, phv).clamp(BigInt::ZERO, (BigInt::from(1) << *width) - 1),
        Value::SatCast(value, width) => {
            let half = BigInt::from(1) << (width - 1);
            model(value, phv).clamp(-half.clone(), half - 1)
        }
        other => panic!("the model has no {other:?}"),
    }
}

fn truth(condition: &BoolExpr, phv: &[u64]) -> bool {
    match condition {
        BoolExpr::Compare(op, _, sides) => holds(*op, model(&sides.0, phv).cmp(&model(&sides.1, phv))),
        BoolExpr::NoBits { value, .. } => model(value, phv) == BigInt::ZERO,
        other => panic!("the model has no {other:?}"),
    }
}

fn holds(op: Compare, order: Ordering) -> bool {
    match op {
        Compare::Eq => order == Ordering::Equal,
        Compare::Lt => order == Ordering::Less,
        Compare::Le => order != Ordering::Greater,
        Compare::Gt => order == Ordering::Greater,
        Compare::Ge => order != Ordering::Less,
    }
}

fn wide_const(bits: u32) -> Value {
    Value::WideConst(words_of(&((BigInt::from(1) << bits) - 1), words_for(bits) as usize + 1).into())
}

fn leaf() -> impl Strategy<Value = Value> {
    let field = |i: usize| {
        let (word, bits) = (i as u32 * STRIDE, WIDTHS[i]);
        if bits <= 64 {
            Value::Field { word, bits }
        } else {
            Value::AnyField { word, bits, signed: false }
        }
    };
    prop_oneof![
        4 => (0..WIDTHS.len()).prop_map(field),
        2 => (1..WIDTHS.len()).prop_map(|i| Value::AnyField { word: i as u32 * STRIDE, bits: WIDTHS[i], signed: true }),
        1 => any::<i64>().prop_map(Value::Const),
        1 => (-300i64..300).prop_map(Value::Const),
        1 => prop::sample::select(WIDTHS.to_vec()).prop_map(wide_const),
    ]
}

/// As p4c writes it: shifts and products are cut at once, sums may nest.
pub(crate) fn tree() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 3, |inner| {
        let bx = Box::<Value>::new;
        let two = (inner.clone(), inner.clone());
        let width = prop::sample::select(WIDTHS.to_vec());
        let ring = prop::sample::select(vec![Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor]);
        let order = prop::sample::select(vec![Compare::Eq, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge]);
        let cut = move |value, bits| Value::Binary(Op::And, bx(value), bx(wide_const(bits)));
        prop_oneof![
            4 => (ring, two.clone()).prop_map(move |(op, (a, b))| Value::Binary(op, bx(a), bx(b))),
            1 => (two.clone(), width.clone())
                .prop_map(move |((a, b), bits)| cut(Value::Binary(Op::Mul, bx(cut(a, 300)), bx(cut(b, 300))), bits)),
            // By a field of up to 8 bits, or a constant.
            1 => (inner.clone(), 0u32..3, width.clone()).prop_map(move |(a, i, bits)| {
                let amount = Value::Field { word: i * STRIDE, bits: WIDTHS[i as usize] };
                cut(Value::Binary(Op::Shl, bx(a), bx(amount)), bits)
            }),
            1 => (inner.clone(), 0i64..200).prop_map(move |(a, n)| {
                Value::Binary(Op::Shr, bx(a), bx(Value::Const(n)))
            }),
            // Slices, and concatenations of parts that may overlap.
            2 => (inner.clone(), 0i64..320, width.clone()).prop_map(move |(a, n, bits)| {
                cut(Value::Binary(Op::Shr, bx(a), bx(Value::Const(n))), bits)
            }),
            2 => (two.clone(), 0i64..320, (width.clone(), width.clone())).prop_map(move |((a, b), n, (high, low))| {
                let high = cut(Value::Binary(Op::Shl, bx(a), bx(Value::Const(n))), high);
                Value::Binary(Op::Or, bx(high), bx(cut(b, low)))
            }),
            1 => (two.clone(), prop::bool::ANY).prop_map(move |((a, b), modulo)| {
                let op = if modulo { Op::Mod } else { Op::Div };
                Value::Binary(op, bx(cut(a, 300)), bx(cut(b, 64)))
            }),
            1 => inner.clone().prop_map(move |a| Value::Not(bx(a))),
            1 => (inner.clone(), width.clone()).prop_map(move |(a, bits)| Value::TwoCompMod(bx(a), bits)),
            1 => (inner.clone(), width.clone()).prop_map(move |(a, bits)| Value::USatCast(bx(a), bits)),
            1 => (inner.clone(), width).prop_map(move |(a, bits)| Value::SatCast(bx(a), bits)),
            1 => (order, two.clone(), two).prop_map(move |(op, (a, b), (then, otherwise))| {
                Value::Choose(Box::new(rewrite::compare(op, a, b)), bx(then), bx(otherwise))
            }),
        ]
    })
}

fn of(op: Op, left: Value, right: Value) -> Value {
    Value::Binary(op, Box::new(left), Box::new(right))
}

/// A concatenation as p4c writes it, moved up, cut, moved down or up, and cut again.
fn concatenation() -> impl Strategy<Value = Value> {
    let width = || prop::sample::select(WIDTHS.to_vec());
    let parts = proptest::collection::vec((leaf(), width()), 2..6);
    (parts, 0i64..130, width(), 0i64..320, (0u32..3, width())).prop_map(|(parts, up, most, down, (by, last))| {
        let whole = parts.into_iter().fold((Value::Const(0), 0), |(high, bits), (part, width)| {
            let high = of(Op::And, of(Op::Shl, high, Value::Const(i64::from(width))), wide_const(bits + width));
            (of(Op::Or, high, of(Op::And, part, wide_const(width))), bits + width)
        });
        let moved = of(Op::And, of(Op::Shl, whole.0, Value::Const(up)), wide_const(most));
        let field = Value::Field { word: by * STRIDE, bits: WIDTHS[by as usize] };
        let moved = match down {
            ..160 => of(Op::Shr, moved, Value::Const(down)),
            _ => of(Op::Shl, moved, field),
        };
        of(Op::And, moved, wide_const(last))
    })
}

/// Conditions as the loader makes them.
pub(crate) fn condition() -> impl Strategy<Value = BoolExpr> {
    let order = prop::sample::select(vec![Compare::Eq, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge]);
    let leaf = (order, tree(), tree()).prop_map(|(op, left, right)| rewrite::compare(op, left, right));
    leaf.prop_recursive(2, 6, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            two.clone().prop_map(|sides| BoolExpr::And(Box::new(sides))),
            two.clone().prop_map(|sides| BoolExpr::Or(Box::new(sides))),
            two.prop_map(|sides| BoolExpr::Same(Box::new(sides))),
            inner.prop_map(|side| BoolExpr::Not(Box::new(side))),
        ]
    })
}

pub(crate) fn phv() -> impl Strategy<Value = Vec<u64>> {
    // Words of all ones and all zeros find carries.
    let word = prop_oneof![2 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(0), 1 => 0u64..4];
    proptest::collection::vec(word, PHV_WORDS).prop_map(|mut words| {
        for (i, &bits) in WIDTHS.iter().enumerate() {
            for at in 0..STRIDE {
                words[(i as u32 * STRIDE + at) as usize] &= word_mask(bits, at);
            }
        }
        words
    })
}

fn program() -> &'static Program {
    static PROGRAM: std::sync::OnceLock<Program> = std::sync::OnceLock::new();
    PROGRAM.get_or_init(|| crate::load::from_json(include_str!("../../tests/data/l2.json")).unwrap())
}

proptest! {
    #![proptest_config(crate::seeded(1000))]

    #[test]
    fn assignments_are_exact(value in tree(), phv in phv(), target in prop::sample::select(WIDTHS.to_vec())) {
        let program = program();
        let env = Env { program, phv: &phv, args: &[], registers: &[] };
        let expected = number(&words_of(&model(&value, &phv), 40), target, false);
        let mut words = vec![0; words_for(target) as usize];
        // Both where only the target's bits matter and where all do.
        for demand in [Some(target), None] {
            rewrite::expr(value.clone(), demand).eval_words(env, target, &mut words);
            prop_assert_eq!(number(&words, 320, false), expected.clone(), "demand {:?} of {:?}", demand, value);
        }
    }

    #[test]
    fn concatenations_are_exact(value in concatenation(), phv in phv(), target in prop::sample::select(WIDTHS.to_vec())) {
        let program = program();
        let env = Env { program, phv: &phv, args: &[], registers: &[] };
        let exact = model(&value, &phv);
        let expected = number(&words_of(&exact, 40), target, false);
        let mut words = vec![0; words_for(target) as usize];
        for demand in [Some(target), None] {
            rewrite::expr(value.clone(), demand).eval_words(env, target, &mut words);
            prop_assert_eq!(number(&words, 320, false), expected.clone(), "demand {:?} of {:?}", demand, value);
        }
        let is_zero = rewrite::compare(Compare::Eq, value.clone(), Value::Const(0));
        prop_assert_eq!(is_zero.eval(env), exact == BigInt::ZERO, "{:?}", value);
    }

    #[test]
    fn comparisons_are_exact(left in tree(), right in tree(), phv in phv()) {
        let program = program();
        let env = Env { program, phv: &phv, args: &[], registers: &[] };
        for op in [Compare::Eq, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge] {
            let condition = rewrite::compare(op, left.clone(), right.clone());
            let order = holds(op, model(&left, &phv).cmp(&model(&right, &phv)));
            prop_assert_eq!(condition.eval(env), order, "{:?} {:?} {:?}", left, op, right);
        }
    }

    #[test]
    fn saturated_values_are_clamped(value in tree(), phv in phv(), i in 1..WIDTHS.len(), signed: bool) {
        let program = program();
        let env = Env { program, phv: &phv, args: &[], registers: &[] };
        let bits = WIDTHS[i];
        let (low, high) = if signed {
            (-(BigInt::from(1) << (bits - 1)), (BigInt::from(1) << (bits - 1)) - 1)
        } else {
            (BigInt::ZERO, (BigInt::from(1) << bits) - 1)
        };
        let mut words = vec![0; words_for(bits) as usize];
        rewrite::expr(value.clone(), None).eval_saturated(env, bits, signed, &mut words);
        prop_assert_eq!(number(&words, bits, signed), model(&value, &phv).clamp(low, high));
    }
}

#[test]
fn indices_that_are_negative_or_huge_are_the_largest() {
    let program = program();
    let env = Env { program, phv: &[], args: &[], registers: &[] };
    let eval = |value| rewrite::expr(value, None).eval_u64(env);
    assert_eq!(eval(Value::Const(-1)), u64::MAX);
    assert_eq!(eval(Value::WideConst([0, 1, 0].into())), u64::MAX);
    let difference = Value::Binary(Op::Sub, Box::new(Value::Const(1)), Box::new(Value::Const(2)));
    assert_eq!(eval(difference), u64::MAX);
    assert_eq!(eval(Value::WideConst([u64::MAX, 0].into())), u64::MAX);
}

#[test]
fn text_is_decimal_up_to_64_bits() {
    let program = program();
    let env = Env { program, phv: &[], args: &[], registers: &[] };
    let text = |value| rewrite::expr(value, None).eval_text(env);
    assert_eq!(text(Value::Const(-5)), "-5");
    assert_eq!(text(Value::Const(1234)), "1234");
    assert_eq!(text(Value::WideConst([0xab, 0x12, 0].into())), "0x1200000000000000ab");
}
