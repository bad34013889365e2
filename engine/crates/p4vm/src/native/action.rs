//! Actions in native code. A primitive that is not here, or whose values are not, runs in the interpreter.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData};

use super::emit::{Emit, Words};
use super::helpers::Helper;
use crate::ir::{BoolExpr, Expr, Field, HeaderRef, Primitive, Target};
use crate::machine::DROP_PORT;
use crate::value::{mask64, word_mask, words_for};

/// Whether a body may ask that the control ends.
pub(super) fn may_exit(body: &[Primitive]) -> bool {
    body.iter().any(|primitive| match primitive {
        Primitive::Assert(condition) => !matches!(condition, BoolExpr::Const(true)),
        Primitive::Exit => true,
        _ => false,
    })
}

impl Emit<'_, '_> {
    /// The whole body of action `index`, from the current block on, and the end of its function. Returns the number of
    /// primitives that are left to the interpreter.
    pub(super) fn action(&mut self, index: u32) -> Option<u32> {
        let body = self.program.actions.get(index as usize)?.body.as_slice();
        self.mark_groups(self.program.written(body))?;
        let mut left = 0;
        let mut blocks: HashMap<usize, Block> = HashMap::new();
        for primitive in body {
            if let Primitive::Jump(to) | Primitive::JumpIfZero { to, .. } = primitive {
                blocks.entry(*to as usize).or_insert_with(|| self.b.create_block());
            }
        }
        let end = blocks.get(&body.len()).copied().unwrap_or_else(|| self.b.create_block());
        for (at, primitive) in body.iter().enumerate() {
            if let Some(&block) = blocks.get(&at) {
                self.b.ins().jump(block, &[]);
                self.b.switch_to_block(block);
            }
            match primitive {
                Primitive::Jump(to) => {
                    let to = *blocks.get(&(*to as usize))?;
                    self.b.ins().jump(to, &[]);
                    let next = self.b.create_block();
                    self.b.switch_to_block(next);
                }
                Primitive::JumpIfZero { condition, to } => {
                    let to = *blocks.get(&(*to as usize))?;
                    let value = match self.index(condition) {
                        Some(value) => value,
                        None => {
                            left += 1;
                            let (action, at) = (self.number(index), self.number(at as u32));
                            self.call(Helper::Condition, &[action, at, self.args])?
                        }
                    };
                    let next = self.b.create_block();
                    self.b.ins().brif(value, next, &[], to, &[]);
                    self.b.switch_to_block(next);
                }
                _ => {
                    if self.primitive(primitive).is_none() {
                        left += 1;
                        let (action, at) = (self.number(index), self.number(at as u32));
                        let failed = self.call(Helper::Primitive, &[action, at, self.args])?;
                        if let Primitive::Assert(_) = primitive {
                            let next = self.b.create_block();
                            self.b.ins().brif(failed, end, &[], next, &[]);
                            self.b.switch_to_block(next);
                        }
                    }
                }
            }
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.ins().return_(&[]);
        Some(left)
    }

    /// A primitive in line; None: it is left to the interpreter, and nothing that it does has been done.
    fn primitive(&mut self, primitive: &Primitive) -> Option<()> {
        match primitive {
            Primitive::Set { word, value } => {
                let value = self.constant(*value);
                self.store(*word, value)
            }
            Primitive::Copy { to, from, mask } => {
                let value = self.load(*from)?;
                let value = self.and_const(value, *mask);
                self.store(*to, value)
            }
            Primitive::Argument { to, from, mask } => {
                let value = self.argument(*from)?;
                let value = self.and_const(value, *mask);
                self.store(*to, value)
            }
            Primitive::Assign { to: Target::Field(to), value } if !to.saturating && !to.varbit => {
                let words = self.expr(value, to.bits)?;
                self.store_all(to.word, &words)
            }
            Primitive::RegisterRead { to: Target::Field(to), register, index } if !to.varbit => {
                self.register_read(to, *register, index)
            }
            Primitive::RegisterWrite { register, index, value } => self.register_write(*register, index, value),
            Primitive::Count { counter, index } => {
                let index = self.index(index)?;
                let counter = self.number(*counter);
                self.call(Helper::Count, &[counter, index]).map(drop)
            }
            Primitive::MarkToDrop { egress_spec, mcast_grp } => {
                // Both places are checked before either is written.
                let checked = mcast_grp.map_or(Some(0), |field| self.load(field.word).map(|_| 0));
                checked.and(self.load(egress_spec.word))?;
                let port = self.constant(DROP_PORT & mask64(egress_spec.bits));
                self.store(egress_spec.word, port)?;
                let zero = self.constant(0);
                mcast_grp.map_or(Some(()), |field| self.store(field.word, zero))
            }
            Primitive::Assert(BoolExpr::Const(true)) => Some(()),
            Primitive::AssignHeader { to: HeaderRef::Header(to), from: HeaderRef::Header(from) } => {
                self.assign_header(*to, *from)
            }
            _ => None,
        }
    }

    /// The cell of a register, if there is one at this index: code that follows runs only then, until `done`.
    fn cell(&mut self, register: u32, index: &Expr) -> Option<(cranelift_codegen::ir::Value, Block)> {
        let index = self.index(index)?;
        let register = self.number(register);
        let cell = self.call(Helper::Cell, &[register, index])?;
        let (inside, done) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cell, inside, &[], done, &[]);
        self.b.switch_to_block(inside);
        Some((cell, done))
    }

    fn register_read(&mut self, to: &Field, register: u32, index: &Expr) -> Option<()> {
        let stride = words_for(self.program.registers.get(register as usize)?.bits);
        let count = words_for(to.bits);
        // The last word is there; so are those before it.
        self.load(to.word.checked_add(count)?.checked_sub(1)?)?;
        let (cell, done) = self.cell(register, index)?;
        for i in 0..count {
            let word = if i < stride { self.load_at(cell, i) } else { self.constant(0) };
            let word = self.and_const(word, word_mask(to.bits, i));
            self.store(to.word + i, word)?;
        }
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Some(())
    }

    fn register_write(&mut self, register: u32, index: &Expr, value: &Expr) -> Option<()> {
        let bits = self.program.registers.get(register as usize)?.bits;
        let words = self.expr(value, bits)?;
        let (cell, done) = self.cell(register, index)?;
        for (i, word) in words.into_iter().enumerate() {
            self.b.ins().store(MemFlagsData::trusted(), word, cell, i as i32 * 8);
        }
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        Some(())
    }

    /// Between headers of one layout that are in no union.
    fn assign_header(&mut self, to: u32, from: u32) -> Option<()> {
        let (to, from) = (self.program.headers.get(to as usize)?, self.program.headers.get(from as usize)?);
        if to.union.is_some() || to.words != from.words {
            return None;
        }
        let words = self.field_words(from.base, from.words)?;
        let old = self.field_words(to.base, to.words)?;
        let valid = self.is_const(IntCC::NotEqual, *words.first()?, 0);
        let (one, zero) = (self.constant(1), self.constant(0));
        let both: Words = words.iter().zip(&old).map(|(&new, &old)| self.b.ins().select(valid, new, old)).collect();
        self.store_all(to.base, &both)?;
        let validity = self.b.ins().select(valid, one, zero);
        self.store(to.base, validity)
    }
}
