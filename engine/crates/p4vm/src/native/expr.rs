//! Expressions and conditions in native code. None: this one is left to the interpreter.
//!
//! They have no effects, so that both sides of a choice are computed and one is taken.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as V};

use super::emit::{Emit, Words};
use super::helpers::Helper;
use crate::ir::{BoolExpr, Expr, HeaderRef, JoinPart, Op, Tier, Value};
use crate::value::{mask64, words_for};

/// Words of a number; wider ones are rare, and long in native code.
const MAX_WORDS: usize = 12;

/// Nesting beyond which the interpreter does better.
const MAX_DEPTH: u32 = 60;

/// How a value is computed.
#[derive(Clone, Copy)]
struct Mode {
    /// In so many words, wrapping.
    words: usize,
    /// By bits only (`Tier::Words`): fields have no sign.
    bits_only: bool,
    depth: u32,
}

impl Mode {
    fn of(tier: Tier, bits: u32) -> Option<Self> {
        let (words, bits_only) = match tier {
            Tier::I64 => (1, false),
            Tier::I128 => (2, false),
            Tier::W192 => (3, false),
            Tier::W576 => (9, false),
            Tier::Words => (words_for(bits) as usize, true),
            Tier::Widest => return None,
        };
        (words <= MAX_WORDS).then_some(Self { words, bits_only, depth: 0 })
    }

    fn deeper(self) -> Option<Self> {
        let depth = self.depth + 1;
        (depth < MAX_DEPTH).then_some(Self { depth, ..self })
    }
}

/// Bits that a value of bits has at most; None where it is not known at a glance.
fn width(value: &Value) -> Option<u32> {
    match value {
        Value::Field { bits, .. } | Value::Part { bits, .. } => Some(*bits),
        Value::AnyField { bits, signed: false, .. } => Some(*bits),
        Value::Join(parts) => Some(parts.iter().map(|part| part.shift + part.bits).max().unwrap_or(0)),
        _ => None,
    }
}

impl Emit<'_, '_> {
    /// As `Expr::eval_words`.
    pub(super) fn expr(&mut self, expr: &Expr, bits: u32) -> Option<Words> {
        let mode = Mode::of(expr.tier, bits)?;
        let words = self.value(&expr.value, mode)?;
        let words = self.sign_extend(words, words_for(bits) as usize)?;
        Some(self.mask(words, bits))
    }

    /// As `Expr::eval_u64`.
    pub(super) fn index(&mut self, expr: &Expr) -> Option<V> {
        match (&expr.value, expr.tier) {
            (Value::Const(value), _) => Some(self.constant(u64::try_from(*value).unwrap_or(u64::MAX))),
            (Value::Field { word, .. }, _) => self.load(*word),
            (value, Tier::Words) => self.value(value, self.narrow(value)?)?.first().copied(),
            (value, tier) => {
                let words = self.value(value, Mode::of(tier, 64)?)?;
                self.amount(&words)
            }
        }
    }

    /// How a value of bits is computed whose width is that of a word.
    fn narrow(&self, value: &Value) -> Option<Mode> {
        width(value).filter(|&bits| bits <= 64).and_then(|bits| Mode::of(Tier::Words, bits))
    }

    fn value(&mut self, value: &Value, mode: Mode) -> Option<Words> {
        let (n, deeper) = (mode.words, mode.deeper()?);
        let words = match value {
            Value::Const(value) => {
                let (low, high) = (self.constant(*value as u64), self.constant((*value >> 63) as u64));
                (0..n).map(|i| if i == 0 { low } else { high }).collect()
            }
            Value::WideConst(words) => {
                let fill = words.last().map_or(0, |&last| ((last as i64) >> 63) as u64);
                (0..n).map(|i| self.constant(words.get(i).copied().unwrap_or(fill))).collect()
            }
            Value::Field { word, .. } => {
                let word = self.load(*word)?;
                self.extend(vec![word], n)
            }
            Value::AnyField { word, bits, signed } => {
                let words = self.field_words(*word, words_for(*bits).min(n as u32))?;
                let words = self.extend(words, n);
                if *signed && !mode.bits_only {
                    self.two_comp_mod(words, *bits)?
                } else {
                    words
                }
            }
            Value::Part { word, shift, bits } => self.part(*word, *shift, *bits, n)?,
            Value::Join(parts) => self.join(parts, deeper)?,
            Value::Argument { word, bits } => {
                let words = words_for(*bits).min(n as u32);
                let words = (0..words).map(|i| self.argument(word + i)).collect::<Option<_>>()?;
                self.extend(words, n)
            }
            Value::In { .. } => return None,
            Value::Register { register, index, .. } => {
                let index = self.index(index)?;
                let stride = words_for(self.program.registers.get(*register as usize)?.bits).min(n as u32);
                let register = self.constant(u64::from(*register));
                let cell = self.call(Helper::Peek, &[register, index])?;
                let words = (0..stride).map(|i| self.load_at(cell, i)).collect();
                self.extend(words, n)
            }
            Value::Binary(op @ (Op::Shl | Op::Shr), left, right) => self.shift(*op, left, right, deeper)?,
            Value::Binary(op, left, right) => {
                let (left, right) = (self.value(left, deeper)?, self.value(right, deeper)?);
                self.binary(*op, &left, &right)?
            }
            Value::Not(value) => {
                let words = self.value(value, deeper)?;
                words.into_iter().map(|word| self.b.ins().bnot(word)).collect()
            }
            Value::Choose(condition, then, otherwise) => {
                let condition = self.condition(condition)?;
                let (then, otherwise) = (self.value(then, deeper)?, self.value(otherwise, deeper)?);
                let both = then.into_iter().zip(otherwise);
                both.map(|(then, otherwise)| self.b.ins().select(condition, then, otherwise)).collect()
            }
            Value::FromBool(condition) => {
                let bit = self.condition(condition)?;
                let word = self.b.ins().uextend(I64, bit);
                self.extend(vec![word], n)
            }
            Value::TwoCompMod(value, width) => {
                let words = self.value(value, deeper)?;
                self.two_comp_mod(words, *width)?
            }
            Value::USatCast(value, width) => {
                let words = self.value(value, deeper)?;
                self.saturate(&words, *width, false)?
            }
            Value::SatCast(value, width) => {
                let words = self.value(value, deeper)?;
                self.saturate(&words, *width, true)?
            }
            Value::StackSize(stack) | Value::LastIndex(stack) => {
                let next = self.program.stacks.get(*stack as usize)?.next;
                let mut count = self.load(next)?;
                if matches!(value, Value::LastIndex(_)) {
                    count = self.b.ins().iadd_imm_s(count, -1);
                }
                self.sign_extend(vec![count], n)?
            }
        };
        (words.len() == n).then_some(words)
    }

    fn shift(&mut self, op: Op, left: &Value, right: &Value, mode: Mode) -> Option<Words> {
        if let (Op::Shl, Value::Const(by)) = (op, right) {
            let left = self.value(left, mode)?;
            return Some(self.shift_left_const(&left, u64::try_from(*by).unwrap_or(u64::MAX)));
        }
        // In a value of bits the amount is a number of its own.
        let right = match mode.bits_only {
            true => self.value(right, Mode { words: 1, bits_only: false, depth: mode.depth })?,
            false => self.value(right, mode)?,
        };
        if let (Op::Shl, Value::Const(1)) = (op, left) {
            let amount = self.amount(&right)?;
            return Some(self.bit_at(amount, mode.words));
        }
        let left = self.value(left, mode)?;
        self.binary(op, &left, &right)
    }

    /// So many bits from bit `shift` of a word on.
    fn part(&mut self, word: u32, shift: u32, bits: u32, n: usize) -> Option<Words> {
        let words = words_for(bits).min(n as u32);
        let out = (0..words).map(|i| {
            let low = self.load(word + i)?;
            let low = self.shr_const(low, shift);
            let here = bits - (i * 64).min(bits);
            let both = if shift > 0 && shift + here > 64 {
                let high = self.load(word + i + 1)?;
                let high = self.shl_const(high, 64 - shift);
                self.b.ins().bor(low, high)
            } else {
                low
            };
            Some(self.and_const(both, mask64(here.min(64))))
        });
        let out = out.collect::<Option<_>>()?;
        Some(self.extend(out, n))
    }

    fn join(&mut self, parts: &[JoinPart], mode: Mode) -> Option<Words> {
        let mut out = self.extend(Vec::new(), mode.words);
        for part in parts {
            let tier = Mode::of(part.value.tier, part.bits)?;
            let words = self.value(&part.value.value, Mode { depth: mode.depth, ..tier })?;
            let words = self.sign_extend(words, words_for(part.bits) as usize)?;
            let words = self.mask(words, part.bits);
            let words = self.extend(words, mode.words);
            let words = self.shift_left_const(&words, u64::from(part.shift));
            out = self.binary(Op::Or, &out, &words)?;
        }
        Some(out)
    }

    pub(super) fn argument(&mut self, word: u32) -> Option<V> {
        let offset = i32::try_from(word).ok()?.checked_mul(8)?;
        (word < self.arg_words).then(|| self.b.ins().load(I64, MemFlagsData::trusted(), self.args, offset))
    }

    /// One bit, as `BoolExpr::eval`.
    pub(super) fn condition(&mut self, condition: &BoolExpr) -> Option<V> {
        self.conditions += 1;
        let out = if self.conditions < MAX_DEPTH { self.condition_in(condition) } else { None };
        self.conditions -= 1;
        out
    }

    fn condition_in(&mut self, condition: &BoolExpr) -> Option<V> {
        Some(match condition {
            BoolExpr::Const(value) => self.bit(*value),
            BoolExpr::FieldIs { word, value } => {
                let word = self.load(*word)?;
                let value = self.constant(*value);
                self.is(IntCC::Equal, word, value)
            }
            BoolExpr::Compare(op, tier, sides) => {
                if *tier == Tier::Words {
                    return None;
                }
                let mode = Mode::of(*tier, 64)?;
                let (left, right) = (self.value(&sides.0, mode)?, self.value(&sides.1, mode)?);
                self.compare(*op, &left, &right)?
            }
            BoolExpr::NoBits { value, words } => {
                let mode = Mode::of(Tier::Words, words.checked_mul(64)?)?;
                let words = self.value(value, mode)?;
                let some = self.any(&words)?;
                self.not(some)
            }
            BoolExpr::FromData(expr) => {
                let mode = match expr.tier {
                    Tier::Words => self.narrow(&expr.value)?,
                    tier => Mode::of(tier, 64)?,
                };
                let words = self.value(&expr.value, mode)?;
                self.any(&words)?
            }
            BoolExpr::And(sides) => {
                let (a, b) = (self.condition(&sides.0)?, self.condition(&sides.1)?);
                self.b.ins().band(a, b)
            }
            BoolExpr::Or(sides) => {
                let (a, b) = (self.condition(&sides.0)?, self.condition(&sides.1)?);
                self.b.ins().bor(a, b)
            }
            BoolExpr::Not(side) => {
                let side = self.condition(side)?;
                self.not(side)
            }
            BoolExpr::Same(sides) => {
                let (a, b) = (self.condition(&sides.0)?, self.condition(&sides.1)?);
                self.is(IntCC::Equal, a, b)
            }
            BoolExpr::Choose(parts) => {
                let condition = self.condition(&parts.0)?;
                let (then, otherwise) = (self.condition(&parts.1)?, self.condition(&parts.2)?);
                self.b.ins().select(condition, then, otherwise)
            }
            BoolExpr::Valid(HeaderRef::Header(header)) => self.valid(*header)?,
            BoolExpr::Valid(_)
            | BoolExpr::ValidUnion(_)
            | BoolExpr::SameHeader(..)
            | BoolExpr::SameUnion(..)
            | BoolExpr::SameVarbit(..) => return None,
        })
    }

    /// One bit: a header's validity.
    pub(super) fn valid(&mut self, header: u32) -> Option<V> {
        let base = self.program.headers.get(header as usize)?.base;
        let word = self.load(base)?;
        Some(self.is_const(IntCC::NotEqual, word, 0))
    }
}
