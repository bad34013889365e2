//! The packet header vector: one flat run of 64-bit words that holds every header and metadata field of a packet.
//!
//! A header is its validity word followed by its fields, each in as many words as its width needs (least significant
//! first); a varbit field has its length in bits in front, and its value in chunks of 64 bits in wire order. All headers
//! of one type have one layout, so that copying one is copying words. Bits beyond a field's width are always zero.

use std::ops::Range;

use crate::ir::{Field, Groups, Header, Marks, Program, BLOCK, MARKS};
use crate::value::words_for;

/// The words of a field's value, without a varbit's length.
pub(crate) fn value_words(field: &Field) -> std::ops::Range<usize> {
    let start = field.word as usize + usize::from(field.varbit);
    start..start + words_for(field.bits) as usize
}

/// All words of a field.
pub(crate) fn field_words(field: &Field) -> std::ops::Range<usize> {
    field.word as usize..value_words(field).end
}

/// The words of a header, with its validity.
pub(crate) fn header_words(header: &Header) -> std::ops::Range<usize> {
    header.base as usize..(header.base + header.words) as usize
}

/// Groups with marks from which on copying all at once is cheaper (ours).
const MANY: u32 = 16;

#[inline]
pub(crate) fn get(phv: &[u64], word: u32) -> u64 {
    phv.get(word as usize).copied().unwrap_or(0)
}

#[inline]
pub(crate) fn set(phv: &mut [u64], word: u32, value: u64) {
    if let Some(slot) = phv.get_mut(word as usize) {
        *slot = value;
    }
}

/// Write the low bits of `value` to a field, for the machine's own metadata.
#[inline]
pub(crate) fn set_field(phv: &mut [u64], field: Option<Field>, value: u64) {
    if let Some(field) = field {
        set(phv, field.word, value & field.mask);
    }
}

#[inline]
pub(crate) fn get_field(phv: &[u64], field: Option<Field>) -> u64 {
    field.map_or(0, |field| get(phv, field.word))
}

#[inline]
pub(crate) fn header_valid(program: &Program, phv: &[u64], header: u32) -> bool {
    program.headers.get(header as usize).is_some_and(|h| get(phv, h.base) != 0)
}

/// Bytes that a header takes in the packet.
#[inline]
pub(crate) fn header_bytes(header: &Header, phv: &[u64]) -> usize {
    let varbit = header.varbit.and_then(|i| header.fields.get(i));
    (header.bits as usize + varbit.map_or(0, |field| get(phv, field.word) as usize)) / 8
}

/// The last header pushed to a stack.
pub(crate) fn last(program: &Program, phv: &[u64], stack: u32) -> Option<u32> {
    let stack = program.stacks.get(stack as usize)?;
    let index = usize::try_from(get(phv, stack.next)).ok()?.checked_sub(1)?;
    stack.headers.get(index).copied()
}

/// Member `member` of the last union pushed to a stack of unions.
pub(crate) fn last_member(program: &Program, phv: &[u64], stack: u32, member: u32) -> Option<u32> {
    let stack = program.union_stacks.get(stack as usize)?;
    let index = usize::try_from(get(phv, stack.next)).ok()?.checked_sub(1)?;
    let union = program.unions.get(*stack.unions.get(index)? as usize)?;
    union.headers.get(member as usize).copied()
}

/// Make a header valid, and the other members of its union invalid.
#[inline]
pub(crate) fn validate(program: &Program, phv: &mut [u64], header: u32) {
    let Some(def) = program.headers.get(header as usize) else { return };
    if let Some(union) = def.union.and_then(|u| program.unions.get(u as usize)) {
        for &other in &union.headers {
            invalidate(program, phv, other);
        }
    }
    set(phv, def.base, 1);
}

pub(crate) fn invalidate(program: &Program, phv: &mut [u64], header: u32) {
    if let Some(def) = program.headers.get(header as usize) {
        set(phv, def.base, 0);
    }
}

/// Zero every field of a header, without touching its validity.
pub(crate) fn clear(def: &Header, phv: &mut [u64]) {
    if let Some(words) = phv.get_mut(header_words(def)) {
        words.iter_mut().skip(1).for_each(|word| *word = 0);
    }
}

pub(crate) fn assign_header(program: &Program, phv: &mut [u64], to: u32, from: u32) {
    if !header_valid(program, phv, from) {
        return invalidate(program, phv, to);
    }
    let (Some(to_def), Some(from_def)) = (program.headers.get(to as usize), program.headers.get(from as usize)) else {
        return;
    };
    validate(program, phv, to);
    let (to_words, from_words) = (header_words(to_def), header_words(from_def));
    if to_words.len() == from_words.len() && from_words.end <= phv.len() && to_words.end <= phv.len() {
        phv.copy_within(from_words, to_words.start);
        set(phv, to_def.base, 1);
    }
}

/// Copy a header with its validity, whatever it is.
fn move_header(program: &Program, phv: &mut [u64], to: u32, from: u32) {
    let (Some(to), Some(from)) = (program.headers.get(to as usize), program.headers.get(from as usize)) else { return };
    let (to, from) = (header_words(to), header_words(from));
    if to.len() == from.len() && from.end <= phv.len() && to.end <= phv.len() {
        phv.copy_within(from, to.start);
    }
}

/// Shift the elements of a stack of headers (or of unions, element by element) by `count` towards higher indices.
pub(crate) fn push_front(program: &Program, phv: &mut [u64], elements: &[Vec<u32>], next: u32, count: u64) {
    let size = elements.len();
    let count = usize::try_from(count).unwrap_or(size).min(size);
    if count == 0 {
        return;
    }
    set(phv, next, (get(phv, next) + count as u64).min(size as u64));
    for i in (count..size).rev() {
        shift(program, phv, elements.get(i), elements.get(i - count));
    }
    for &header in elements.iter().take(count).flatten() {
        invalidate(program, phv, header);
    }
}

/// Shift the elements of a stack by `count` towards lower indices.
pub(crate) fn pop_front(program: &Program, phv: &mut [u64], elements: &[Vec<u32>], next: u32, count: u64) {
    let size = elements.len();
    let count = usize::try_from(count).unwrap_or(size).min(size);
    if count == 0 {
        return;
    }
    set(phv, next, get(phv, next).saturating_sub(count as u64));
    for i in 0..size - count {
        shift(program, phv, elements.get(i), elements.get(i + count));
    }
    for &header in elements.iter().skip(size - count).flatten() {
        invalidate(program, phv, header);
    }
}

fn shift(program: &Program, phv: &mut [u64], to: Option<&Vec<u32>>, from: Option<&Vec<u32>>) {
    if let (Some(to), Some(from)) = (to, from) {
        for (&to, &from) in to.iter().zip(from) {
            move_header(program, phv, to, from);
        }
    }
}

/// Whose copy a vector is, but for what it has marks of since.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// The flight's; 0: it is no copy, and its marks say what is not blank.
    serial: u64,
    /// What is not blank beside that.
    marks: Marks,
}

impl Copied {
    /// The vector's marks say what is not blank from now on.
    #[inline]
    pub(crate) fn settle(&mut self, phv: &mut [u64], groups: &Groups) {
        if std::mem::take(&mut self.serial) != 0 {
            let marks = groups.marks.and_then(|marks| phv.get_mut(marks..)).unwrap_or_default();
            marks.iter_mut().zip(self.marks).for_each(|(of, also)| *of |= also);
        }
    }
}

/// Make of a vector a copy of a flight's. Replicas of one packet come one after the other: of what is that flight's copy
/// already, only what has been written to since is copied anew.
#[inline]
pub(crate) fn copy_of(phv: &mut Vec<u64>, from: &Vec<u64>, serial: u64, groups: &Groups, copied: &mut Copied) {
    let marks = groups.written().filter(|_| phv.len() == from.len());
    let Some(marks) = marks else { return restore(phv, from, groups, &groups.egress) };
    let is_copy = serial != 0 && copied.serial == serial;
    if !is_copy {
        copied.settle(phv, groups);
        copied.marks = std::array::from_fn(|half| from.get(marks + half).copied().unwrap_or(u64::MAX));
        copied.serial = serial;
    }
    let Some(Ok(written)) = phv.get(marks..).map(Marks::try_from) else { return };
    copied.marks.iter_mut().zip(written).for_each(|(of, written)| *of |= written);
    if is_copy && ones(written) <= MANY {
        groups.always.iter().for_each(|words| copy_blocks(phv, from, words));
        copy_groups(phv, from, groups, written);
    } else {
        copy_all(phv, from, &groups.egress);
    }
    let left = if serial == 0 { copied.marks } else { Marks::default() };
    phv.get_mut(marks..).unwrap_or_default().copy_from_slice(&left);
}

/// Make of a vector another one, or as much of it as anybody may read before it is written: what neither has marks of is
/// blank in both. `whole`: all of that, for when many have marks.
#[inline]
pub(crate) fn restore(phv: &mut Vec<u64>, from: &Vec<u64>, groups: &Groups, whole: &[Range<usize>]) {
    let Some(marks) = groups.marks.filter(|_| phv.len() == from.len()) else { return phv.clone_from(from) };
    if groups.runs.is_empty() {
        return copy_all(phv, from, whole);
    }
    let (Some(old), Some(others)) = (phv.get_mut(marks..), from.get(marks..)) else { return };
    let both = std::array::from_fn(|half| {
        old.get(half).copied().unwrap_or(u64::MAX) | others.get(half).copied().unwrap_or(u64::MAX)
    });
    old.copy_from_slice(others);
    if ones(both) > MANY {
        return copy_all(phv, from, whole);
    }
    groups.always.iter().for_each(|words| copy_blocks(phv, from, words));
    copy_groups(phv, from, groups, both);
}

/// The bits that are set, of all words at once: an x86-64 processor need not have an instruction for it.
#[inline]
fn ones(marks: Marks) -> u32 {
    const EACH: [u64; 3] = [0x5555_5555_5555_5555, 0x3333_3333_3333_3333, 0x0f0f_0f0f_0f0f_0f0f];
    let of_two = |half: u64| half - ((half >> 1) & EACH[0]);
    let of_four = |twos: u64| (twos & EACH[1]) + ((twos >> 2) & EACH[1]);
    let fours: u64 = marks.into_iter().map(|half| of_four(of_two(half))).sum();
    let of_sixteen = (fours & EACH[2]) + ((fours >> 4) & EACH[2]);
    (of_sixteen.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// Copy the groups with marks.
#[inline]
fn copy_groups(phv: &mut [u64], from: &[u64], groups: &Groups, marks: Marks) {
    for (half, mut left) in marks.into_iter().enumerate() {
        while left != 0 {
            let group = half * 64 + left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(words) = groups.runs.get(group) {
                copy_blocks(phv, from, words);
            }
        }
    }
}

#[inline]
fn copy_all(to: &mut [u64], from: &[u64], whole: &[Range<usize>]) {
    for words in whole {
        if let (Some(to), Some(from)) = (to.get_mut(words.clone()), from.get(words.clone())) {
            to.copy_from_slice(from);
        }
    }
}

/// Copy words, and up to a block behind them.
#[inline]
fn copy_blocks(to: &mut [u64], from: &[u64], words: &Range<usize>) {
    let whole = words.start..words.start + words.len().next_multiple_of(BLOCK);
    if let (Some(to), Some(from)) = (to.get_mut(whole.clone()), from.get(whole)) {
        let (to, from) = (to.as_chunks_mut::<BLOCK>().0, from.as_chunks::<BLOCK>().0);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
}

/// For who writes to a vector without marks of what.
#[inline]
pub(crate) fn mark_all(phv: &mut [u64], groups: &Groups) {
    if let Some(marks) = groups.marks.and_then(|marks| phv.get_mut(marks..marks + MARKS)) {
        marks.fill(u64::MAX);
    }
}

/// Where debug assertions are checked: a restored vector is as `from` in the words that may be read, and the rest is made
/// what shows when somebody does read it.
pub(crate) fn poison(phv: &mut [u64], from: &[u64], groups: &Groups, read: &[Range<usize>], poison: u64) {
    let Some(marks) = groups.marks else { return };
    let mut at = 0;
    for words in read.iter().cloned().chain(std::iter::once(marks..marks)) {
        assert_eq!(phv.get(words.clone()), from.get(words.clone()), "one of {words:?} was written without a mark");
        for word in at..words.start {
            set(phv, word as u32, poison);
            let group = groups.of.get(word).map_or(usize::MAX, |&group| usize::from(group));
            if let Some(bits) = phv.get_mut(marks + group / 64).filter(|_| group < groups.runs.len()) {
                *bits |= 1 << (group % 64);
            }
        }
        at = words.end;
    }
}

/// Copy a field between two vectors of the same program.
pub(crate) fn copy_field(to: &mut [u64], from: &[u64], field: &Field) {
    let words = field_words(field);
    if let (Some(to), Some(from)) = (to.get_mut(words.clone()), from.get(words)) {
        to.copy_from_slice(from);
    }
}

/// Back to what metadata is before a packet's first pass.
pub(crate) fn reset_metadata(program: &Program, phv: &mut [u64]) {
    for header in program.headers.iter().filter(|h| h.metadata) {
        clear(header, phv);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bits_are_counted() {
        let patterns = [0, 1, 1 << 63, 0xf0f0_f0f0_f0f0_f0f0, 0x8000_0000_0000_0001, 0x0123_4567_89ab_cdef, u64::MAX];
        for (a, b) in patterns.into_iter().flat_map(|a| patterns.map(|b| (a, b))) {
            assert_eq!(ones([a, b]), a.count_ones() + b.count_ones());
        }
    }

    #[test]
    fn replicas_begin_alike_whatever_the_one_before_has_written() {
        let program = crate::load::from_json(include_str!("../../../../p4src/canopy.json")).unwrap();
        let (live, marks) = (&program.live, program.live.groups.marks.unwrap());
        let groups = &live.groups;
        let write = |phv: &mut Vec<u64>, group: usize, value: u64| {
            phv[groups.runs[group].clone()].fill(value);
            phv[marks + group / 64] |= 1 << (group % 64);
        };
        let same = |a: &[u64], b: &[u64], words: &[Range<usize>]| {
            words.iter().cloned().all(|words| a[words.clone()] == b[words])
        };
        let (mut phv, mut copied) = (program.blank.clone(), Copied::default());
        for serial in [1, 1, 1, 0, 2, 2] {
            let mut flight = program.blank.clone();
            (0..5).for_each(|group| write(&mut flight, 7 * group, serial + 1));
            // Few groups, then more than are looked for.
            for written in [2, 40] {
                copy_of(&mut phv, &flight, serial, groups, &mut copied);
                assert!(same(&phv, &flight, &live.egress), "a copy of {serial}, before {written} groups");
                (0..written).for_each(|group| write(&mut phv, 2 * group + 1, 99));
                groups.always.iter().for_each(|words| phv[words.clone()].fill(98));
            }
        }
        copied.settle(&mut phv, groups);
        restore(&mut phv, &program.blank, groups, &groups.start);
        assert!(same(&phv, &program.blank, &live.start), "a blank one behind copies");
    }
}
