//! Native code in memory: how it is made, entered, and how it calls back. The only place without the compiler's proofs
//! of memory safety; what takes their place:
//!
//! - Code reads and writes the header vector at constant offsets only, which `Emit::offset` has compared with the length
//!   of the program's blank vector; [`Code::control`] refuses a vector that is shorter.
//! - It reads an action's arguments below the action's `arg_words` only (`Emit::argument`); whoever calls an action
//!   provides that many ([`apply`] pads, `Control::node` writes them on its own stack).
//! - Of a register's cell it touches the words of the register's width, which [`cell`] and [`peek`] guarantee.
//! - The context lives on the caller's stack while the code runs, one thread's alone; what it points to is borrowed
//!   mutably by the caller for as long, and a helper makes a reference of it for the time of its own call only, while the
//!   code itself waits.
//! - A program that is given to [`Code::control`] is the one that was compiled: it owns its code.
//! - The parser reads of the packet only what it has found to be there (`Parser::bytes`), and the deparser writes headers
//!   only, for which [`Code::deparse`] makes room (`deparser::room`).
//! - No helper unwinds: this crate's code does not panic, and a panic in an `extern "C"` function ends the process.
//! - Memory is written before it is made executable, and never both (cranelift-jit's `finalize_definitions`).

#![allow(unsafe_code)]

use std::mem::ManuallyDrop;

use cranelift_jit::JITModule;
use cranelift_module::FuncId;

use super::helpers::{Helper, FAILED, HIT};
use super::workshop::Workshop;
use super::{deparser, Failure};
use crate::action;
use crate::externs::calculation;
use crate::hash::csum16;
use crate::ir::{Node, Primitive, Program, END};
use crate::machine::Machine;
use crate::parser::{self, Parsed, ValueSetState};
use crate::pipeline::{self, Tables};
use crate::value::bits::BitWriter;
use crate::value::MAX_VALUE_WORDS;

type Control = unsafe extern "C" fn(*mut Context<'_, '_, '_>, *mut u64);
type Parse = unsafe extern "C" fn(*mut Context<'_, '_, '_>, *mut u64, *const u8, u64) -> u64;
type Verify = unsafe extern "C" fn(*mut Context<'_, '_, '_>, *mut u64) -> u64;
type Deparse = unsafe extern "C" fn(*mut Context<'_, '_, '_>, *mut u64, *mut u8) -> u64;

/// A program's functions; without the last ones, the interpreter does what they would do.
#[derive(Clone, Copy)]
pub(super) struct Functions<T, P, V, D> {
    pub ingress: T,
    pub egress: T,
    pub parse: Option<P>,
    pub verify: Option<V>,
    pub deparse: Option<D>,
}

/// A cell of the widest register.
static ZEROS: [u64; MAX_VALUE_WORDS] = [0; MAX_VALUE_WORDS];

/// What helpers need. Native code itself knows the place of `args` only.
#[repr(C)]
pub(super) struct Context<'c, 'm, 't> {
    /// The arguments of the action that [`apply`] has found.
    args: *const u64,
    machine: &'c mut Machine<'m>,
    tables: &'c mut Tables<'t>,
    /// The packet, for the parser.
    data: &'c [u8],
    value_sets: &'c [ValueSetState],
}

/// A program's code, as long as it may be called.
pub(super) struct Code {
    module: ManuallyDrop<JITModule>,
    functions: Functions<Control, Parse, Verify, Deparse>,
    /// Bytes that headers take at most.
    room: usize,
    /// Words of the header vector that it was made for.
    words: usize,
}

// SAFETY: after `finish` nothing changes the module, and its code has no state of its own.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the module is taken once, here; nobody runs the code, which borrows `self`.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

impl Workshop {
    /// The functions have been declared with the kinds that their names say, and defined.
    pub(super) fn finish(
        mut self,
        ids: Functions<FuncId, FuncId, FuncId, FuncId>,
        program: &Program,
    ) -> Result<Code, Failure> {
        self.module.finalize_definitions()?;
        let code = |id: FuncId| self.module.get_finalized_function(id);
        // SAFETY: each was declared with the signature that its type is, defined, and finalized just now.
        let functions = unsafe {
            Functions {
                ingress: std::mem::transmute::<*const u8, Control>(code(ids.ingress)),
                egress: std::mem::transmute::<*const u8, Control>(code(ids.egress)),
                parse: ids.parse.map(|id| std::mem::transmute::<*const u8, Parse>(code(id))),
                verify: ids.verify.map(|id| std::mem::transmute::<*const u8, Verify>(code(id))),
                deparse: ids.deparse.map(|id| std::mem::transmute::<*const u8, Deparse>(code(id))),
            }
        };
        let (room, words) = (deparser::room(program), program.blank.len());
        Ok(Code { module: ManuallyDrop::new(self.module), functions, room, words })
    }
}

impl<'c, 'm, 't> Context<'c, 'm, 't> {
    fn new(machine: &'c mut Machine<'m>, tables: &'c mut Tables<'t>) -> Self {
        Self { args: ZEROS.as_ptr(), machine, tables, data: &[], value_sets: &[] }
    }
}

impl Code {
    /// Runs the parser. None: the interpreter has to.
    pub(super) fn parse(
        &self,
        machine: &mut Machine<'_>,
        tables: &mut Tables<'_>,
        data: &[u8],
        value_sets: &[ValueSetState],
    ) -> Option<Parsed> {
        let parse = self.functions.parse.filter(|_| machine.phv.len() >= self.words)?;
        let phv = machine.phv.as_mut_ptr();
        let mut context = Context { data, value_sets, ..Context::new(machine, tables) };
        // SAFETY: the invariants above.
        let answer = unsafe { parse(&mut context, phv, data.as_ptr(), data.len() as u64) };
        let consumed = answer as u32 as usize;
        debug_assert!(consumed <= data.len());
        Some(Parsed { consumed, error: (answer >> 32) as u32 })
    }

    /// Is a checksum wrong? None: the interpreter has to say.
    pub(super) fn verify(&self, machine: &mut Machine<'_>, tables: &mut Tables<'_>) -> Option<bool> {
        let verify = self.functions.verify.filter(|_| machine.phv.len() >= self.words)?;
        let phv = machine.phv.as_mut_ptr();
        let mut context = Context::new(machine, tables);
        // SAFETY: the invariants above.
        Some(unsafe { verify(&mut context, phv) } != 0)
    }

    /// Updates checksums and appends the headers. false: the interpreter has to, and nothing has been done.
    pub(super) fn deparse(&self, machine: &mut Machine<'_>, tables: &mut Tables<'_>, out: &mut Vec<u8>) -> bool {
        let Some(deparse) = self.functions.deparse.filter(|_| machine.phv.len() >= self.words) else { return false };
        out.reserve(self.room + machine.payload.len());
        let (phv, start) = (machine.phv.as_mut_ptr(), out.len());
        let mut context = Context::new(machine, tables);
        // SAFETY: the invariants above; there is room for all headers behind `start`, and that many bytes are written.
        unsafe {
            let bytes = deparse(&mut context, phv, out.as_mut_ptr().add(start)) as usize;
            debug_assert!(bytes <= self.room);
            out.set_len(start + bytes);
        }
        true
    }

    /// Runs a control, if the packet has not ended. false: the header vector is not the program's, and nothing has been
    /// done.
    pub(super) fn control(&self, egress: bool, machine: &mut Machine<'_>, tables: &mut Tables<'_>) -> bool {
        debug_assert_eq!(machine.phv.len(), machine.program.blank.len());
        if machine.phv.len() < self.words {
            return false;
        }
        // A failed assertion of the parser ends all that follows.
        if machine.state.exit {
            return true;
        }
        let phv = machine.phv.as_mut_ptr();
        let mut context = Context::new(machine, tables);
        let code = if egress { self.functions.egress } else { self.functions.ingress };
        // SAFETY: the invariants above.
        unsafe { code(&mut context, phv) };
        true
    }
}

/// Asks for memory that will be read soon.
#[inline]
pub(crate) fn prefetch(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it changes nothing, and the address is a reference's.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

pub(super) fn address(helper: Helper) -> *const u8 {
    match helper {
        Helper::Apply => apply as *const u8,
        Helper::Primitive => primitive as *const u8,
        Helper::Condition => condition as *const u8,
        Helper::Node => node as *const u8,
        Helper::Exited => exited as *const u8,
        Helper::Cell => cell as *const u8,
        Helper::Peek => peek as *const u8,
        Helper::Count => count as *const u8,
        Helper::ParserOp => parser_op as *const u8,
        Helper::Select => select as *const u8,
        Helper::Compute => compute as *const u8,
        Helper::PayloadSum => payload_sum as *const u8,
        Helper::PutHeader => put_header as *const u8,
    }
}

type Cx<'a, 'c, 'm, 't> = &'a mut Context<'c, 'm, 't>;

/// # Safety
/// `key` is 0 or points to the words of the table's key.
unsafe extern "C" fn apply(cx: Cx<'_, '_, '_, '_>, table: u64, key: *const u64) -> u64 {
    let Tables { tables, profiles, flows, key: own } = &mut *cx.tables;
    let Some(def) = cx.machine.program.tables.get(table as usize) else { return HIT - 1 };
    let key = if key.is_null() {
        pipeline::build_key(cx.machine, def, own);
        own.as_slice()
    } else {
        // SAFETY: native code has written `layout.words` words there.
        unsafe { std::slice::from_raw_parts(key, def.layout.words) }
    };
    let found = pipeline::find(cx.machine, tables, profiles, flows, table as u32, key);
    let (slot, hit) = (found.slot.unwrap_or(u32::MAX), found.hit);
    let needed = def
        .actions
        .get(slot as usize)
        .and_then(|(action, _)| cx.machine.program.actions.get(*action as usize))
        .map_or(0, |action| action.arg_words as usize);
    if found.args.len() >= needed {
        cx.args = found.args.as_ptr();
    } else {
        own.clear();
        own.extend_from_slice(found.args);
        own.resize(needed, 0);
        cx.args = own.as_ptr();
    }
    u64::from(slot) | if hit { HIT } else { 0 }
}

/// # Safety
/// `args` points to the action's arguments.
unsafe fn arguments<'a>(cx: &Context<'_, '_, '_>, action: u64, args: *const u64) -> &'a [u64] {
    let words = cx.machine.program.actions.get(action as usize).map_or(0, |action| action.arg_words as usize);
    if words == 0 || args.is_null() {
        return &[];
    }
    // SAFETY: whoever calls an action provides its arguments.
    unsafe { std::slice::from_raw_parts(args, words) }
}

/// # Safety
/// As of [`arguments`].
unsafe extern "C" fn primitive(cx: Cx<'_, '_, '_, '_>, action: u64, at: u64, args: *const u64) -> u64 {
    // SAFETY: the caller's.
    let args = unsafe { arguments(cx, action, args) };
    let body = cx.machine.program.actions.get(action as usize).map(|action| action.body.as_slice());
    if let Some(primitive) = body.and_then(|body| body.get(at as usize)) {
        action::run(cx.machine, std::slice::from_ref(primitive), args);
    }
    u64::from(cx.machine.state.failed)
}

/// # Safety
/// As of [`arguments`].
unsafe extern "C" fn condition(cx: Cx<'_, '_, '_, '_>, action: u64, at: u64, args: *const u64) -> u64 {
    // SAFETY: the caller's.
    let args = unsafe { arguments(cx, action, args) };
    let body = cx.machine.program.actions.get(action as usize).map(|action| action.body.as_slice());
    match body.and_then(|body| body.get(at as usize)) {
        Some(Primitive::JumpIfZero { condition, .. }) => condition.eval_u64(cx.machine.env(args)),
        _ => 0,
    }
}

unsafe extern "C" fn node(cx: Cx<'_, '_, '_, '_>, node: u64) -> u64 {
    match cx.machine.program.nodes.get(node as usize) {
        Some(Node::If { condition, .. }) => u64::from(condition.eval(cx.machine.env(&[]))),
        _ => 0,
    }
}

unsafe extern "C" fn exited(cx: Cx<'_, '_, '_, '_>) -> u64 {
    u64::from(cx.machine.state.exit)
}

unsafe extern "C" fn cell(cx: Cx<'_, '_, '_, '_>, register: u64, index: u64) -> *mut u64 {
    let externs = &mut *cx.machine.externs;
    match externs.registers.get_mut(register as usize).and_then(|array| array.cell_mut(index)) {
        Some((cell, _)) => cell.as_mut_ptr(),
        None => {
            externs.out_of_range += 1;
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn peek(cx: Cx<'_, '_, '_, '_>, register: u64, index: u64) -> *const u64 {
    let array = cx.machine.externs.registers.get(register as usize);
    array.and_then(|array| array.read(index)).map_or(ZEROS.as_ptr(), |(cell, _)| cell.as_ptr())
}

unsafe extern "C" fn count(cx: Cx<'_, '_, '_, '_>, counter: u64, index: u64) -> u64 {
    let bytes = u64::from(cx.machine.state.ingress_length);
    action::count(cx.machine.externs, counter as u32, index, bytes);
    0
}

unsafe extern "C" fn parser_op(cx: Cx<'_, '_, '_, '_>, state: u64, op: u64, at: u64) -> u64 {
    let state = cx.machine.program.parser.states.get(state as usize);
    let Some(op) = state.and_then(|state| state.ops.get(op as usize)) else { return at };
    let mut taken = at as usize;
    match parser::run_op(cx.machine, op, cx.data, &mut taken) {
        Ok(()) => taken as u64,
        Err(error) => FAILED | u64::from(error),
    }
}

unsafe extern "C" fn select(cx: Cx<'_, '_, '_, '_>, state: u64, at: u64) -> u64 {
    let Some(state) = cx.machine.program.parser.states.get(state as usize) else { return u64::from(END) };
    match parser::select(cx.machine, state, cx.data, at as usize, cx.value_sets, cx.tables.key) {
        Ok(next) => u64::from(next),
        Err(error) => FAILED | u64::from(error),
    }
}

unsafe extern "C" fn compute(cx: Cx<'_, '_, '_, '_>, calculation: u64) -> u64 {
    let Machine { program, phv, payload, scratch, .. } = &mut *cx.machine;
    let calculation = program.calculations.get(calculation as usize);
    calculation.map_or(0, |calculation| calculation::compute(program, calculation, phv, payload, scratch))
}

unsafe extern "C" fn payload_sum(cx: Cx<'_, '_, '_, '_>) -> u64 {
    u64::from(!csum16(cx.machine.payload))
}

/// # Safety
/// There is room behind `out` for the header.
unsafe extern "C" fn put_header(cx: Cx<'_, '_, '_, '_>, header: u64, out: *mut u8) -> u64 {
    let Machine { program, phv, scratch, .. } = &mut *cx.machine;
    let Some(header) = program.headers.get(header as usize) else { return 0 };
    scratch.clear();
    let mut writer = BitWriter::new(scratch);
    calculation::put_header(&mut writer, header, phv);
    writer.finish();
    // SAFETY: the caller's.
    unsafe { std::ptr::copy_nonoverlapping(scratch.as_ptr(), out, scratch.len()) };
    scratch.len() as u64
}
