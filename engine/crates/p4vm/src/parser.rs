//! The parser: a state machine over the packet's bytes.

use crate::action;
use crate::expr;
use crate::externs::calculation;
use crate::ir::Header;
use crate::ir::{Case, CaseValue, Field, Next, ParseState, ParserOp, SelectKey, END};
use crate::machine::Machine;
use crate::phv;
use crate::trace::Observer;
use crate::value::{bits, words_for};

/// States that a parser may enter for one packet: a program that loops without taking bytes is cut off here. The
/// longest packet has 65,535 bytes, so that a parser that takes a byte a state gets through nearly all real packets.
pub(crate) const MAX_STEPS: u32 = 4096;

/// A value and its mask, laid out as the key of the states that use the set.
pub(crate) type MaskedValue = (Box<[u64]>, Box<[u64]>);

/// Members of a value set.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueSetState {
    pub members: Vec<MaskedValue>,
}

/// How far the parser came, and core.p4's error (as this program numbers it).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parsed {
    pub consumed: usize,
    pub error: u32,
}

/// Parse from the beginning. On an error the packet keeps what was extracted before it.
#[inline(never)]
pub(crate) fn parse<O: Observer>(
    m: &mut Machine<'_>,
    data: &[u8],
    sets: &[ValueSetState],
    key: &mut Vec<u64>,
    observer: &mut O,
) -> Parsed {
    phv::mark_all(m.phv, &m.program.live.groups);
    let parsed = walk(m, data, sets, key, observer);
    observer.parsed(m, parsed.error);
    parsed
}

fn walk<O: Observer>(
    m: &mut Machine<'_>,
    data: &[u8],
    sets: &[ValueSetState],
    key: &mut Vec<u64>,
    observer: &mut O,
) -> Parsed {
    let program = m.program;
    let (mut at, mut next, mut steps) = (0, program.parser.start, 0);
    while next != END {
        let Some(state) = program.parser.states.get(next as usize) else { break };
        steps += 1;
        if steps > MAX_STEPS {
            return Parsed { consumed: at, error: program.errors.parser_timeout };
        }
        observer.state(m, next);
        for op in &state.ops {
            if let Err(error) = run_op(m, op, data, &mut at) {
                observer.extracted(m);
                return Parsed { consumed: at, error };
            }
        }
        observer.extracted(m);
        next = match select(m, state, data, at, sets, key) {
            Ok(next) => next,
            Err(error) => return Parsed { consumed: at, error },
        };
    }
    Parsed { consumed: at, error: program.errors.no_error }
}

type Result<T> = std::result::Result<T, u32>;

#[inline]
pub(crate) fn run_op(m: &mut Machine<'_>, op: &ParserOp, data: &[u8], at: &mut usize) -> Result<()> {
    let errors = &m.program.errors;
    match op {
        ParserOp::Extract(header) => extract(m, *header, None, data, at),
        ParserOp::ExtractVarbit { header, bits } => {
            let bits = bits.eval_u64(m.env(&[]));
            extract(m, *header, Some(bits), data, at)
        }
        ParserOp::ExtractTo { header, bits } => {
            let header = expr::resolve(m.env(&[]), header).ok_or(errors.stack_out_of_bounds)?;
            let bits = bits.as_ref().map(|bits| bits.eval_u64(m.env(&[])));
            extract(m, header, bits, data, at)
        }
        ParserOp::ExtractNext(stack) => {
            let header = next_element(m, *stack)?;
            extract(m, header, None, data, at)?;
            push_back(m, *stack);
            Ok(())
        }
        ParserOp::ExtractNextVarbit { stack, bits } => {
            let header = next_element(m, *stack)?;
            let bits = bits.eval_u64(m.env(&[]));
            extract(m, header, Some(bits), data, at)?;
            push_back(m, *stack);
            Ok(())
        }
        ParserOp::ExtractNextUnion { stack, member, bits } => {
            let def = m.program.union_stacks.get(*stack as usize).ok_or(errors.stack_out_of_bounds)?;
            let count = phv::get(m.phv, def.next);
            let union = usize::try_from(count).ok().and_then(|i| def.unions.get(i));
            let headers = union.and_then(|&u| m.program.unions.get(u as usize)).map(|u| &u.headers);
            let header = headers.and_then(|h| h.get(*member as usize)).ok_or(errors.stack_out_of_bounds)?;
            let bits = bits.as_ref().map(|bits| bits.eval_u64(m.env(&[])));
            extract(m, *header, bits, data, at)?;
            phv::set(m.phv, def.next, count + 1);
            Ok(())
        }
        ParserOp::Set { to, value } => {
            m.assign(to, value, &[]);
            Ok(())
        }
        ParserOp::SetVarbit { to, from } => {
            let (to, from) = (phv::field_words(to), phv::field_words(from));
            if to.len() == from.len() && to.end <= m.phv.len() && from.end <= m.phv.len() {
                m.phv.copy_within(from, to.start);
            }
            Ok(())
        }
        ParserOp::SetLookahead { to, offset, bits } => {
            let from = look(m, data, *at, *offset, *bits)?;
            set_lookahead(m.phv, to, data, from, *bits);
            Ok(())
        }
        ParserOp::Verify { condition, error } => {
            if condition.eval(m.env(&[])) {
                Ok(())
            } else {
                Err(error.eval_u64(m.env(&[])) as u32)
            }
        }
        ParserOp::Primitive(primitive) => {
            action::run(m, std::slice::from_ref(primitive), &[]);
            Ok(())
        }
        ParserOp::Advance(bits) => {
            let bits = bits.eval_u64(m.env(&[]));
            if bits % 8 != 0 {
                return Err(errors.parser_invalid_argument);
            }
            let left = (data.len() - *at) as u64;
            if bits / 8 > left {
                return Err(errors.packet_too_short);
            }
            *at += (bits / 8) as usize;
            Ok(())
        }
    }
}

fn next_element(m: &Machine<'_>, stack: u32) -> Result<u32> {
    let overflow = m.program.errors.stack_out_of_bounds;
    let stack = m.program.stacks.get(stack as usize).ok_or(overflow)?;
    let index = usize::try_from(phv::get(m.phv, stack.next)).map_err(|_| overflow)?;
    stack.headers.get(index).copied().ok_or(overflow)
}

fn push_back(m: &mut Machine<'_>, stack: u32) {
    if let Some(stack) = m.program.stacks.get(stack as usize) {
        let count = phv::get(m.phv, stack.next);
        phv::set(m.phv, stack.next, count + 1);
    }
}

#[inline]
fn extract(m: &mut Machine<'_>, header: u32, var_bits: Option<u64>, data: &[u8], at: &mut usize) -> Result<()> {
    let program = m.program;
    let errors = &program.errors;
    let Some(def) = program.headers.get(header as usize) else { return Ok(()) };
    if def.varbit.is_some() {
        return extract_varbit(m, header, def, var_bits, data, at);
    }
    let bytes = def.bits as usize / 8;
    if data.len() - *at < bytes {
        return Err(errors.packet_too_short);
    }
    let mut offset = *at * 8;
    for field in &def.fields {
        if field.bits <= 64 {
            let value = if field.bits == 0 { 0 } else { bits::read(data, offset, field.bits) };
            phv::set(m.phv, field.word, value);
        } else {
            bits::read_words(data, offset, field.bits, m.phv.get_mut(phv::value_words(field)).unwrap_or_default());
        }
        offset += field.bits as usize;
    }
    *at += bytes;
    phv::validate(program, m.phv, header);
    Ok(())
}

fn extract_varbit(
    m: &mut Machine<'_>,
    header: u32,
    def: &Header,
    given: Option<u64>,
    data: &[u8],
    at: &mut usize,
) -> Result<()> {
    let (program, errors) = (m.program, &m.program.errors);
    if given.is_some_and(|bits| bits % 8 != 0) {
        return Err(errors.parser_invalid_argument);
    }
    let left = (data.len() - *at) as u64;
    let fixed = u64::from(def.bits / 8);
    if fixed + given.unwrap_or(0) / 8 > left {
        return Err(errors.packet_too_short);
    }
    if given.is_some_and(|bits| fixed + bits / 8 > u64::from(def.max_bytes)) {
        return Err(errors.header_too_short);
    }
    let mut offset = *at * 8;
    let mut total = def.bits as usize;
    for field in &def.fields {
        if !field.varbit {
            bits::read_words(data, offset, field.bits, m.phv.get_mut(phv::value_words(field)).unwrap_or_default());
            offset += field.bits as usize;
            continue;
        }
        // P4_14 gives the length as an expression over the fields before it.
        let bits = match (given, &def.var_length) {
            (Some(bits), _) => bits,
            (None, Some(length)) => length.eval_u64(m.env(&[])),
            (None, None) => 0,
        };
        if bits % 8 != 0 {
            return Err(errors.parser_invalid_argument);
        }
        if fixed + bits / 8 > left {
            return Err(errors.packet_too_short);
        }
        if bits > u64::from(field.bits) {
            return Err(errors.header_too_short);
        }
        let bits = bits as u32;
        phv::set(m.phv, field.word, u64::from(bits));
        let mut rest = bits;
        for chunk in m.phv.get_mut(phv::value_words(field)).unwrap_or_default() {
            let take = rest.min(64);
            *chunk = if take == 0 { 0 } else { bits::read(data, offset, take) };
            offset += take as usize;
            rest -= take;
        }
        total += bits as usize;
    }
    *at += total / 8;
    phv::validate(program, m.phv, header);
    Ok(())
}

/// The bit offset of a lookahead, if the packet has that many bits left.
fn look(m: &Machine<'_>, data: &[u8], at: usize, offset: u32, bits: u32) -> Result<usize> {
    let from = at * 8 + offset as usize;
    if from + bits as usize > data.len() * 8 {
        return Err(m.program.errors.packet_too_short);
    }
    Ok(from)
}

fn set_lookahead(phv: &mut [u64], to: &Field, data: &[u8], from: usize, bits: u32) {
    // A narrower field takes the low bits.
    let cut = bits.saturating_sub(to.bits);
    let slot = phv.get_mut(phv::value_words(to)).unwrap_or_default();
    slot.fill(0);
    bits::read_words(data, from + cut as usize, bits - cut, slot);
}

/// The state that follows.
pub(crate) fn select(
    m: &Machine<'_>,
    state: &ParseState,
    data: &[u8],
    at: usize,
    sets: &[ValueSetState],
    key: &mut Vec<u64>,
) -> Result<Next> {
    if state.key.is_empty() {
        return Ok(state.default);
    }
    key.clear();
    key.resize(state.layout.words, 0);
    for (i, part) in state.key.iter().enumerate() {
        let field = match part {
            SelectKey::Field(field) => Some(*field),
            SelectKey::Last { stack, index, .. } => header_field(m, phv::last(m.program, m.phv, *stack), *index),
            SelectKey::LastUnion { stack, member, index, .. } => {
                header_field(m, phv::last_member(m.program, m.phv, *stack, *member), *index)
            }
            SelectKey::Lookahead { offset, bits } => {
                let from = look(m, data, at, *offset, *bits)?;
                let mut words = [0; crate::value::MAX_VALUE_WORDS];
                let words = words.get_mut(..words_for(*bits) as usize).unwrap_or_default();
                bits::read_words(data, from, *bits, words);
                state.layout.put(i, words, key);
                None
            }
        };
        if let Some(field) = field {
            state.layout.put(i, m.phv.get(phv::value_words(&field)).unwrap_or_default(), key);
        }
    }
    Ok(state.cases.iter().find(|case| matches(case, key, sets)).map_or(state.default, |case| case.next))
}

fn header_field(m: &Machine<'_>, header: Option<u32>, index: u32) -> Option<Field> {
    m.program.headers.get(header? as usize)?.fields.get(index as usize).copied()
}

fn matches(case: &Case, key: &[u64], sets: &[ValueSetState]) -> bool {
    match &case.when {
        CaseValue::Masked { value, mask } => key.iter().zip(mask).zip(value).all(|((k, m), v)| k & m == *v),
        CaseValue::Set { set, mask } => {
            let members = sets.get(*set as usize).map(|set| set.members.as_slice()).unwrap_or_default();
            members.iter().any(|(value, own)| {
                key.iter().zip(value).zip(own).enumerate().all(|(i, ((k, v), own))| {
                    let mask = own & mask.as_ref().map_or(u64::MAX, |mask| mask.get(i).copied().unwrap_or(0));
                    k & mask == v & mask
                })
            })
        }
    }
}

/// Compare the checksums that the program verifies with what it computes; true: one of them is wrong.
#[inline(never)]
pub(crate) fn checksum_error(m: &mut Machine<'_>) -> bool {
    let program = m.program;
    let mut wrong = false;
    for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
        if !phv::header_valid(program, m.phv, checksum.header)
            || checksum.condition.as_ref().is_some_and(|condition| !condition.eval(m.env(&[])))
        {
            continue;
        }
        if let Some(calculation) = program.calculations.get(checksum.calculation as usize) {
            let sum = calculation::compute(program, calculation, m.phv, m.payload, m.scratch);
            wrong |= sum != phv::get(m.phv, checksum.target.word);
        }
    }
    wrong
}
