//! A function of native code while it is written.

use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{FuncRef, InstBuilder, MemFlagsData, Value as V};
use cranelift_frontend::FunctionBuilder;
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use super::helpers::{Helper, HELPERS};
use crate::ir::{Field, Marks, Program};
use crate::phv;

pub(super) type Words = Vec<V>;

pub(super) struct Emit<'a, 'f> {
    pub b: FunctionBuilder<'f>,
    pub module: &'a mut JITModule,
    pub program: &'a Program,
    pub helpers: &'a [FuncId; HELPERS],
    pub refs: [Option<FuncRef>; HELPERS],
    /// The function's parameters: what helpers need, the header vector, and in an action its arguments.
    pub cx: V,
    pub phv: V,
    pub args: V,
    pub arg_words: u32,
    /// Nesting of the condition at hand.
    pub conditions: u32,
    /// Bytes of the frame so far.
    pub stack: u32,
}

impl Emit<'_, '_> {
    fn offset(&self, word: u32) -> Option<i32> {
        let inside = (word as usize) < self.program.blank.len();
        inside.then(|| i32::try_from(word).ok()?.checked_mul(8)).flatten()
    }

    /// A word of the header vector; None beyond its end.
    pub(super) fn load(&mut self, word: u32) -> Option<V> {
        let offset = self.offset(word)?;
        Some(self.b.ins().load(I64, MemFlagsData::trusted(), self.phv, offset))
    }

    pub(super) fn store(&mut self, word: u32, value: V) -> Option<()> {
        let offset = self.offset(word)?;
        self.b.ins().store(MemFlagsData::trusted(), value, self.phv, offset);
        Some(())
    }

    /// Several words, all of them or none.
    pub(super) fn store_all(&mut self, first: u32, words: &[V]) -> Option<()> {
        self.offset(first.checked_add(u32::try_from(words.len()).ok()?)?.checked_sub(1)?)?;
        for (at, &word) in (first..).zip(words) {
            self.store(at, word)?;
        }
        Some(())
    }

    /// Notes that these groups of words may have been written to.
    pub(super) fn mark(&mut self, marks: &[V]) -> Option<()> {
        let Some(first) = self.program.live.groups.written() else { return Some(()) };
        for (at, &bits) in (first as u32..).zip(marks) {
            let before = self.load(at)?;
            let both = self.b.ins().bor(before, bits);
            self.store(at, both)?;
        }
        Some(())
    }

    /// The same of groups that are known now.
    pub(super) fn mark_groups(&mut self, marks: Marks) -> Option<()> {
        let Some(first) = self.program.live.groups.written() else { return Some(()) };
        for (at, bits) in (first as u32..).zip(marks).filter(|(_, bits)| *bits != 0) {
            let before = self.load(at)?;
            let bits = self.constant(bits);
            let both = self.b.ins().bor(before, bits);
            self.store(at, both)?;
        }
        Some(())
    }

    pub(super) fn field_words(&mut self, first: u32, count: u32) -> Option<Words> {
        (0..count).map(|i| self.load(first.checked_add(i)?)).collect()
    }

    /// A field's value; None of a varbit.
    pub(super) fn field(&mut self, field: &Field) -> Option<Words> {
        if field.varbit {
            return None;
        }
        self.field_words(field.word, phv::value_words(field).len() as u32)
    }

    /// A word of memory that a helper points to.
    pub(super) fn load_at(&mut self, address: V, word: u32) -> V {
        self.b.ins().load(I64, MemFlagsData::trusted(), address, word as i32 * 8)
    }

    /// Calls a helper: with `cx`, and what it takes besides.
    pub(super) fn call(&mut self, helper: Helper, args: &[V]) -> Option<V> {
        let at = helper as usize;
        let target = match *self.refs.get(at)? {
            Some(target) => target,
            None => {
                let target = self.module.declare_func_in_func(*self.helpers.get(at)?, self.b.func);
                *self.refs.get_mut(at)? = Some(target);
                target
            }
        };
        let all: Words = std::iter::once(self.cx).chain(args.iter().copied()).collect();
        let call = self.b.ins().call(target, &all);
        self.b.inst_results(call).first().copied()
    }

    pub(super) fn number(&mut self, value: u32) -> V {
        self.constant(u64::from(value))
    }
}
