//! Every index against a plain scan over all entries.

use proptest::prelude::*;

use super::key::EntryKey;
use super::{Hit, Index};
use crate::ir::{Field, KeyField, KeyLayout, Lookup};
use crate::{MatchKey, MatchKind};

/// Few bits that differ, so that entries overlap and packets hit.
const BITS: [u32; 3] = [9, 70, 16];

fn fields(kinds: [MatchKind; 3]) -> Vec<KeyField> {
    let field = |(kind, bits): (MatchKind, u32)| KeyField {
        name: String::new(),
        kind,
        bits,
        field: Field::plain(0, bits),
        expr: None,
        mask: None,
    };
    kinds.into_iter().zip(BITS).map(field).collect()
}

/// A number of up to 70 bits whose lowest and highest bits vary.
fn number(bits: u32) -> impl Strategy<Value = u128> {
    (0u128..4, 0u128..4).prop_map(move |(low, high)| low | high << (bits - 2))
}

fn bytes(value: u128, bits: u32) -> Vec<u8> {
    value.to_be_bytes()[16 - bits.div_ceil(8) as usize..].to_vec()
}

#[derive(Debug, Clone)]
struct Model {
    low: u128,
    high: u128,
    mask: u128,
    prefix: u32,
    key: MatchKey,
}

fn key(kind: MatchKind, bits: u32) -> BoxedStrategy<Model> {
    let full = (1u128 << bits) - 1;
    let exact = move |value: u128| Model {
        low: value,
        high: value,
        mask: full,
        prefix: bits,
        key: MatchKey::Value(bytes(value, bits)),
    };
    let masked =
        move |value: u128, mask: u128, prefix, key| Model { low: value & mask, high: value & mask, mask, prefix, key };
    match kind {
        MatchKind::Exact | MatchKind::Valid => number(bits).prop_map(exact).boxed(),
        MatchKind::Optional => (number(bits), prop::bool::ANY)
            .prop_map(move |(v, any)| if any { masked(0, 0, 0, MatchKey::Any) } else { exact(v) })
            .boxed(),
        MatchKind::Lpm => (number(bits), prop::sample::select(vec![0, 1, 2, bits - 2, bits - 1, bits]))
            .prop_map(move |(v, length)| {
                let mask = full & !(full >> length);
                masked(v, mask, length, MatchKey::Prefix(bytes(v, bits), length))
            })
            .boxed(),
        MatchKind::Ternary => (number(bits), number(bits))
            .prop_map(move |(v, mask)| masked(v, mask, 0, MatchKey::Pair(bytes(v, bits), bytes(mask, bits))))
            .boxed(),
        MatchKind::Range => (number(bits), number(bits))
            .prop_map(move |(a, b)| {
                let (low, high) = (a.min(b), a.max(b));
                let key = MatchKey::Pair(bytes(low, bits), bytes(high, bits));
                Model { low, high, mask: full, prefix: 0, key }
            })
            .boxed(),
    }
}

impl Model {
    fn matches(&self, value: u128) -> bool {
        (self.low..=self.high).contains(&(value & self.mask))
    }
}

#[derive(Debug, Clone)]
enum Step {
    Add(Box<[Model; 3]>, i32),
    /// The entry at this place among those that are there.
    Remove(usize),
    /// The same, which runs something else from now on.
    Redirect(usize),
    Look([u128; 3]),
}

fn steps(kinds: [MatchKind; 3]) -> impl Strategy<Value = Vec<Step>> {
    let keys = [key(kinds[0], BITS[0]), key(kinds[1], BITS[1]), key(kinds[2], BITS[2])];
    let values = [number(BITS[0]).boxed(), number(BITS[1]).boxed(), number(BITS[2]).boxed()];
    let step = prop_oneof![
        3 => (keys, 0i32..4).prop_map(|(keys, priority)| Step::Add(Box::new(keys), priority)),
        1 => any::<prop::sample::Index>().prop_map(|at| Step::Remove(at.index(1 << 16))),
        1 => any::<prop::sample::Index>().prop_map(|at| Step::Redirect(at.index(1 << 16))),
        4 => values.prop_map(Step::Look),
    ];
    proptest::collection::vec(step, 1..80)
}

struct Entry {
    models: [Model; 3],
    key: EntryKey,
    priority: i32,
    id: u32,
    call: u32,
}

/// Run steps on an index and on a list that is scanned.
fn check(lookup: Lookup, kinds: [MatchKind; 3], steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (fields, layout) = (fields(kinds), KeyLayout::new(BITS));
    let mut index = Index::new(lookup, &layout);
    let (mut entries, mut next_id) = (Vec::<Entry>::new(), 0);
    // After each step what was looked up last is looked up again: it may have changed, and is remembered.
    let mut last = None;
    let steps = steps.into_iter().flat_map(|step| {
        if let Step::Look(values) = &step {
            last = Some(*values);
        }
        std::iter::once(step).chain(last.map(Step::Look))
    });
    for step in steps {
        match step {
            Step::Add(models, priority) => {
                let priority = if lookup == Lookup::Ternary { priority } else { 0 };
                let keys: Vec<_> = models.iter().map(|model| model.key.clone()).collect();
                let (key, _) = EntryKey::new(&fields, &layout, &keys).unwrap();
                let there = entries.iter().find(|entry| entry.key == key && entry.priority == priority);
                prop_assert_eq!(index.find(&key, priority), there.map(|entry| entry.id));
                if there.is_none() {
                    index.insert(key.clone(), priority, Hit { entry: next_id, call: next_id + 1 });
                    entries.push(Entry { models: *models, key, priority, id: next_id, call: next_id + 1 });
                    next_id += 1;
                }
            }
            Step::Remove(at) if !entries.is_empty() => {
                let gone = entries.remove(at % entries.len());
                index.remove(&gone.key, gone.priority);
                prop_assert_eq!(index.find(&gone.key, gone.priority), None);
            }
            Step::Redirect(at) if !entries.is_empty() => {
                let at = at % entries.len();
                entries[at].call += 1000;
                index.runs(&entries[at].key, Hit { entry: entries[at].id, call: entries[at].call });
            }
            Step::Remove(_) | Step::Redirect(_) => {}
            Step::Look(values) => {
                let mut packet = vec![0; layout.words];
                for (i, &value) in values.iter().enumerate() {
                    layout.put(
                        i,
                        &[value as u64, (value >> 64) as u64][..crate::value::words_for(BITS[i]) as usize],
                        &mut packet,
                    );
                }
                let hits = entries.iter().filter(|e| e.models.iter().zip(values).all(|(m, v)| m.matches(v)));
                // The longest prefix or the largest priority; the oldest among equals.
                let rank = |e: &&Entry| {
                    let length = if let Lookup::Lpm(field) = lookup { e.models[field as usize].prefix } else { 0 };
                    (length, e.priority, std::cmp::Reverse(e.id))
                };
                let wanted = hits.max_by_key(rank).map(|e| Hit { entry: e.id, call: e.call });
                prop_assert_eq!(index.lookup(&packet), wanted);
            }
        }
    }
    Ok(())
}

use MatchKind::{Exact, Lpm, Optional, Range, Ternary};

proptest! {
    #![proptest_config(crate::seeded(200))]

    #[test]
    fn exact(steps in steps([Exact, Exact, Exact])) {
        check(Lookup::Exact, [Exact, Exact, Exact], steps)?;
    }

    #[test]
    fn lpm(steps in steps([Exact, Lpm, Exact])) {
        check(Lookup::Lpm(1), [Exact, Lpm, Exact], steps)?;
    }

    #[test]
    fn ternary(steps in steps([Ternary, Ternary, Exact])) {
        check(Lookup::Ternary, [Ternary, Ternary, Exact], steps)?;
    }

    #[test]
    fn ternary_with_prefixes_and_optionals(steps in steps([Optional, Ternary, Lpm])) {
        check(Lookup::Ternary, [Optional, Ternary, Lpm], steps)?;
    }

    #[test]
    fn ranges(steps in steps([Range, Range, Ternary])) {
        check(Lookup::Ternary, [Range, Range, Ternary], steps)?;
    }
}

#[test]
fn keys_are_packed_without_crossing_words() {
    let layout = KeyLayout::new([32, 16, 9, 8, 128, 60, 4]);
    let places: Vec<_> = layout.parts.iter().map(|part| (part.word, part.shift)).collect();
    assert_eq!(places, [(0, 0), (0, 32), (0, 48), (1, 0), (2, 0), (4, 0), (4, 60)]);
    assert_eq!(layout.words, 5);
    assert_eq!(KeyLayout::new([]).words, 0);
}
