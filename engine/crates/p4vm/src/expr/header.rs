//! Headers and unions that are only known when an expression runs, and what it asks of them.

use super::Env;
use crate::ir::{Field, Header, HeaderRef, UnionRef};
use crate::phv;

pub(crate) fn stack_count(env: Env<'_>, stack: u32) -> u64 {
    env.program.stacks.get(stack as usize).map_or(0, |s| phv::get(env.phv, s.next))
}

/// The header meant; None for an index outside its stack.
pub(crate) fn resolve(env: Env<'_>, header: &HeaderRef) -> Option<u32> {
    match header {
        HeaderRef::Header(header) => Some(*header),
        HeaderRef::Element { stack, index } => {
            let stack = env.program.stacks.get(*stack as usize)?;
            stack.headers.get(usize::try_from(index.eval_u64(env)).ok()?).copied()
        }
        HeaderRef::Last(stack) => phv::last(env.program, env.phv, *stack),
        HeaderRef::Member { union, member } => {
            let union = env.program.unions.get(resolve_union(env, union)? as usize)?;
            union.headers.get(*member as usize).copied()
        }
        HeaderRef::Choose(parts) => resolve(env, if parts.0.eval(env) { &parts.1 } else { &parts.2 }),
    }
}

pub(crate) fn resolve_union(env: Env<'_>, union: &UnionRef) -> Option<u32> {
    match union {
        UnionRef::Union(union) => Some(*union),
        UnionRef::Element { stack, index } => {
            let stack = env.program.union_stacks.get(*stack as usize)?;
            stack.unions.get(usize::try_from(index.eval_u64(env)).ok()?).copied()
        }
    }
}

/// Field `index` of a header that is only known now.
pub(crate) fn field_in(env: Env<'_>, header: &HeaderRef, index: u32) -> Option<Field> {
    let header = env.program.headers.get(resolve(env, header)? as usize)?;
    header.fields.get(index as usize).copied()
}

pub(crate) fn is_union_valid(env: Env<'_>, union: u32) -> bool {
    let union = env.program.unions.get(union as usize);
    union.is_some_and(|u| u.headers.iter().any(|&h| phv::header_valid(env.program, env.phv, h)))
}

/// Both valid and equal in every field.
pub(crate) fn same_header(env: Env<'_>, a: u32, b: u32) -> bool {
    let (Some(a), Some(b)) = (env.program.headers.get(a as usize), env.program.headers.get(b as usize)) else {
        return false;
    };
    let words = |h: &Header| env.phv.get(phv::header_words(h)).unwrap_or_default();
    phv::get(env.phv, a.base) != 0 && words(a) == words(b)
}

/// The same member valid, with the same content.
pub(crate) fn same_union(env: Env<'_>, a: u32, b: u32) -> bool {
    let (Some(a), Some(b)) = (env.program.unions.get(a as usize), env.program.unions.get(b as usize)) else {
        return false;
    };
    a.headers.iter().zip(&b.headers).any(|(&a, &b)| same_header(env, a, b))
}
