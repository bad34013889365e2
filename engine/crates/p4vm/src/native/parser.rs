//! The parser in native code: one block for each state.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64, I8};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value as V};
use cranelift_frontend::{Switch, Variable};

use super::emit::{Emit, Words};
use super::helpers::{Helper, FAILED};
use crate::ir::{CaseValue, Field, Header, Next, ParseState, ParserOp, SelectKey, END, MARKS};
use crate::parser::MAX_STEPS;
use crate::value::{mask64, words_for};

/// The parser while it is written. Its function returns the bytes taken, and the error from bit 32 on.
pub(super) struct Parser {
    data: V,
    len: V,
    /// Bytes taken so far.
    at: Variable,
    steps: Variable,
    /// The groups of words that the states so far may have written to.
    marks: [Variable; MARKS],
    blocks: HashMap<Next, Block>,
    open: Vec<Next>,
    accept: Block,
    /// Where the function ends, with an error, or that there is none.
    end: Block,
    error: Variable,
    pub left: u32,
}

impl Parser {
    pub(super) fn new(emit: &mut Emit<'_, '_>, data: V, len: V) -> Self {
        let (at, steps) = (emit.b.declare_var(I64), emit.b.declare_var(I64));
        let marks = [(); MARKS].map(|()| emit.b.declare_var(I64));
        let zero = emit.constant(0);
        for variable in [at, steps].into_iter().chain(marks) {
            emit.b.def_var(variable, zero);
        }
        let (accept, end, error) = (emit.b.create_block(), emit.b.create_block(), emit.b.declare_var(I64));
        Self { data, len, at, steps, marks, blocks: HashMap::new(), open: Vec::new(), accept, end, error, left: 0 }
    }

    pub(super) fn write(&mut self, emit: &mut Emit<'_, '_>) -> Option<()> {
        let start = self.block(emit, emit.program.parser.start);
        emit.b.ins().jump(start, &[]);
        while let Some(next) = self.open.pop() {
            let block = self.block(emit, next);
            emit.b.switch_to_block(block);
            self.state(emit, next)?;
        }
        emit.b.switch_to_block(self.accept);
        self.stop(emit, emit.program.errors.no_error);
        emit.b.switch_to_block(self.end);
        let marks = self.marks.map(|marks| emit.b.use_var(marks));
        emit.mark(&marks)?;
        let (at, error) = (emit.b.use_var(self.at), emit.b.use_var(self.error));
        let error = emit.shl_const(error, 32);
        let both = emit.b.ins().bor(at, error);
        emit.b.ins().return_(&[both]);
        Some(())
    }

    fn block(&mut self, emit: &mut Emit<'_, '_>, next: Next) -> Block {
        if next == END || next as usize >= emit.program.parser.states.len() {
            return self.accept;
        }
        *self.blocks.entry(next).or_insert_with(|| {
            self.open.push(next);
            emit.b.create_block()
        })
    }

    /// Ends with an error.
    fn stop(&mut self, emit: &mut Emit<'_, '_>, error: u32) {
        let error = emit.number(error);
        self.stop_with(emit, error);
    }

    fn stop_with(&mut self, emit: &mut Emit<'_, '_>, error: V) {
        emit.b.def_var(self.error, error);
        emit.b.ins().jump(self.end, &[]);
    }

    /// Ends with this error where the bit is set.
    fn stop_if(&mut self, emit: &mut Emit<'_, '_>, bit: V, error: u32) {
        let (stop, next) = (emit.b.create_block(), emit.b.create_block());
        emit.b.set_cold_block(stop);
        emit.b.ins().brif(bit, stop, &[], next, &[]);
        emit.b.switch_to_block(stop);
        self.stop(emit, error);
        emit.b.switch_to_block(next);
    }

    /// What a helper says: an error, or a value.
    fn checked(&mut self, emit: &mut Emit<'_, '_>, answer: V) -> V {
        let (stop, next) = (emit.b.create_block(), emit.b.create_block());
        let failed = emit.and_const(answer, FAILED);
        emit.b.ins().brif(failed, stop, &[], next, &[]);
        emit.b.switch_to_block(stop);
        let error = emit.and_const(answer, mask64(32));
        self.stop_with(emit, error);
        emit.b.switch_to_block(next);
        answer
    }

    fn state(&mut self, emit: &mut Emit<'_, '_>, number: Next) -> Option<()> {
        let program = emit.program;
        let state = program.parser.states.get(number as usize)?;
        let steps = emit.b.use_var(self.steps);
        let steps = emit.b.ins().iadd_imm_s(steps, 1);
        emit.b.def_var(self.steps, steps);
        let too_many = emit.is_const(IntCC::UnsignedGreaterThan, steps, i64::from(MAX_STEPS));
        self.stop_if(emit, too_many, program.errors.parser_timeout);
        for (&variable, bits) in self.marks.iter().zip(program.parsed_to(&state.ops)).filter(|(_, bits)| *bits != 0) {
            let marks = emit.b.use_var(variable);
            let bits = emit.constant(bits);
            let marks = emit.b.ins().bor(marks, bits);
            emit.b.def_var(variable, marks);
        }
        for (index, op) in state.ops.iter().enumerate() {
            if self.op(emit, op).is_none() {
                self.left += 1;
                let at = emit.b.use_var(self.at);
                let (number, index) = (emit.number(number), emit.number(index as u32));
                let answer = emit.call(Helper::ParserOp, &[number, index, at])?;
                let at = self.checked(emit, answer);
                emit.b.def_var(self.at, at);
            }
        }
        self.select(emit, number, state)
    }

    /// An operation in line; None: it is left to the interpreter, and nothing that it does has been done.
    fn op(&mut self, emit: &mut Emit<'_, '_>, op: &ParserOp) -> Option<()> {
        let errors = &emit.program.errors;
        match op {
            ParserOp::Extract(header) => self.extract(emit, *header),
            ParserOp::Set { to, value } if !to.saturating && !to.varbit => {
                let words = emit.expr(value, to.bits)?;
                emit.store_all(to.word, &words)
            }
            ParserOp::SetLookahead { to, offset, bits } if !to.varbit => {
                emit.load(to.word.checked_add(words_for(to.bits))?.checked_sub(1)?)?;
                let base = self.look(emit, *offset, *bits)?;
                let cut = bits.saturating_sub(to.bits);
                let (from, total) = ((offset + cut) as usize, (offset + bits).div_ceil(8));
                let words = read_words(emit, base, from, bits - cut, total)?;
                let words = emit.extend(words, words_for(to.bits) as usize);
                emit.store_all(to.word, &words)
            }
            ParserOp::Verify { condition, error } => {
                let holds = emit.condition(condition)?;
                let error = emit.index(error)?;
                let error = emit.and_const(error, mask64(32));
                let (stop, next) = (emit.b.create_block(), emit.b.create_block());
                emit.b.ins().brif(holds, next, &[], stop, &[]);
                emit.b.switch_to_block(stop);
                self.stop_with(emit, error);
                emit.b.switch_to_block(next);
                Some(())
            }
            ParserOp::Advance(bits) => {
                let bits = emit.index(bits)?;
                let odd = emit.and_const(bits, 7);
                let odd = emit.is_const(IntCC::NotEqual, odd, 0);
                self.stop_if(emit, odd, errors.parser_invalid_argument);
                let bytes = emit.shr_const(bits, 3);
                let left = self.left_of(emit);
                let short = emit.is(IntCC::UnsignedGreaterThan, bytes, left);
                self.stop_if(emit, short, errors.packet_too_short);
                let at = emit.b.use_var(self.at);
                let at = emit.b.ins().iadd(at, bytes);
                emit.b.def_var(self.at, at);
                Some(())
            }
            _ => None,
        }
    }

    fn left_of(&mut self, emit: &mut Emit<'_, '_>) -> V {
        let at = emit.b.use_var(self.at);
        emit.b.ins().isub(self.len, at)
    }

    /// The address of what is not taken yet, of which there are so many bytes.
    fn bytes(&mut self, emit: &mut Emit<'_, '_>, count: u32) -> V {
        let left = self.left_of(emit);
        let short = emit.is_const(IntCC::UnsignedLessThan, left, i64::from(count));
        self.stop_if(emit, short, emit.program.errors.packet_too_short);
        let at = emit.b.use_var(self.at);
        emit.b.ins().iadd(self.data, at)
    }

    fn look(&mut self, emit: &mut Emit<'_, '_>, offset: u32, bits: u32) -> Option<V> {
        Some(self.bytes(emit, offset.checked_add(bits)?.div_ceil(8)))
    }

    fn extract(&mut self, emit: &mut Emit<'_, '_>, header: u32) -> Option<()> {
        let program = emit.program;
        let def = program.headers.get(header as usize)?;
        if def.varbit.is_some() || !is_plain(def, program.blank.len()) {
            return None;
        }
        let total = def.bits / 8;
        let base = self.bytes(emit, total);
        let mut offset = 0;
        for field in &def.fields {
            let words = read_words(emit, base, offset, field.bits, total)?;
            emit.store_all(field.word, &words)?;
            offset += field.bits as usize;
        }
        let at = emit.b.use_var(self.at);
        let at = emit.b.ins().iadd_imm_s(at, i64::from(total));
        emit.b.def_var(self.at, at);
        if let Some(union) = def.union.and_then(|union| program.unions.get(union as usize)) {
            for &other in &union.headers {
                let zero = emit.constant(0);
                emit.store(program.headers.get(other as usize)?.base, zero)?;
            }
        }
        let one = emit.constant(1);
        emit.store(def.base, one)
    }

    fn select(&mut self, emit: &mut Emit<'_, '_>, number: Next, state: &ParseState) -> Option<()> {
        let default = self.block(emit, state.default);
        if state.key.is_empty() {
            emit.b.ins().jump(default, &[]);
            return Some(());
        }
        let masked = state.cases.iter().all(|case| matches!(case.when, CaseValue::Masked { .. }));
        match masked.then(|| self.key(emit, state)).flatten() {
            None => {
                self.left += 1;
                let (number, at) = (emit.number(number), emit.b.use_var(self.at));
                let answer = emit.call(Helper::Select, &[number, at])?;
                let next = self.checked(emit, answer);
                let mut switch = Switch::new();
                for case in &state.cases {
                    if !switch.entries().contains_key(&u128::from(case.next)) {
                        switch.set_entry(u128::from(case.next), self.block(emit, case.next));
                    }
                }
                switch.emit(&mut emit.b, next, default);
            }
            Some(key) => {
                for case in &state.cases {
                    let CaseValue::Masked { value, mask } = &case.when else { return None };
                    let next = self.block(emit, case.next);
                    let differ = key.iter().zip(mask).zip(value).filter(|((_, mask), value)| **mask | **value != 0);
                    let differ: Words = differ
                        .map(|((&word, &mask), &value)| {
                            let (word, value) = (emit.and_const(word, mask), emit.constant(value));
                            emit.b.ins().bxor(word, value)
                        })
                        .collect();
                    match emit.any(&differ) {
                        Some(differ) => {
                            let other = emit.b.create_block();
                            emit.b.ins().brif(differ, other, &[], next, &[]);
                            emit.b.switch_to_block(other);
                        }
                        // Anything matches.
                        None => {
                            emit.b.ins().jump(next, &[]);
                            let other = emit.b.create_block();
                            emit.b.switch_to_block(other);
                        }
                    }
                }
                emit.b.ins().jump(default, &[]);
            }
        }
        Some(())
    }

    /// The state's packed key; None, without an effect, where a part is only known when it runs.
    fn key(&mut self, emit: &mut Emit<'_, '_>, state: &ParseState) -> Option<Words> {
        let plain = |part: &SelectKey| match part {
            SelectKey::Field(field) => !field.varbit,
            SelectKey::Lookahead { .. } => true,
            SelectKey::Last { .. } | SelectKey::LastUnion { .. } => false,
        };
        if !state.key.iter().all(plain) {
            return None;
        }
        let mut key = emit.extend(Vec::new(), state.layout.words);
        for (part, place) in state.key.iter().zip(&state.layout.parts) {
            let words = match part {
                SelectKey::Field(field) => emit.field(field)?,
                SelectKey::Lookahead { offset, bits } => {
                    let base = self.look(emit, *offset, *bits)?;
                    read_words(emit, base, *offset as usize, *bits, (offset + bits).div_ceil(8))?
                }
                _ => return None,
            };
            for (slot, word) in key.iter_mut().skip(place.word as usize).zip(words) {
                let word = emit.shl_const(word, place.shift);
                *slot = emit.b.ins().bor(*slot, word);
            }
        }
        Some(key)
    }
}

/// Whole bytes, all of whose places are there.
pub(super) fn is_plain(header: &Header, words: usize) -> bool {
    let inside = |field: &Field| !field.varbit && crate::phv::value_words(field).end <= words;
    header.bits.is_multiple_of(8)
        && header.fields.iter().all(inside)
        && header.fields.iter().map(|field| field.bits).sum::<u32>() == header.bits
}

/// A value of bits of memory, of which `total` bytes from `base` on may be read.
fn read_words(emit: &mut Emit<'_, '_>, base: V, offset: usize, bits: u32, total: u32) -> Option<Words> {
    let mut end = offset + bits as usize;
    let mut left = bits;
    let mut words = Words::new();
    for _ in 0..words_for(bits) {
        let take = left.min(64);
        end -= take as usize;
        words.push(read(emit, base, end, take, total as usize)?);
        left -= take;
    }
    Some(words)
}

/// Up to 64 bits, most significant first.
fn read(emit: &mut Emit<'_, '_>, base: V, offset: usize, bits: u32, total: usize) -> Option<V> {
    if bits == 0 {
        return Some(emit.constant(0));
    }
    let end = offset + bits as usize;
    let (first, last) = (offset / 8, (end - 1) / 8);
    if last >= total {
        return None;
    }
    let bytes = last - first + 1;
    let size = bytes.next_power_of_two();
    if size > 8 || size > total {
        // The last bytes, as many as one load takes, and those before them.
        let part = size / 2;
        let cut = (last + 1 - part) * 8;
        let high = read(emit, base, offset, (cut - offset) as u32, total)?;
        let low = read(emit, base, cut, (end - cut) as u32, total)?;
        let high = emit.shl_const(high, (end - cut) as u32);
        return Some(emit.b.ins().bor(high, low));
    }
    let start = first.min(total - size);
    let flags = MemFlagsData::new().with_notrap();
    let kind = match size {
        1 => I8,
        2 => I16,
        4 => I32,
        _ => I64,
    };
    let mut word = emit.b.ins().load(kind, flags, base, i32::try_from(start).ok()?);
    if size > 1 {
        word = emit.b.ins().bswap(word);
    }
    if size < 8 {
        word = emit.b.ins().uextend(I64, word);
    }
    let word = emit.shr_const(word, ((start + size) * 8 - end) as u32);
    let exact = end - (start * 8) == bits as usize;
    Some(if exact { word } else { emit.and_const(word, mask64(bits)) })
}
