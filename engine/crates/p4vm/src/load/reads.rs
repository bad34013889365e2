//! What an action's primitives, expressions and conditions read of the header vector, and what they write for certain.

use super::words::Words;
use crate::ir::{
    BoolExpr, Calculation, CalculationInput, Expr, Field, HeaderRef, Primitive, Program, Target, UnionRef, Value,
};
use crate::phv;
use crate::value::words_for;

/// Words that may be read later; None: all of them.
pub(super) type Read = Option<Words>;

/// What may be read from some point on, which goes backwards.
pub(super) struct Reads<'p> {
    program: &'p Program,
    pub read: Words,
    /// Everything.
    pub all: bool,
}

impl<'p> Reads<'p> {
    pub(super) fn new(program: &'p Program, read: Words) -> Self {
        Self { program, read, all: false }
    }

    pub(super) fn done(self) -> Read {
        (!self.all).then_some(self.read)
    }

    pub(super) fn field(&mut self, field: &Field) {
        self.read.add_all(phv::field_words(field));
    }

    fn words(&mut self, word: u32, bits: u32) {
        self.read.add_all(word as usize..word as usize + words_for(bits) as usize);
    }

    pub(super) fn calculation(&mut self, calculation: Option<&Calculation>) {
        for input in calculation.iter().flat_map(|calculation| &calculation.input) {
            match input {
                CalculationInput::Field { field, .. } => self.field(field),
                CalculationInput::Constant { .. } => {}
                CalculationInput::Header(header) => self.whole(&HeaderRef::Header(*header)),
            }
        }
    }

    /// Overwrites a field for certain.
    fn writes(&mut self, to: &Target) {
        match to {
            Target::Field(field) if !field.varbit => self.read.remove_all(phv::value_words(field)),
            Target::Field(_) => {}
            Target::In { header, .. } => self.header(header),
        }
    }

    /// Overwrites a field, or not.
    fn may_write(&mut self, to: &Target) {
        if let Target::In { header, .. } = to {
            self.header(header);
        }
    }

    pub(super) fn primitive(&mut self, primitive: &Primitive, end: &Words) {
        match primitive {
            Primitive::Set { word, .. } | Primitive::Argument { to: word, .. } => self.read.remove(*word as usize),
            Primitive::Copy { to, from, .. } => {
                self.read.remove(*to as usize);
                self.read.add(*from as usize);
            }
            Primitive::Assign { to, value } => {
                self.writes(to);
                self.expr(value);
            }
            Primitive::AssignVarbit { from, .. } => self.field(from),
            Primitive::AssignHeader { to, from } => [to, from].into_iter().for_each(|header| self.whole(header)),
            Primitive::AssignStack { .. } | Primitive::AssignUnionStack { .. } | Primitive::MarkToDrop { .. } => {}
            Primitive::AssignUnion { to, from } => [to, from].into_iter().for_each(|union| self.union(union)),
            Primitive::AddHeader(header) | Primitive::RemoveHeader(header) => self.whole(header),
            Primitive::Push { count, .. }
            | Primitive::Pop { count, .. }
            | Primitive::PushUnion { count, .. }
            | Primitive::PopUnion { count, .. } => self.expr(count),
            Primitive::RegisterRead { to, index, .. } | Primitive::ExecuteMeter { to, index, .. } => {
                self.may_write(to);
                self.expr(index);
            }
            Primitive::RegisterWrite { index, value, .. } => [index, value].into_iter().for_each(|e| self.expr(e)),
            Primitive::Count { index, .. } => self.expr(index),
            Primitive::Hash { to, base, size, .. } => {
                self.may_write(to);
                [base, size].into_iter().for_each(|expr| self.expr(expr));
            }
            Primitive::Random { to, low, high } => {
                self.may_write(to);
                [low, high].into_iter().for_each(|expr| self.expr(expr));
            }
            Primitive::CloneIngress { session, fields } | Primitive::CloneEgress { session, fields } => {
                [session, fields].into_iter().for_each(|expr| self.expr(expr));
            }
            Primitive::Digest(value)
            | Primitive::Resubmit(value)
            | Primitive::Recirculate(value)
            | Primitive::Truncate(value) => self.expr(value),
            Primitive::Log { values, .. } => values.iter().for_each(|value| self.expr(value)),
            Primitive::Assert(condition) => {
                self.read.join(end);
                self.condition(condition);
            }
            Primitive::Exit => self.read.join(end),
            Primitive::Jump(_) | Primitive::JumpIfZero { .. } => self.all = true,
        }
    }

    pub(super) fn expr(&mut self, expr: &Expr) {
        self.value(&expr.value);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Const(_) | Value::WideConst(_) | Value::Argument { .. } => {}
            Value::LastIndex(_) | Value::StackSize(_) => {}
            Value::Field { word, bits } | Value::AnyField { word, bits, .. } => self.words(*word, *bits),
            Value::Part { word, shift, bits } => self.words(*word, shift + bits),
            Value::Join(parts) => parts.iter().for_each(|part| self.expr(&part.value)),
            Value::In { header, .. } => self.whole(header),
            Value::Register { index, .. } => self.expr(index),
            Value::Binary(_, a, b) => [a, b].into_iter().for_each(|value| self.value(value)),
            Value::Not(value) | Value::TwoCompMod(value, _) => self.value(value),
            Value::USatCast(value, _) | Value::SatCast(value, _) => self.value(value),
            Value::Choose(condition, a, b) => {
                self.condition(condition);
                [a, b].into_iter().for_each(|value| self.value(value));
            }
            Value::FromBool(condition) => self.condition(condition),
        }
    }

    pub(super) fn condition(&mut self, condition: &BoolExpr) {
        match condition {
            BoolExpr::Const(_) => {}
            BoolExpr::Compare(_, _, sides) => [&sides.0, &sides.1].into_iter().for_each(|value| self.value(value)),
            BoolExpr::NoBits { value, .. } => self.value(value),
            BoolExpr::FieldIs { word, .. } => self.read.add(*word as usize),
            BoolExpr::FromData(expr) => self.expr(expr),
            BoolExpr::And(sides) | BoolExpr::Or(sides) | BoolExpr::Same(sides) => {
                [&sides.0, &sides.1].into_iter().for_each(|condition| self.condition(condition));
            }
            BoolExpr::Not(condition) => self.condition(condition),
            BoolExpr::Choose(parts) => {
                [&parts.0, &parts.1, &parts.2].into_iter().for_each(|condition| self.condition(condition));
            }
            BoolExpr::Valid(header) => self.header(header),
            BoolExpr::ValidUnion(union) => self.union(union),
            BoolExpr::SameHeader(a, b) => [a, b].into_iter().for_each(|header| self.whole(header)),
            BoolExpr::SameUnion(a, b) => [a, b].into_iter().for_each(|union| self.union(union)),
            BoolExpr::SameVarbit(a, b) => [a, b].into_iter().for_each(|field| self.field(field)),
        }
    }

    /// All fields of a header, which are not followed unless it is metadata.
    fn whole(&mut self, header: &HeaderRef) {
        self.all |= self.is_metadata(header);
        self.header(header);
    }

    fn is_metadata(&self, header: &HeaderRef) -> bool {
        match header {
            HeaderRef::Header(header) => self.program.headers.get(*header as usize).is_none_or(|h| h.metadata),
            HeaderRef::Choose(parts) => self.is_metadata(&parts.1) || self.is_metadata(&parts.2),
            // Those of stacks and unions are not followed.
            HeaderRef::Element { .. } | HeaderRef::Last(_) | HeaderRef::Member { .. } => false,
        }
    }

    /// What says which header is meant.
    pub(super) fn header(&mut self, header: &HeaderRef) {
        match header {
            HeaderRef::Header(_) | HeaderRef::Last(_) => {}
            HeaderRef::Element { index, .. } => self.expr(index),
            HeaderRef::Member { union, .. } => self.union(union),
            HeaderRef::Choose(parts) => {
                self.condition(&parts.0);
                [&parts.1, &parts.2].into_iter().for_each(|header| self.header(header));
            }
        }
    }

    fn union(&mut self, union: &UnionRef) {
        if let UnionRef::Element { index, .. } = union {
            self.expr(index);
        }
    }
}
