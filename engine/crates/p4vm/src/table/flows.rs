//! What the tables have found for the packets of a flow, side by side: one cache line is waited for, not one a table.
//!
//! A record has a part for each of some tables, with the key that was looked up there last and what it hit. The record
//! of a packet is found by a hash of the header fields that those tables' keys are made of, keyed at random, so that
//! nobody can send packets whose flows drive each other out. The hash only says where to look: what a part says holds if
//! its key is the packet's. A change of any table's entries ends all that is remembered.

use ahash::RandomState;

use super::memo::{generation, hit, word};
use super::{Hit, Index, TableState};
use crate::ir::{Program, Table};
use crate::phv;

/// Words of a record: a cache line. The first is the flow's hash.
const RECORD: usize = 8;
const RECORD_BYTES: usize = 64;

/// Places in which a flow's record may be, one behind the other (ours).
const PLACES: usize = 4;

/// From so many entries on, a table has a part (ours: with fewer, its own look-up waits for no memory). Tests always do.
const MANY: usize = if cfg!(test) { 1 } else { 256 };

/// Records: two for each entry of the largest table, within these bounds: at most, room for some ten thousand flows.
const RECORDS: (usize, usize) = (16, 1 << 15);

/// Instead of a record's place: it has not been looked for.
const UNKNOWN: usize = usize::MAX;

/// A word that is hashed, with random numbers of its own: the products of all are made at once, where a hash of a stream
/// of words would wait for one after the other.
#[derive(Debug, PartialEq)]
struct Keyed {
    word: u32,
    pad: u64,
    factor: u64,
}

#[derive(Debug)]
pub(crate) struct Flows {
    /// The tables that may have parts, once somebody has asked.
    candidates: Option<Vec<u32>>,
    /// For each table, where its part of a record begins; 0: it has none. Empty where fewer than two have one.
    parts: Vec<u8>,
    /// The words of the header vector that tell flows apart.
    fields: Vec<Keyed>,
    /// The records, from `start` on, where a cache line begins.
    words: Vec<u64>,
    start: usize,
    records: usize,
    generation: u16,
    /// Entries have changed.
    changed: bool,
    /// The present packet's record.
    at: usize,
    /// Whether it is known which that is as soon as the packet has been parsed; and the hash that says so.
    early: bool,
    hash: Option<u64>,
    random: RandomState,
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            candidates: None,
            parts: Vec::new(),
            fields: Vec::new(),
            words: Vec::new(),
            start: 0,
            records: RECORDS.0,
            generation: 1,
            changed: true,
            at: UNKNOWN,
            early: false,
            hash: None,
            random: RandomState::new(),
        }
    }
}

impl Flows {
    /// The entries of a table change.
    pub(crate) fn forget(&mut self) {
        self.changed = true;
    }

    /// A packet begins its way through a control.
    #[inline]
    pub(crate) fn begin(&mut self, program: &Program, tables: &[TableState]) {
        self.at = UNKNOWN;
        self.hash = None;
        if self.changed {
            self.arrange(program, tables);
        }
    }

    /// Gives parts to the tables that have many entries by now, and forgets what is remembered.
    #[cold]
    fn arrange(&mut self, program: &Program, tables: &[TableState]) {
        self.changed = false;
        let candidates = self.candidates.get_or_insert_with(|| {
            let plain = program.tables.iter().enumerate().filter(|(_, table)| is_plain(table));
            plain.map(|(number, _)| number as u32).collect()
        });
        let (mut found, mut next, mut most) = (Vec::new(), 1, 0);
        for &number in candidates.iter() {
            let at = number as usize;
            let Some((table, state)) = program.tables.get(at).zip(tables.get(at)) else { continue };
            let end = next + table.layout.words + 1;
            if state.len() >= MANY && end <= RECORD {
                found.push((at, next as u8, table));
                (next, most) = (end, most.max(state.len()));
            }
        }
        let mut parts = Vec::new();
        if found.len() >= 2 {
            parts.resize(tables.len(), 0);
            for &(at, from, _) in &found {
                parts.get_mut(at).into_iter().for_each(|part| *part = from);
            }
        }
        let records = (2 * most).next_power_of_two().clamp(RECORDS.0, RECORDS.1);
        self.generation = self.generation.wrapping_add(1);
        if parts != self.parts || records != self.records || self.generation == 0 {
            let keys = found.iter().flat_map(|(_, _, table)| &table.key);
            let mut fields: Vec<u32> =
                keys.flat_map(|key| phv::value_words(&key.field)).map(|word| word as u32).collect();
            fields.sort_unstable();
            fields.dedup();
            let is_parsed = |&word: &u32| {
                let headers = program.headers.iter().filter(|header| !header.metadata);
                headers.map(phv::header_words).any(|words| words.contains(&(word as usize)))
                    || program.intrinsics.ingress_port.is_some_and(|port| port.word == word)
            };
            self.early = !parts.is_empty() && fields.iter().all(is_parsed);
            self.fields = fields.into_iter().map(|word| self.keyed(word)).collect();
            (self.parts, self.records) = (parts, records);
            self.words = Vec::new();
            self.generation = 1;
        }
    }

    /// A packet has been parsed: where its record begins, if that is known by now.
    #[inline]
    pub(crate) fn expect(&mut self, phv: &[u64]) -> Option<&u64> {
        if !self.early {
            return None;
        }
        let hash = self.hash(phv);
        self.hash = Some(hash);
        self.words.get(self.place(hash, 0))
    }

    /// Of what tells flows apart.
    #[inline]
    fn hash(&self, phv: &[u64]) -> u64 {
        let product = |&Keyed { word, pad, factor }: &Keyed| {
            let wide = u128::from(phv::get(phv, word) ^ pad) * u128::from(factor);
            (wide >> 64) as u64 ^ wide as u64
        };
        self.fields.iter().map(product).fold(0, u64::wrapping_add)
    }

    fn keyed(&self, word: u32) -> Keyed {
        let [pad, factor] = [0, 1].map(|part| self.random.hash_one((word, part)));
        Keyed { word, pad, factor: factor | 1 }
    }

    /// Where a record may begin.
    #[inline]
    fn place(&self, hash: u64, number: usize) -> usize {
        self.start + (((hash >> 1) as usize + number) & (self.records - 1)) * RECORD
    }

    /// What a packet's key hits in a table.
    #[inline]
    pub(crate) fn lookup(&mut self, table: u32, index: &mut Index, key: &[u64], phv: &[u64]) -> Option<Hit> {
        let part = self.parts.get(table as usize).copied().unwrap_or(0);
        if part == 0 {
            return index.lookup(key);
        }
        if self.at == UNKNOWN {
            self.at = self.locate(phv);
        }
        let from = self.at + usize::from(part);
        let known = self.words.get(from..=from + key.len()).and_then(<[u64]>::split_last);
        if let Some((&last, kept)) = known {
            let of_another_time = u64::from(generation(last) ^ self.generation);
            if kept.iter().zip(key).fold(of_another_time, |differs, (kept, word)| differs | (kept ^ word)) == 0 {
                return hit(last);
            }
        }
        let found = index.lookup(key);
        self.put(from, key, found);
        found
    }

    fn put(&mut self, from: usize, key: &[u64], found: Option<Hit>) {
        let Some(word) = word(self.generation, found) else { return };
        if let Some((last, kept)) = self.words.get_mut(from..=from + key.len()).and_then(<[u64]>::split_last_mut) {
            kept.copy_from_slice(key);
            *last = word;
        }
    }

    /// The record of a packet's flow, which is another flow's from now on, if it has none yet.
    fn locate(&mut self, phv: &[u64]) -> usize {
        let hash = self.hash.unwrap_or_else(|| self.hash(phv));
        // 0 says that a record is nobody's.
        let flow = hash | 1;
        for number in 0..PLACES {
            let at = self.place(hash, number);
            match self.words.get(at).copied() {
                Some(there) if there == flow => return at,
                Some(0) => return self.claim(at, flow),
                Some(_) => {}
                None => {
                    self.words = vec![0; self.records * RECORD + RECORD];
                    self.start = (self.words.as_ptr() as usize).wrapping_neg() % RECORD_BYTES / size_of::<u64>();
                    return self.locate(phv);
                }
            }
        }
        let victim = self.place(hash, (hash >> 60) as usize % PLACES);
        self.claim(victim, flow)
    }

    fn claim(&mut self, at: usize, flow: u64) -> usize {
        if let Some((first, rest)) = self.words.get_mut(at..at + RECORD).and_then(<[u64]>::split_first_mut) {
            *first = flow;
            rest.fill(0);
        }
        at
    }
}

/// Whether all of a table's key is in the header vector.
fn is_plain(table: &Table) -> bool {
    !table.key.is_empty() && table.key.iter().all(|field| field.expr.is_none() && !field.field.varbit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ActionCall, EntryTarget, MatchKey, Options, Outputs, Switch};

    const MATCHING: &str = include_str!("../../tests/data/matching.json");
    /// Tables of p4vm's test program with their actions; a packet says in its first octet which is applied.
    const TABLES: [(&str, &str); 3] = [
        ("MatchingIngress.exact_table", "MatchingIngress.answer_and_count"),
        ("MatchingIngress.lpm_table", "MatchingIngress.answer_and_measure"),
        ("MatchingIngress.ternary_table", "MatchingIngress.answer"),
    ];

    #[derive(Debug, Clone)]
    enum Step {
        Add(usize, [u8; 2], u8),
        Delete(usize, [u8; 2], u8),
        Packet(usize, [u8; 2]),
    }

    fn step() -> impl Strategy<Value = Step> {
        // A few values that come again, and some that do not.
        let value = || prop_oneof![4 => 0u8..3, 1 => any::<u8>()];
        let fields = move || (value(), value()).prop_map(|(a, b)| [a, b]);
        prop_oneof![
            1 => (0..TABLES.len(), fields(), 0u8..4).prop_map(|(table, fields, masks)| Step::Add(table, fields, masks)),
            1 => (0..TABLES.len(), fields(), 0u8..4).prop_map(|(table, fields, masks)| Step::Delete(table, fields, masks)),
            8 => (0..TABLES.len(), fields()).prop_map(|(table, fields)| Step::Packet(table, fields)),
        ]
    }

    fn key(table: usize, [a, b]: [u8; 2], masks: u8) -> Vec<MatchKey> {
        let (a, b, c) = (vec![0, 0, 0, a], vec![0, b], vec![0, 0]);
        let mask = |bit: u8, length: usize| vec![if masks >> bit & 1 == 1 { 0xfe } else { 0xff }; length];
        match table {
            0 => vec![MatchKey::Value(a), MatchKey::Value(b), MatchKey::Value(c)],
            1 => vec![MatchKey::Value(b), MatchKey::Prefix(a, 32 - u32::from(masks))],
            _ => vec![MatchKey::Pair(a, mask(0, 4)), MatchKey::Pair(b, mask(1, 2)), MatchKey::Value(c)],
        }
    }

    fn carry_out(switch: &mut Switch, number: u32, step: &Step, remembers: bool) -> (bool, Vec<u8>) {
        match step {
            Step::Add(table, fields, masks) => {
                let (name, action) = TABLES[*table];
                let call = ActionCall { action: action.to_owned(), params: vec![number.to_be_bytes().to_vec()] };
                let key = key(*table, *fields, *masks);
                (switch.table_add(name, &key, number as i32 % 3 + 1, &EntryTarget::Action(call), 0).is_ok(), Vec::new())
            }
            Step::Delete(table, fields, masks) => {
                let deleted = (1..4).any(|priority| {
                    switch.table_delete(TABLES[*table].0, &key(*table, *fields, *masks), priority).is_ok()
                });
                (deleted, Vec::new())
            }
            Step::Packet(table, [a, b]) => {
                if !remembers {
                    switch.flows = Flows { changed: false, ..Flows::default() };
                }
                let (mut frame, mut out) = (vec![0; 29], Outputs::new());
                (frame[0], frame[4], frame[6]) = (*table as u8, *a, *b);
                switch.process(u64::from(number) * 1000, 1, &frame, &mut out);
                (true, out.iter().flat_map(|(_, packet)| packet.to_vec()).collect())
            }
        }
    }

    proptest! {
        #![proptest_config(crate::seeded(100))]

        #[test]
        fn what_is_remembered_is_what_the_tables_find(steps in prop::collection::vec(step(), 1..400)) {
            let program = crate::Program::from_json(MATCHING).unwrap();
            let [mut one, mut other] = [(); 2].map(|()| Switch::new(program.clone(), Options::default()));
            for (number, step) in steps.iter().enumerate() {
                let found = carry_out(&mut one, number as u32, step, true);
                prop_assert_eq!(found, carry_out(&mut other, number as u32, step, false), "step {}", number);
            }
            for (table, _) in TABLES {
                prop_assert_eq!(one.table_entries(table).unwrap(), other.table_entries(table).unwrap());
            }
        }
    }

    #[test]
    fn a_record_is_one_cache_line_and_two_tables_are_worth_one() {
        let program = crate::Program::from_json(MATCHING).unwrap();
        let mut switch = Switch::new(program, Options::default());
        let add = |switch: &mut Switch, table| {
            carry_out(switch, 1, &Step::Add(table, [1, 1], 0), true);
            carry_out(switch, 2, &Step::Packet(table, [1, 1]), true);
        };
        add(&mut switch, 0);
        // The program's own table with entries has a part that does not fit, or has none.
        let before = switch.flows.parts.iter().filter(|part| **part != 0).count();
        add(&mut switch, 1);
        let parts = switch.flows.parts.iter().filter(|part| **part != 0).count();
        assert!(parts >= 2 && parts > before, "{before}, then {parts}");
        let address = switch.flows.words.as_ptr() as usize + switch.flows.start * 8;
        assert_eq!(address % RECORD_BYTES, 0);
    }
}
