//! Controls in native code: the walk from table to table.

use std::collections::HashMap;

use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, Value as V};
use cranelift_frontend::Switch;
use cranelift_module::{FuncId, Module};

use super::action::may_exit;
use super::emit::Emit;
use super::helpers::{Helper, HIT};
use crate::ir::{Next, Node, Table, END};
use crate::value::words_for;

/// A control while it is written.
pub(super) struct Control<'c> {
    actions: &'c [FuncId],
    refs: HashMap<u32, FuncRef>,
    blocks: HashMap<Next, Block>,
    /// Nodes whose block is still empty.
    open: Vec<Next>,
    end: Block,
    /// Conditions and keys that are left to the interpreter.
    pub left: u32,
}

impl<'c> Control<'c> {
    pub(super) fn new(emit: &mut Emit<'_, '_>, actions: &'c [FuncId]) -> Self {
        Self {
            actions,
            refs: HashMap::new(),
            blocks: HashMap::new(),
            open: Vec::new(),
            end: emit.b.create_block(),
            left: 0,
        }
    }

    /// All nodes from `start` on, from the current block on, and the end of the function.
    pub(super) fn write(&mut self, emit: &mut Emit<'_, '_>, start: Next) -> Option<()> {
        let first = self.block(emit, start);
        emit.b.ins().jump(first, &[]);
        while let Some(at) = self.open.pop() {
            let block = self.block(emit, at);
            emit.b.switch_to_block(block);
            self.node(emit, at)?;
        }
        emit.b.switch_to_block(self.end);
        emit.b.ins().return_(&[]);
        Some(())
    }

    fn block(&mut self, emit: &mut Emit<'_, '_>, at: Next) -> Block {
        if at == END || at as usize >= emit.program.nodes.len() {
            return self.end;
        }
        *self.blocks.entry(at).or_insert_with(|| {
            self.open.push(at);
            emit.b.create_block()
        })
    }

    fn jump(&mut self, emit: &mut Emit<'_, '_>, to: Next) {
        let to = self.block(emit, to);
        emit.b.ins().jump(to, &[]);
    }

    fn node(&mut self, emit: &mut Emit<'_, '_>, at: Next) -> Option<()> {
        let program = emit.program;
        match program.nodes.get(at as usize)? {
            Node::If { condition, then, otherwise } => {
                let holds = match emit.condition(condition) {
                    Some(bit) => bit,
                    None => {
                        self.left += 1;
                        let node = emit.number(at);
                        emit.call(Helper::Node, &[node])?
                    }
                };
                let (then, otherwise) = (self.block(emit, *then), self.block(emit, *otherwise));
                emit.b.ins().brif(holds, then, &[], otherwise, &[]);
            }
            Node::Call { action, args, next } => {
                let needed = program.actions.get(*action as usize)?.arg_words as usize;
                let mut words: Vec<V> = args.iter().map(|&word| emit.constant(word)).collect();
                words.resize_with(needed.max(words.len()), || emit.constant(0));
                let args = match words.is_empty() {
                    true => emit.constant(0),
                    false => emit.memory(&words)?,
                };
                self.act(emit, *action, args)?;
                self.jump(emit, *next);
            }
            Node::Apply(index) => {
                let table = program.tables.get(*index as usize)?;
                self.apply(emit, *index, table)?;
            }
        }
        Some(())
    }

    /// Calls an action; after one that asks that the control ends, what follows is not reached.
    fn act(&mut self, emit: &mut Emit<'_, '_>, action: u32, args: V) -> Option<()> {
        let target = match self.refs.get(&action) {
            Some(&target) => target,
            None => {
                let target = emit.module.declare_func_in_func(*self.actions.get(action as usize)?, emit.b.func);
                self.refs.insert(action, target);
                target
            }
        };
        let body = &emit.program.actions.get(action as usize)?.body;
        emit.b.ins().call(target, &[emit.cx, emit.phv, args]);
        if may_exit(body) {
            let exited = emit.call(Helper::Exited, &[])?;
            let next = emit.b.create_block();
            emit.b.ins().brif(exited, self.end, &[], next, &[]);
            emit.b.switch_to_block(next);
        }
        Some(())
    }

    fn apply(&mut self, emit: &mut Emit<'_, '_>, index: u32, table: &Table) -> Option<()> {
        if let Some((_, colour)) = &table.meter {
            emit.mark_groups(emit.program.live.groups.field(colour))?;
        }
        let number = emit.number(index);
        let found = match key(emit, table) {
            Some(key) => emit.call(Helper::Apply, &[number, key])?,
            None => {
                self.left += 1;
                let none = emit.constant(0);
                emit.call(Helper::Apply, &[number, none])?
            }
        };
        // `Context::args`
        let args = emit.load_at(emit.cx, 0);
        let hit = emit.and_const(found, HIT);
        let slot = emit.and_const(found, !HIT);
        let (none, mut switch) = (emit.b.create_block(), Switch::new());
        let mut actions = Vec::new();
        for (slot, &(action, next)) in table.actions.iter().enumerate() {
            let block = emit.b.create_block();
            switch.set_entry(slot as u128, block);
            actions.push((block, action, next));
        }
        switch.emit(&mut emit.b, slot, none);
        for (block, action, next) in actions {
            emit.b.switch_to_block(block);
            self.act(emit, action, args)?;
            self.follow(emit, table, hit, next);
        }
        emit.b.switch_to_block(none);
        self.follow(emit, table, hit, table.base_next);
        Some(())
    }

    fn follow(&mut self, emit: &mut Emit<'_, '_>, table: &Table, hit: V, next: Next) {
        match table.hit_miss {
            None => self.jump(emit, next),
            Some((after_hit, after_miss)) => {
                let (after_hit, after_miss) = (self.block(emit, after_hit), self.block(emit, after_miss));
                emit.b.ins().brif(hit, after_hit, &[], after_miss, &[]);
            }
        }
    }
}

/// The address of a table's packed key, as `pipeline::build_key` packs it.
fn key(emit: &mut Emit<'_, '_>, table: &Table) -> Option<V> {
    let mut words: Vec<Option<V>> = vec![None; table.layout.words];
    for (field, part) in table.key.iter().zip(&table.layout.parts) {
        let value = match &field.expr {
            Some(expr) => emit.expr(expr, field.bits)?,
            None => emit.field_words(field.field.word, words_for(field.field.bits))?,
        };
        if field.field.varbit && field.expr.is_none() {
            return None;
        }
        for (i, word) in value.into_iter().enumerate() {
            let word = match &field.mask {
                Some(mask) if field.expr.is_none() => emit.and_const(word, mask.get(i).copied().unwrap_or(0)),
                _ => word,
            };
            let word = emit.shl_const(word, part.shift);
            // Beyond the key nothing is put.
            let Some(slot) = words.get_mut(part.word as usize + i) else { continue };
            *slot = Some(match *slot {
                Some(other) => emit.b.ins().bor(other, word),
                None => word,
            });
        }
    }
    let words: Vec<V> = words.into_iter().map(|word| word.unwrap_or_else(|| emit.constant(0))).collect();
    match words.is_empty() {
        true => None,
        false => emit.memory(&words),
    }
}
