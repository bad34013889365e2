//! From the program to its native code.

use std::time::{Duration, Instant};

use cranelift_codegen::ir::{UserFuncName, Value as V};
use cranelift_codegen::Context;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Linkage, Module};

use super::code::{address, Code, Functions};
use super::control::Control;
use super::emit::Emit;
use super::helpers::HELPERS;
use super::parser::Parser;
use super::workshop::{Kind, Workshop};
use super::Failure;
use crate::ir::{Next, Program};
use crate::machine::Machine;
use crate::parser::{Parsed, ValueSetState};
use crate::pipeline::Tables;

/// A program's native code.
pub(crate) struct Native {
    code: Code,
    /// What it took.
    pub duration: Duration,
    /// Primitives, conditions and keys that call the interpreter.
    pub left: u32,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "native code made in {:?}, {} parts interpreted", self.duration, self.left)
    }
}

impl Native {
    pub(crate) fn compile(program: &Program) -> Result<Self, Failure> {
        let start = Instant::now();
        let mut compiler = Compiler::open(program)?;
        let mut actions = Vec::new();
        for index in 0..program.actions.len() as u32 {
            actions.push(compiler.declare(Kind::Action, &format!("action{index}"))?);
        }
        let mut left = 0;
        for (index, (&id, action)) in actions.iter().zip(&program.actions).enumerate() {
            let write = |emit: &mut Emit<'_, '_>, _: &[V]| emit.action(index as u32);
            left += sound(compiler.define(id, Kind::Action, action.arg_words, write)?)?;
        }
        let mut control = |name: &str, start: Next| {
            let id = compiler.declare(Kind::Control, name)?;
            let write = |emit: &mut Emit<'_, '_>, _: &[V]| {
                let mut control = Control::new(emit, &actions);
                control.write(emit, start)?;
                Some(control.left)
            };
            left += sound(compiler.define(id, Kind::Control, 0, write)?)?;
            Ok::<FuncId, Failure>(id)
        };
        let (ingress, egress) = (control("ingress", program.ingress.start)?, control("egress", program.egress.start)?);
        let mut other = |name: &str, kind: Kind, write: fn(&mut Emit<'_, '_>, &[V]) -> Option<u32>| {
            let id = compiler.declare(kind, name)?;
            let defined = compiler.define(id, kind, 0, write)?;
            left += defined.unwrap_or(1);
            Ok::<_, Failure>(defined.map(|_| id))
        };
        let parse = other("parse", Kind::Parse, |emit, rest| {
            let &[data, len] = rest else { return None };
            let mut parser = Parser::new(emit, data, len);
            parser.write(emit)?;
            Some(parser.left)
        })?;
        let verify = other("verify", Kind::Verify, |emit, _| emit.verify().map(|()| 0))?;
        let deparse = other("deparse", Kind::Deparse, |emit, rest| emit.deparse(*rest.first()?).map(|()| 0))?;
        let functions = Functions { ingress, egress, parse, verify, deparse };
        let code = compiler.workshop.finish(functions, program)?;
        Ok(Self { code, duration: start.elapsed(), left })
    }

    /// Runs the parser. None: the interpreter has to.
    #[inline]
    pub(crate) fn parse(
        &self,
        machine: &mut Machine<'_>,
        tables: &mut Tables<'_>,
        data: &[u8],
        value_sets: &[ValueSetState],
    ) -> Option<Parsed> {
        self.code.parse(machine, tables, data, value_sets)
    }

    /// Is one of the checksums wrong that the program verifies? None: the interpreter has to say.
    #[inline]
    pub(crate) fn checksum_error(&self, machine: &mut Machine<'_>, tables: &mut Tables<'_>) -> Option<bool> {
        self.code.verify(machine, tables)
    }

    /// Updates checksums and appends the headers. false: the interpreter has to.
    #[inline]
    pub(crate) fn deparse(&self, machine: &mut Machine<'_>, tables: &mut Tables<'_>, out: &mut Vec<u8>) -> bool {
        self.code.deparse(machine, tables, out)
    }

    /// Runs the ingress or egress control of the program that this is the code of. false: it cannot.
    #[inline]
    pub(crate) fn control(&self, egress: bool, machine: &mut Machine<'_>, tables: &mut Tables<'_>) -> bool {
        self.code.control(egress, machine, tables)
    }
}

/// A program that does not hold what its loader checks is left to the interpreter.
fn sound(defined: Option<u32>) -> Result<u32, Failure> {
    defined.ok_or_else(|| Failure::from("the program is not sound"))
}

struct Compiler<'p> {
    program: &'p Program,
    workshop: Workshop,
    context: Context,
    builder: FunctionBuilderContext,
}

impl<'p> Compiler<'p> {
    fn open(program: &'p Program) -> Result<Self, Failure> {
        let workshop = Workshop::open(address)?;
        let context = workshop.module.make_context();
        Ok(Self { program, workshop, context, builder: FunctionBuilderContext::new() })
    }

    fn declare(&mut self, kind: Kind, name: &str) -> Result<FuncId, Failure> {
        let signature = self.workshop.signature(kind);
        Ok(self.workshop.module.declare_function(name, Linkage::Local, &signature)?)
    }

    /// Writes a function's body; when `write` cannot, there is none.
    fn define(
        &mut self,
        id: FuncId,
        kind: Kind,
        arg_words: u32,
        write: impl FnOnce(&mut Emit<'_, '_>, &[V]) -> Option<u32>,
    ) -> Result<Option<u32>, Failure> {
        let signature = self.workshop.signature(kind);
        let Self { program, workshop: Workshop { module, helpers }, context, builder } = self;
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let config = module.target_config();
        let mut b = FunctionBuilder::new(&mut context.func, builder);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let params = b.block_params(entry).to_vec();
        let &[cx, phv, ref rest @ ..] = params.as_slice() else { return Err(Failure::from("no parameters")) };
        let args = rest.first().copied().unwrap_or(cx);
        let refs = [None; HELPERS];
        let mut emit = Emit { b, module, program, helpers, refs, cx, phv, args, arg_words, conditions: 0, stack: 0 };
        let left = write(&mut emit, rest);
        let mut b = emit.b;
        if left.is_none() {
            // What was begun is given up, and what the builder knows of it.
            *builder = FunctionBuilderContext::new();
            module.clear_context(context);
            return Ok(None);
        }
        b.seal_all_blocks();
        b.finalize(config);
        module.define_function(id, context)?;
        module.clear_context(context);
        Ok(left)
    }
}
