//! Actions: primitives run one after the other.

use crate::expr;
use crate::externs::calculation;
use crate::ir::{Expr, HeaderRef, Primitive, Program, Stack, Target};
use crate::machine::{Externs, Machine, DROP_PORT};
use crate::phv;
use crate::value::{word_mask, words_for, MAX_VALUE_WORDS};

/// Run the primitives of an action, a parser state or a deparser.
pub(crate) fn run(m: &mut Machine<'_>, body: &[Primitive], args: &[u64]) {
    let mut at = 0;
    while let Some(primitive) = body.get(at) {
        at += 1;
        match primitive {
            Primitive::Jump(to) => at = *to as usize,
            Primitive::JumpIfZero { condition, to } => {
                if condition.eval_u64(m.env(args)) == 0 {
                    at = *to as usize;
                }
            }
            Primitive::Set { word, value } => phv::set(m.phv, *word, *value),
            Primitive::Copy { to, from, mask } => {
                let value = phv::get(m.phv, *from) & mask;
                phv::set(m.phv, *to, value);
            }
            Primitive::Argument { to, from, mask } => {
                let value = args.get(*from as usize).copied().unwrap_or(0) & mask;
                phv::set(m.phv, *to, value);
            }
            Primitive::Assign { to, value } => {
                if let Some(field) = m.target(to, args) {
                    m.assign(&field, value, args);
                }
            }
            _ => run_other(m, primitive, args),
        }
        if m.state.failed {
            return;
        }
    }
}

fn run_other(m: &mut Machine<'_>, primitive: &Primitive, args: &[u64]) {
    match primitive {
        Primitive::RegisterRead { to, register, index } => register_read(m, to, *register, index, args),
        Primitive::RegisterWrite { register, index, value } => register_write(m, *register, index, value, args),
        Primitive::Count { counter, index } => {
            let index = index.eval_u64(m.env(args));
            count(m.externs, *counter, index, u64::from(m.state.ingress_length));
        }
        Primitive::ExecuteMeter { meter, index, to } => {
            let index = usize::try_from(index.eval_u64(m.env(args))).unwrap_or(usize::MAX);
            let bytes = m.program.meters.get(*meter as usize).is_some_and(|meter| meter.bytes);
            let units = if bytes { u64::from(m.state.ingress_length) } else { 1 };
            let cell = m.externs.meters.get_mut(*meter as usize).and_then(|array| array.get_mut(index));
            match cell {
                Some(cell) => {
                    let colour = cell.execute(units, m.now_ns);
                    m.store(to, colour as u64, args);
                }
                None => m.externs.out_of_range += 1,
            }
        }
        Primitive::Hash { to, base, calculation, size } => {
            let (base, size) = (base.eval_words_low(m.env(args)), size.eval_words_low(m.env(args)));
            if let Some(calculation) = m.program.calculations.get(*calculation as usize) {
                let hash = calculation::compute(m.program, calculation, m.phv, m.payload, m.scratch);
                // A size of 0 counts as 1, as in BMv2.
                m.store(to, (hash % size.max(1)).wrapping_add(base), args);
            }
        }
        Primitive::Random { to, low, high } => {
            let (low, high) = (low.eval_words_low(m.env(args)), high.eval_words_low(m.env(args)));
            if low <= high {
                let value = m.externs.random.between(low, high);
                m.store(to, value, args);
            }
        }
        Primitive::Digest(list) => m.state.digest = id(list.eval_u64(m.env(args))),
        Primitive::CloneIngress { session, fields } | Primitive::CloneEgress { session, fields } => {
            m.state.clone = Some((id(session.eval_u64(m.env(args))), id(fields.eval_u64(m.env(args)))));
        }
        Primitive::Resubmit(fields) => m.state.resubmit = id(fields.eval_u64(m.env(args))),
        Primitive::Recirculate(fields) => m.state.recirculate = id(fields.eval_u64(m.env(args))),
        Primitive::Truncate(length) => {
            let length = id(length.eval_u64(m.env(args)));
            m.state.truncate = Some(m.state.truncate.map_or(length, |old| old.min(length)));
        }
        Primitive::MarkToDrop { egress_spec, mcast_grp } => {
            phv::set_field(m.phv, Some(*egress_spec), DROP_PORT);
            phv::set_field(m.phv, *mcast_grp, 0);
        }
        Primitive::Log { format, values } => log(m, format, values, args),
        Primitive::Assert(condition) => {
            if !condition.eval(m.env(args)) {
                m.state.failed = true;
                m.state.exit = true;
            }
        }
        Primitive::Exit => m.state.exit = true,
        _ => run_on_headers(m, primitive, args),
    }
}

/// One packet of so many bytes in an indexed counter.
pub(crate) fn count(externs: &mut Externs, counter: u32, index: u64, bytes: u64) {
    if !externs.counters.get_mut(counter as usize).is_some_and(|array| array.add(index, bytes)) {
        externs.out_of_range += 1;
    }
}

fn run_on_headers(m: &mut Machine<'_>, primitive: &Primitive, args: &[u64]) {
    let program = m.program;
    match primitive {
        Primitive::AssignVarbit { to, from } => {
            let (to, from) = (phv::field_words(to), phv::field_words(from));
            if to.len() == from.len() && to.end <= m.phv.len() && from.end <= m.phv.len() {
                m.phv.copy_within(from, to.start);
            }
        }
        Primitive::AssignHeader { to, from } => {
            if let (Some(to), Some(from)) = (expr::resolve(m.env(args), to), expr::resolve(m.env(args), from)) {
                phv::assign_header(program, m.phv, to, from);
            }
        }
        Primitive::AssignStack { to, from } => {
            if let (Some(to), Some(from)) = (program.stacks.get(*to as usize), program.stacks.get(*from as usize)) {
                assign_elements(m, (&to.elements, to.next), (&from.elements, from.next));
            }
        }
        Primitive::AssignUnion { to, from } => {
            let (to, from) = (expr::resolve_union(m.env(args), to), expr::resolve_union(m.env(args), from));
            let members = |union: Option<u32>| program.unions.get(union? as usize);
            if let (Some(to), Some(from)) = (members(to), members(from)) {
                assign_union(program, m.phv, &to.headers, &from.headers);
            }
        }
        Primitive::AssignUnionStack { to, from } => {
            let stacks = (program.union_stacks.get(*to as usize), program.union_stacks.get(*from as usize));
            if let (Some(to), Some(from)) = stacks {
                assign_elements(m, (&to.elements, to.next), (&from.elements, from.next));
            }
        }
        Primitive::AddHeader(header) => add_header(m, header, args),
        Primitive::RemoveHeader(header) => {
            if let Some(header) = expr::resolve(m.env(args), header).filter(|&h| phv::header_valid(m.program, m.phv, h))
            {
                if let Some(def) = program.headers.get(header as usize) {
                    m.state.length = m.state.length.wrapping_sub(phv::header_bytes(def, m.phv) as u32);
                }
                phv::invalidate(program, m.phv, header);
            }
        }
        Primitive::Push { stack, count } => {
            let count = count.eval_u64(m.env(args));
            if let Some(Stack { elements, next, .. }) = program.stacks.get(*stack as usize) {
                phv::push_front(program, m.phv, elements, *next, count);
            }
        }
        Primitive::Pop { stack, count } => {
            let count = count.eval_u64(m.env(args));
            if let Some(Stack { elements, next, .. }) = program.stacks.get(*stack as usize) {
                phv::pop_front(program, m.phv, elements, *next, count);
            }
        }
        Primitive::PushUnion { stack, count } => {
            let count = count.eval_u64(m.env(args));
            if let Some(stack) = program.union_stacks.get(*stack as usize) {
                phv::push_front(program, m.phv, &stack.elements, stack.next, count);
            }
        }
        Primitive::PopUnion { stack, count } => {
            let count = count.eval_u64(m.env(args));
            if let Some(stack) = program.union_stacks.get(*stack as usize) {
                phv::pop_front(program, m.phv, &stack.elements, stack.next, count);
            }
        }
        _ => {}
    }
}

/// An id, session or length; those that need more than 32 bits name nothing that exists.
fn id(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn register_read(m: &mut Machine<'_>, to: &Target, register: u32, index: &Expr, args: &[u64]) {
    let index = index.eval_u64(m.env(args));
    let Some(field) = m.target(to, args) else { return };
    let cell = m.externs.registers.get(register as usize).and_then(|array| array.read(index));
    let Some((words, _)) = cell else {
        m.externs.out_of_range += 1;
        return;
    };
    if let Some(slot) = m.phv.get_mut(phv::value_words(&field)) {
        for (i, word) in slot.iter_mut().enumerate() {
            *word = words.get(i).copied().unwrap_or(0) & word_mask(field.bits, i as u32);
        }
    }
}

fn register_write(m: &mut Machine<'_>, register: u32, index: &Expr, value: &Expr, args: &[u64]) {
    let index = index.eval_u64(m.env(args));
    let bits = m.program.registers.get(register as usize).map_or(0, |r| r.bits);
    let mut narrow = [0];
    let mut wide = [0; MAX_VALUE_WORDS];
    let words = if bits <= 64 { &mut narrow[..] } else { wide.get_mut(..words_for(bits) as usize).unwrap_or_default() };
    value.eval_words(m.env(args), bits, words);
    let cell = m.externs.registers.get_mut(register as usize).and_then(|array| array.cell_mut(index));
    match cell {
        Some((cell, _)) => cell.copy_from_slice(words),
        None => m.externs.out_of_range += 1,
    }
}

fn add_header(m: &mut Machine<'_>, header: &HeaderRef, args: &[u64]) {
    let program = m.program;
    let Some(header) = expr::resolve(m.env(args), header) else { return };
    if phv::header_valid(program, m.phv, header) {
        return;
    }
    if let Some(def) = program.headers.get(header as usize) {
        phv::clear(def, m.phv);
        phv::validate(program, m.phv, header);
        m.state.length = m.state.length.wrapping_add(phv::header_bytes(def, m.phv) as u32);
    }
}

fn assign_elements(m: &mut Machine<'_>, to: (&[Vec<u32>], u32), from: (&[Vec<u32>], u32)) {
    let next = phv::get(m.phv, from.1);
    phv::set(m.phv, to.1, next);
    for (to, from) in to.0.iter().zip(from.0) {
        assign_union(m.program, m.phv, to, from);
    }
}

/// Copy the members that are invalid first: making a member valid takes the validity of the others.
fn assign_union(program: &Program, phv: &mut [u64], to: &[u32], from: &[u32]) {
    for wanted in [false, true] {
        for (&to, &from) in to.iter().zip(from) {
            if phv::header_valid(program, phv, from) == wanted {
                phv::assign_header(program, phv, to, from);
            }
        }
    }
}

fn log(m: &mut Machine<'_>, format: &str, values: &[Expr], args: &[u64]) {
    if m.externs.log_limit == 0 {
        return;
    }
    if m.externs.log.len() >= m.externs.log_limit {
        m.externs.log_lost += 1;
        return;
    }
    let env = m.env(args);
    let mut texts = values.iter().map(|value| value.eval_text(env));
    let (mut message, mut rest) = (String::new(), format);
    while let Some((before, after)) = rest.split_once("{}") {
        message.push_str(before);
        message.push_str(texts.next().as_deref().unwrap_or("{}"));
        rest = after;
    }
    message.push_str(rest);
    m.externs.log.push_back(message);
}
