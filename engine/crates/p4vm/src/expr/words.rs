//! Values that are computed word by word: slices, concatenations, and what bit operations make of them.

use super::Env;
use crate::ir::{JoinPart, Op, Value};
use crate::value::{mask64, word_mask, words_for, Int, MAX_VALUE_WORDS};

/// Words of the widest number, and of one part of it.
const MAX_WORDS: usize = MAX_VALUE_WORDS + 2;

/// Are so many low words of a value zero?
#[inline(never)]
pub(super) fn is_zero(value: &Value, words: u32, env: Env<'_>) -> bool {
    let mut out = [0; MAX_WORDS];
    let out = out.get_mut(..words as usize).unwrap_or_default();
    put(value, env, out);
    out.iter().all(|&word| word == 0)
}

/// Up to 64 bits.
#[inline]
pub(crate) fn narrow_part(env: Env<'_>, word: u32, shift: u32, bits: u32) -> u64 {
    let low = env.word(word) >> shift;
    let value = if shift + bits > 64 { low | env.word(word + 1) << (64 - shift) } else { low };
    value & mask64(bits)
}

/// A part or join as a number.
#[inline(never)]
pub(super) fn number<T: Int>(value: &Value, env: Env<'_>) -> T {
    let mut words = [0; MAX_WORDS];
    let words = words.get_mut(..(T::BITS / 64) as usize).unwrap_or_default();
    put(value, env, words);
    T::from_words(words, T::BITS, false)
}

/// The low words of a value's two's complement: all of `out`, least significant first.
pub(super) fn put(value: &Value, env: Env<'_>, out: &mut [u64]) {
    match value {
        Value::Const(value) => {
            out.fill(if *value < 0 { u64::MAX } else { 0 });
            if let Some(first) = out.first_mut() {
                *first = *value as u64;
            }
        }
        Value::WideConst(words) => {
            let sign = words.last().map_or(0, |&last| if (last as i64) < 0 { u64::MAX } else { 0 });
            copy(words, sign, out);
        }
        Value::Field { word, .. } => copy(&[env.word(*word)], 0, out),
        Value::AnyField { word, bits, .. } => {
            let start = *word as usize;
            copy(env.phv.get(start..start + words_for(*bits) as usize).unwrap_or_default(), 0, out);
        }
        Value::Part { word, shift, bits } => put_part(env, *word, *shift, *bits, out),
        Value::Join(parts) => {
            out.fill(0);
            for part in parts {
                if part.bits <= 64 {
                    let mut word = [0];
                    part.value.eval_words(env, part.bits, &mut word);
                    add_shifted(&word, part.shift, out);
                } else {
                    put_wide(part, env, out);
                }
            }
        }
        Value::Not(value) => {
            put(value, env, out);
            out.iter_mut().for_each(|word| *word = !*word);
        }
        Value::Binary(Op::Shl, value, amount) => {
            put(value, env, out);
            shift_up(out, amount.eval::<i64>(env) as u64);
        }
        Value::Binary(op, left, right) => put_both(*op, left, right, env, out),
        // `only_bits` of the loader lets nothing else come here.
        _ => out.fill(0),
    }
}

fn copy(from: &[u64], fill: u64, out: &mut [u64]) {
    for (i, word) in out.iter_mut().enumerate() {
        *word = from.get(i).copied().unwrap_or(fill);
    }
}

fn put_part(env: Env<'_>, word: u32, shift: u32, bits: u32, out: &mut [u64]) {
    let start = word as usize;
    let words = env.phv.get(start..start + words_for(shift + bits) as usize).unwrap_or_default();
    for (i, out) in out.iter_mut().enumerate() {
        let low = words.get(i).copied().unwrap_or(0) >> shift;
        let high = match shift {
            0 => 0,
            _ => words.get(i + 1).copied().unwrap_or(0) << (64 - shift),
        };
        *out = (low | high) & word_mask(bits, i as u32);
    }
}

/// Apart from [`put`], whose frame recursion multiplies.
#[inline(never)]
fn put_wide(part: &JoinPart, env: Env<'_>, out: &mut [u64]) {
    let mut words = [0; MAX_WORDS];
    let words = words.get_mut(..(words_for(part.bits) as usize).min(MAX_WORDS)).unwrap_or_default();
    part.value.eval_words(env, part.bits, words);
    add_shifted(words, part.shift, out);
}

#[inline(never)]
fn put_both(op: Op, left: &Value, right: &Value, env: Env<'_>, out: &mut [u64]) {
    let mut words = [0; MAX_WORDS];
    let words = words.get_mut(..out.len()).unwrap_or_default();
    put(left, env, out);
    put(right, env, words);
    for (left, right) in out.iter_mut().zip(words) {
        *left = match op {
            Op::And => *left & *right,
            Op::Or => *left | *right,
            _ => *left ^ *right,
        };
    }
}

fn shift_up(words: &mut [u64], amount: u64) {
    let (whole, bits) = (usize::try_from(amount / 64).unwrap_or(usize::MAX).min(words.len()), amount % 64);
    for i in (0..words.len()).rev() {
        let word = |back: usize| i.checked_sub(whole.saturating_add(back)).and_then(|i| words.get(i)).copied();
        let low = if bits == 0 { 0 } else { word(1).unwrap_or(0) >> (64 - bits) };
        let shifted = word(0).unwrap_or(0) << bits | low;
        if let Some(word) = words.get_mut(i) {
            *word = shifted;
        }
    }
}

/// `out |= words << shift`
fn add_shifted(words: &[u64], shift: u32, out: &mut [u64]) {
    let (first, shift) = ((shift / 64) as usize, shift % 64);
    for (i, word) in words.iter().enumerate() {
        if let Some(out) = out.get_mut(first + i) {
            *out |= word << shift;
        }
        if shift > 0 {
            if let Some(out) = out.get_mut(first + i + 1) {
                *out |= word >> (64 - shift);
            }
        }
    }
}
