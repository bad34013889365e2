//! Checksums and the deparser in native code.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64, I8};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value as V};

use super::emit::Emit;
use super::helpers::Helper;
use super::parser::is_plain;
use crate::hash::Algorithm;
use crate::ir::{Calculation, CalculationInput, Checksum, Field, Header, Program};
use crate::value::{mask64, words_for};

/// Bytes that all headers take at most; room for them is made before they are written.
pub(super) fn room(program: &Program) -> usize {
    let bytes = |header: &Header| {
        let words: usize = header.fields.iter().map(|field| words_for(field.bits) as usize).sum();
        header.bits as usize / 8 + words * 8 + 8
    };
    let order = program.deparser.order.iter();
    order.filter_map(|&header| program.headers.get(header as usize)).map(bytes).sum()
}

impl Emit<'_, '_> {
    /// A function's body: is one of the checksums that the program verifies wrong? None: the interpreter says.
    pub(super) fn verify(&mut self) -> Option<()> {
        let program = self.program;
        let wrong = self.b.declare_var(I64);
        let zero = self.constant(0);
        self.b.def_var(wrong, zero);
        for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
            let valid = self.valid(checksum.header)?;
            let done = self.checked(checksum, Some(valid))?;
            let sum = self.sum(checksum.calculation)?;
            let target = self.load(checksum.target.word)?;
            let differ = self.is(IntCC::NotEqual, sum, target);
            let differ = self.b.ins().uextend(I64, differ);
            let others = self.b.use_var(wrong);
            let all = self.b.ins().bor(others, differ);
            self.b.def_var(wrong, all);
            self.b.ins().jump(done, &[]);
            self.b.switch_to_block(done);
        }
        let wrong = self.b.use_var(wrong);
        self.b.ins().return_(&[wrong]);
        Some(())
    }

    /// A function's body: updates checksums and writes the valid headers from `out` on; returns the bytes written. None:
    /// the interpreter does.
    pub(super) fn deparse(&mut self, out: V) -> Option<()> {
        let program = self.program;
        if !program.deparser.ops.is_empty() {
            return None;
        }
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            let done = self.checked(checksum, None)?;
            self.mark_groups(program.live.groups.field(&checksum.target))?;
            let sum = self.sum(checksum.calculation)?;
            let sum = self.and_const(sum, mask64(checksum.target.bits));
            self.store(checksum.target.word, sum)?;
            self.b.ins().jump(done, &[]);
            self.b.switch_to_block(done);
        }
        let place = self.b.declare_var(I64);
        self.b.def_var(place, out);
        for &number in &program.deparser.order {
            let Some(header) = program.headers.get(number as usize) else { continue };
            let valid = self.valid(number)?;
            let (put, next) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(valid, put, &[], next, &[]);
            self.b.switch_to_block(put);
            let at = self.b.use_var(place);
            let at = if header.varbit.is_none() && is_plain(header, program.blank.len()) {
                self.put_header(header, at)?;
                self.b.ins().iadd_imm_s(at, i64::from(header.bits / 8))
            } else if header.varbit.is_some() && header.bits % 8 == 0 {
                let number = self.number(number);
                let bytes = self.call(Helper::PutHeader, &[number, at])?;
                self.b.ins().iadd(at, bytes)
            } else {
                return None;
            };
            self.b.def_var(place, at);
            self.b.ins().jump(next, &[]);
            self.b.switch_to_block(next);
        }
        let end = self.b.use_var(place);
        let bytes = self.b.ins().isub(end, out);
        self.b.ins().return_(&[bytes]);
        Some(())
    }

    /// Goes on only where a checksum's condition holds, until the block returned.
    fn checked(&mut self, checksum: &Checksum, valid: Option<V>) -> Option<cranelift_codegen::ir::Block> {
        let (here, done) = (self.b.create_block(), self.b.create_block());
        let condition = match &checksum.condition {
            Some(condition) => Some(self.condition(condition)?),
            None => None,
        };
        let holds = match (valid, condition) {
            (Some(a), Some(b)) => self.b.ins().band(a, b),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.bit(true),
        };
        self.b.ins().brif(holds, here, &[], done, &[]);
        self.b.switch_to_block(here);
        Some(done)
    }

    /// A calculation's result.
    fn sum(&mut self, calculation: u32) -> Option<V> {
        let program = self.program;
        let def = program.calculations.get(calculation as usize)?;
        let result = self.b.declare_var(I64);
        let done = self.b.create_block();
        if let Some((sum, dynamic)) = self.internet_checksum(def) {
            let slow = self.b.create_block();
            let fast = self.b.create_block();
            self.b.ins().brif(dynamic, slow, &[], fast, &[]);
            self.b.switch_to_block(fast);
            let sum = if def.payload {
                let payload = self.call(Helper::PayloadSum, &[])?;
                self.b.ins().iadd(sum, payload)
            } else {
                sum
            };
            let sum = self.fold(sum);
            self.b.def_var(result, sum);
            self.b.ins().jump(done, &[]);
            self.b.set_cold_block(slow);
            self.b.switch_to_block(slow);
        }
        let number = self.number(calculation);
        let sum = self.call(Helper::Compute, &[number])?;
        self.b.def_var(result, sum);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Some(self.b.use_var(result))
    }

    /// Add up what carries over (RFC 1071), and complement.
    fn fold(&mut self, sum: V) -> V {
        let (high, low) = (self.shr_const(sum, 32), self.and_const(sum, mask64(32)));
        let mut sum = self.b.ins().iadd(high, low);
        for _ in 0..3 {
            let (high, low) = (self.shr_const(sum, 16), self.and_const(sum, mask64(16)));
            sum = self.b.ins().iadd(high, low);
        }
        let all = self.constant(mask64(16));
        self.b.ins().bxor(sum, all)
    }

    /// The sum that `fold` makes a checksum of (without the payload), and whether a header is valid whose length is only
    /// known when it runs, so that the sum is not that.
    ///
    /// Places of 16 bits, and so of 32 and 64, count alike: 2^16 is 1 in arithmetic modulo 2^16 - 1. What each field adds
    /// depends on where it ends within 16 bits only, and those of other headers do not move it while they take whole
    /// ones.
    fn internet_checksum(&mut self, calculation: &Calculation) -> Option<(V, V)> {
        let Algorithm::Csum16 = calculation.algorithm else { return None };
        let program = self.program;
        let mut dynamic = self.bit(false);
        let mut sum = self.constant(0);
        // The header whose fields come one after the other, and where its last one ended.
        let (mut group, mut offset) = (None, 0u32);
        for input in &calculation.input {
            let (header, fields): (Option<u32>, &[Field]) = match input {
                CalculationInput::Field { header, field } => (Some(*header), std::slice::from_ref(field)),
                CalculationInput::Header(header) => (Some(*header), &program.headers.get(*header as usize)?.fields),
                CalculationInput::Constant { .. } => (None, &[]),
            };
            if header != group && offset % 16 != 0 {
                return None;
            }
            group = header;
            if let CalculationInput::Constant { words, bits } = input {
                let words = words.iter().take(words_for(*bits) as usize);
                let words = words.map(|&word| self.constant(word)).collect::<Vec<_>>();
                offset += bits;
                let part = self.place(&words, *bits, offset);
                sum = self.b.ins().iadd(sum, part);
                continue;
            }
            let valid = self.valid(header?)?;
            if fields.iter().any(|field| field.varbit) {
                dynamic = self.b.ins().bor(dynamic, valid);
                if offset % 16 != 0 {
                    return None;
                }
                continue;
            }
            let zero = self.constant(0);
            for field in fields {
                let words = self.field(field)?;
                offset += field.bits;
                let part = self.place(&words, field.bits, offset);
                let part = self.b.ins().select(valid, part, zero);
                sum = self.b.ins().iadd(sum, part);
            }
        }
        if calculation.payload && offset % 16 != 0 {
            return None;
        }
        Some((sum, dynamic))
    }

    /// What a value adds that ends at bit `end`.
    fn place(&mut self, words: &[V], bits: u32, end: u32) -> V {
        let mut sum = self.constant(0);
        for &word in words {
            if bits > 32 {
                let (high, low) = (self.shr_const(word, 32), self.and_const(word, mask64(32)));
                sum = self.b.ins().iadd(sum, high);
                sum = self.b.ins().iadd(sum, low);
            } else {
                sum = self.b.ins().iadd(sum, word);
            }
        }
        self.shl_const(sum, (16 - end % 16) % 16)
    }

    /// Writes a header of whole bytes.
    fn put_header(&mut self, header: &Header, out: V) -> Option<()> {
        let (mut acc, mut pending, mut at) = (self.constant(0), 0, 0);
        for field in &header.fields {
            let words = self.field(field)?;
            let mut left = field.bits;
            for (i, &word) in words.iter().enumerate().rev() {
                let bits = left.saturating_sub(i as u32 * 64);
                left -= bits;
                let total = pending + bits;
                if total < 64 {
                    let high = self.shl_const(acc, bits);
                    acc = self.b.ins().bor(high, word);
                    pending = total;
                    continue;
                }
                let rest = total - 64;
                let high = self.shl_const(acc, 64 - pending);
                let low = self.shr_const(word, rest);
                let whole = self.b.ins().bor(high, low);
                self.put_bytes(whole, 8, out, at);
                at += 8;
                acc = self.and_const(word, mask64(rest));
                pending = rest;
            }
        }
        for bytes in [4, 2, 1] {
            if pending >= bytes * 8 {
                pending -= bytes * 8;
                let part = self.shr_const(acc, pending);
                self.put_bytes(part, bytes, out, at);
                at += bytes as i32;
            }
        }
        Some(())
    }

    /// The low bytes of a word, most significant first.
    fn put_bytes(&mut self, word: V, bytes: u32, out: V, at: i32) {
        let flags = MemFlagsData::new().with_notrap();
        let kind = match bytes {
            1 => I8,
            2 => I16,
            4 => I32,
            _ => I64,
        };
        let mut word = word;
        if bytes < 8 {
            word = self.b.ins().ireduce(kind, word);
        }
        if bytes > 1 {
            word = self.b.ins().bswap(word);
        }
        self.b.ins().store(flags, word, out, at);
    }
}
