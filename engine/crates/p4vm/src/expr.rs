//! How expressions are computed.

use std::cmp::Ordering;

use crate::ir::{BoolExpr, Compare, Expr, Op, Program, Tier, Value};
use crate::phv;
use crate::value::{words_for, Int, Wide192, Wide576, Widest};

/// What expressions read.
#[derive(Clone, Copy)]
pub(crate) struct Env<'a> {
    pub program: &'a Program,
    pub phv: &'a [u64],
    pub args: &'a [u64],
    pub registers: &'a [crate::externs::register::RegisterArray],
}

impl Env<'_> {
    #[inline]
    fn word(&self, word: u32) -> u64 {
        self.phv.get(word as usize).copied().unwrap_or(0)
    }

    #[inline]
    fn field<T: Int>(&self, word: u32, bits: u32, signed: bool) -> T {
        let start = word as usize;
        T::from_words(self.phv.get(start..start + words_for(bits) as usize).unwrap_or_default(), bits, signed)
    }
}

impl Value {
    fn eval<T: Int>(&self, env: Env<'_>) -> T {
        match self {
            Self::Const(value) => T::from_i64(*value),
            Self::WideConst(words) => T::from_words(words, words.len() as u32 * 64, true),
            Self::Field { word, .. } => T::from_words(&[env.word(*word)], 64, false),
            Self::AnyField { word, bits, signed } => env.field(*word, *bits, *signed),
            Self::Part { word, shift, bits } if *bits <= 64 => {
                T::from_words(&[words::narrow_part(env, *word, *shift, *bits)], 64, false)
            }
            Self::Part { .. } | Self::Join(_) => words::number(self, env),
            Self::Argument { word, bits } => {
                let start = *word as usize;
                let words = env.args.get(start..start + words_for(*bits) as usize).unwrap_or_default();
                T::from_words(words, *bits, false)
            }
            Self::In { header, index, bits, signed } => match header::field_in(env, header, *index) {
                Some(field) => env.field(field.word, *bits, *signed),
                None => T::from_i64(0),
            },
            Self::Register { register, index, .. } => {
                let index = index.eval_u64(env);
                let cell = env.registers.get(*register as usize).and_then(|array| array.read(index));
                cell.map_or_else(|| T::from_i64(0), |(words, bits)| T::from_words(words, bits, false))
            }
            Self::Binary(op, left, right) => apply(*op, &left.eval::<T>(env), &right.eval::<T>(env)),
            Self::Not(value) => value.eval::<T>(env).not(),
            Self::Choose(condition, then, otherwise) => {
                if condition.eval(env) {
                    then.eval(env)
                } else {
                    otherwise.eval(env)
                }
            }
            Self::FromBool(condition) => T::from_i64(i64::from(condition.eval(env))),
            Self::TwoCompMod(value, width) => value.eval::<T>(env).two_comp_mod(*width),
            Self::USatCast(value, width) => value.eval::<T>(env).usat_cast(*width),
            Self::SatCast(value, width) => value.eval::<T>(env).sat_cast(*width),
            Self::LastIndex(stack) => T::from_i64(header::stack_count(env, *stack) as i64 - 1),
            Self::StackSize(stack) => T::from_i64(header::stack_count(env, *stack) as i64),
        }
    }
}

/// Apart from `eval`, whose frame recursion multiplies.
#[inline]
fn apply<T: Int>(op: Op, left: &T, right: &T) -> T {
    match op {
        Op::Add => left.add(right),
        Op::Sub => left.sub(right),
        Op::Mul => left.mul(right),
        Op::Div => left.div(right),
        Op::Mod => left.rem(right),
        Op::And => left.and(right),
        Op::Or => left.or(right),
        Op::Xor => left.xor(right),
        Op::Shl => left.shl(right.amount()),
        Op::Shr => left.shr(right.amount()),
    }
}

impl Expr {
    /// The low 64 bits; a negative value, or one that needs more, counts as the largest. For indices and counts.
    #[inline]
    pub(crate) fn eval_u64(&self, env: Env<'_>) -> u64 {
        match (&self.value, self.tier) {
            (Value::Const(value), _) => u64::try_from(*value).unwrap_or(u64::MAX),
            (Value::Field { word, .. }, _) => env.word(*word),
            (value, Tier::I64) => value.eval::<i64>(env).amount(),
            (value, Tier::I128) => value.eval::<i128>(env).amount(),
            (value, Tier::W192) => value.eval::<Wide192>(env).amount(),
            (value, Tier::W576) => value.eval::<Wide576>(env).amount(),
            (value, Tier::Widest | Tier::Words) => value.eval::<Widest>(env).amount(),
        }
    }

    /// The low 64 bits, cut.
    pub(crate) fn eval_words_low(&self, env: Env<'_>) -> u64 {
        let mut word = [0];
        self.eval_words(env, 64, &mut word);
        word[0]
    }

    /// Compute and cut to `bits` bits, least significant word first.
    #[inline]
    pub(crate) fn eval_words(&self, env: Env<'_>, bits: u32, out: &mut [u64]) {
        match self.tier {
            Tier::I64 => write_words(&self.value.eval::<i64>(env), bits, out),
            Tier::I128 => write_words(&self.value.eval::<i128>(env), bits, out),
            Tier::W192 => write_words(&self.value.eval::<Wide192>(env), bits, out),
            Tier::W576 => write_words(&self.value.eval::<Wide576>(env), bits, out),
            Tier::Widest => write_words(&self.value.eval::<Widest>(env), bits, out),
            Tier::Words => {
                words::put(&self.value, env, out);
                for (i, word) in out.iter_mut().enumerate() {
                    *word &= crate::value::word_mask(bits, i as u32);
                }
            }
        }
    }

    /// As [`Self::eval_words`], clamped to the range of the width instead of cut.
    pub(crate) fn eval_saturated(&self, env: Env<'_>, bits: u32, signed: bool, out: &mut [u64]) {
        let value = self.value.eval::<Widest>(env);
        let clamped = if signed { value.sat_cast(bits) } else { value.usat_cast(bits) };
        write_words(&clamped, bits, out);
    }

    /// The value for a reader: decimal up to 64 bits, else hexadecimal.
    pub(crate) fn eval_text(&self, env: Env<'_>) -> String {
        let value = self.value.eval::<Widest>(env);
        if value.is_negative() {
            return format!("{}", value.low() as i64);
        }
        if value.amount() != u64::MAX {
            return format!("{}", value.low());
        }
        let limbs: Vec<u64> = (0..Widest::BITS as usize / 64).map(|i| value.limb(i)).collect();
        let text: String = limbs.iter().rev().map(|limb| format!("{limb:016x}")).collect();
        format!("0x{}", text.trim_start_matches('0'))
    }
}

#[inline]
fn write_words<T: Int>(value: &T, bits: u32, out: &mut [u64]) {
    for (i, word) in out.iter_mut().enumerate() {
        *word = value.limb(i) & crate::value::word_mask(bits, i as u32);
    }
}

fn compare<T: Int>(op: Compare, sides: &(Value, Value), env: Env<'_>) -> bool {
    let order = sides.0.eval::<T>(env).compare(&sides.1.eval::<T>(env));
    match op {
        Compare::Eq => order == Ordering::Equal,
        Compare::Lt => order == Ordering::Less,
        Compare::Le => order != Ordering::Greater,
        Compare::Gt => order == Ordering::Greater,
        Compare::Ge => order != Ordering::Less,
    }
}

impl BoolExpr {
    pub(crate) fn eval(&self, env: Env<'_>) -> bool {
        match self {
            Self::Const(value) => *value,
            Self::FieldIs { word, value } => env.word(*word) == *value,
            Self::Compare(op, Tier::I64, sides) => compare::<i64>(*op, sides, env),
            Self::Compare(op, Tier::I128, sides) => compare::<i128>(*op, sides, env),
            Self::Compare(op, Tier::W192, sides) => compare::<Wide192>(*op, sides, env),
            Self::Compare(op, Tier::W576, sides) => compare::<Wide576>(*op, sides, env),
            Self::Compare(op, Tier::Widest | Tier::Words, sides) => compare::<Widest>(*op, sides, env),
            Self::NoBits { value, words } => words::is_zero(value, *words, env),
            Self::FromData(expr) => match expr.tier {
                Tier::I64 => !expr.value.eval::<i64>(env).is_zero(),
                Tier::I128 => !expr.value.eval::<i128>(env).is_zero(),
                Tier::W192 => !expr.value.eval::<Wide192>(env).is_zero(),
                Tier::W576 => !expr.value.eval::<Wide576>(env).is_zero(),
                Tier::Widest | Tier::Words => !expr.value.eval::<Widest>(env).is_zero(),
            },
            Self::And(sides) => sides.0.eval(env) && sides.1.eval(env),
            Self::Or(sides) => sides.0.eval(env) || sides.1.eval(env),
            Self::Not(side) => !side.eval(env),
            Self::Same(sides) => sides.0.eval(env) == sides.1.eval(env),
            Self::Choose(parts) => {
                if parts.0.eval(env) {
                    parts.1.eval(env)
                } else {
                    parts.2.eval(env)
                }
            }
            Self::Valid(header) => {
                header::resolve(env, header).is_some_and(|h| phv::header_valid(env.program, env.phv, h))
            }
            Self::ValidUnion(union) => {
                header::resolve_union(env, union).is_some_and(|u| header::is_union_valid(env, u))
            }
            Self::SameHeader(a, b) => match (header::resolve(env, a), header::resolve(env, b)) {
                (Some(a), Some(b)) => header::same_header(env, a, b),
                _ => false,
            },
            Self::SameVarbit(a, b) => {
                let words = |field| env.phv.get(phv::field_words(field)).unwrap_or_default();
                words(a) == words(b)
            }
            Self::SameUnion(a, b) => match (header::resolve_union(env, a), header::resolve_union(env, b)) {
                (Some(a), Some(b)) => header::same_union(env, a, b),
                _ => false,
            },
        }
    }
}

mod header;
pub(crate) mod words;

pub(crate) use header::{field_in, resolve, resolve_union};

#[cfg(test)]
pub(crate) mod tests;
