//! Nothing that comes in brings the switch down: random packets, damaged programs, absurd control operations.

use std::sync::Arc;

use p4vm::{
    ActionCall, CloneSession, EntryTarget, LoadError, MatchKey, MatchKind, Options, Outputs, Program, Replica, Switch,
};
use serde_json::Value;

pub(crate) const PROGRAMS: [(&str, &str); 6] = [
    ("l2", include_str!("../data/l2.json")),
    ("commands", include_str!("../data/commands.json")),
    ("matching", include_str!("../data/matching.json")),
    ("parsing", include_str!("../data/parsing.json")),
    ("checksums", include_str!("../data/checksums.json")),
    ("canopy", include_str!("../../../../../p4src/canopy.json")),
];

/// SplitMix64: as random as needed here, and the same each time.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

/// How much longer than usual to try: `P4VM_ROUNDS=100 cargo test --release`.
pub(crate) fn rounds() -> usize {
    std::env::var("P4VM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

pub(crate) fn options() -> Options {
    Options { cpu_port: Some(510), max_passes: 50, max_events: 100, max_log: 10, ..crate::options() }
}

/// Packets of every length, some of zeros and ones, some that look like IPv4.
pub(crate) fn packet(random: &mut Random) -> Vec<u8> {
    let len = match random.below(4) {
        0 => random.below(8),
        1 => random.below(1600),
        _ => random.below(100),
    };
    let mut packet = match random.below(4) {
        0 => vec![0; len],
        1 => vec![0xff; len],
        _ => random.bytes(len),
    };
    if random.below(2) == 0 {
        let protocol = random.pick(&[2, 17, 6]).copied().unwrap_or(2);
        let start = [1, 0, 0x5e, 1, 1, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x46, 0, 0, 40, 0, 0, 0, 0, 64, protocol];
        for (to, from) in packet.iter_mut().zip(start) {
            *to = from;
        }
    } else if let Some(first) = packet.first_mut() {
        // Opcodes and kinds of the test programs are small.
        *first %= 19;
    }
    packet
}

fn send(switch: &mut Switch, random: &mut Random, count: usize) {
    let mut out = Outputs::new();
    for i in 0..count {
        out.clear();
        let port = if random.below(8) == 0 { 510 } else { random.below(16) as u16 };
        switch.process(i as u64 * 50_000_000, port, &packet(random), &mut out);
        assert!(out.iter().all(|(_, packet)| packet.len() <= 70_000));
    }
    switch.take_events(usize::MAX);
    switch.take_log();
}

/// Entries, groups, sessions and members at random: what is refused is refused, what is accepted must work.
pub(crate) fn configure(switch: &mut Switch, random: &mut Random) {
    for table in switch.tables() {
        let info = switch.table_info(&table).unwrap();
        if let Some(profile) = &info.profile {
            let call = random_call(random, &info.actions);
            let _ = switch.member_add(profile, random.below(4) as u32, &call);
            let _ = switch.group_set(profile, 1, &[(random.below(4) as u32, 2)].into(), 0);
        }
        for _ in 0..3 {
            let key: Vec<MatchKey> = info.key.iter().map(|field| random_key(random, field.kind, field.bits)).collect();
            let target = match random.below(if info.profile.is_some() { 3 } else { 1 }) {
                1 => EntryTarget::Member(random.below(4) as u32),
                2 => EntryTarget::Group(1),
                _ => EntryTarget::Action(random_call(random, &info.actions)),
            };
            let priority = random.next() as i32;
            if switch.table_add(&table, &key, priority, &target, 0).is_ok() {
                let read = switch.table_get(&table, &key, priority).unwrap();
                assert_eq!(switch.table_get(&table, &read.key, read.priority), Ok(read));
                if random.below(4) == 0 {
                    switch.table_delete(&table, &key, priority).unwrap();
                }
            }
        }
        let _ = switch.table_set_default(&table, &random_call(random, &info.actions));
    }
    let replicas: Vec<Replica> = (0..3).map(|i| Replica { port: random.below(16) as u16, instance: i }).collect();
    for id in 0..4u16 {
        let _ = switch.mcast_group_add(id, &replicas);
        let session = CloneSession {
            replicas: replicas.clone(),
            packet_length: random.below(40) as u32,
            ..CloneSession::default()
        };
        switch.clone_session_set(u32::from(id), &session).unwrap();
    }
    for set in switch.value_sets() {
        let members = [vec![MatchKey::Value(random.bytes(1))], vec![MatchKey::Any]];
        let _ = switch.value_set_write(&set, &members);
    }
}

fn random_call(random: &mut Random, actions: &[p4vm::ActionInfo]) -> ActionCall {
    let Some(action) = random.pick(actions) else { return ActionCall { action: String::new(), params: Vec::new() } };
    let params = action.params.iter().map(|(_, bits)| small(random, *bits)).collect();
    ActionCall { action: action.name.clone(), params }
}

/// A number that fits, most often a small one.
fn small(random: &mut Random, bits: u32) -> Vec<u8> {
    let mut bytes = random.bytes(bits.div_ceil(8) as usize);
    if let Some(first) = bytes.first_mut().filter(|_| !bits.is_multiple_of(8)) {
        *first &= (1 << (bits % 8)) - 1;
    }
    if random.below(3) > 0 && bits >= 8 {
        vec![bytes.last().copied().unwrap_or(0) % 16]
    } else {
        bytes
    }
}

fn random_key(random: &mut Random, kind: MatchKind, bits: u32) -> MatchKey {
    match kind {
        MatchKind::Exact | MatchKind::Valid => MatchKey::Value(small(random, bits)),
        MatchKind::Lpm => MatchKey::Prefix(small(random, bits), random.below(bits as usize + 1) as u32),
        MatchKind::Ternary | MatchKind::Range => MatchKey::Pair(small(random, bits), small(random, bits)),
        MatchKind::Optional => MatchKey::Any,
    }
}

#[test]
fn random_packets_are_survived() {
    for (i, (name, json)) in PROGRAMS.into_iter().enumerate() {
        let program = Program::from_json(json).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut random = Random(i as u64);
        for _ in 0..4 * rounds() {
            let mut switch = Switch::new(Arc::clone(&program), options());
            configure(&mut switch, &mut random);
            send(&mut switch, &mut random, 250);
        }
    }
}

#[test]
fn the_same_packets_give_the_same_answers() {
    for (_, json) in PROGRAMS {
        let program = Program::from_json(json).unwrap();
        let run = || {
            let (mut switch, mut random) = (Switch::new(Arc::clone(&program), options()), Random(42));
            configure(&mut switch, &mut random);
            let mut out = Outputs::new();
            for i in 0..200 {
                switch.process(i * 1000, 1, &packet(&mut random), &mut out);
            }
            (out.iter().map(|(port, packet)| (port, packet.to_vec())).collect::<Vec<_>>(), switch.stats())
        };
        assert_eq!(run(), run());
    }
}

/// Replace, remove or repeat something somewhere in a document.
pub(crate) fn damage(value: &mut Value, random: &mut Random) {
    let children = match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => 0,
    };
    if children == 0 || random.below(12) == 0 {
        return replace(value, random);
    }
    let at = random.below(children);
    match value {
        Value::Array(list) => match random.below(10) {
            0 => drop(list.remove(at)),
            1 => list.push(list[at].clone()),
            2 => list.swap(at, 0),
            _ => damage(&mut list[at], random),
        },
        Value::Object(map) => {
            let key = map.keys().nth(at).cloned().unwrap_or_default();
            if random.below(10) == 0 {
                map.remove(&key);
            } else if let Some(child) = map.get_mut(&key) {
                damage(child, random);
            }
        }
        _ => {}
    }
}

fn replace(value: &mut Value, random: &mut Random) {
    *value = match (random.below(10), &*value) {
        (0, _) => Value::Null,
        (1, _) => Value::from(random.below(4)),
        (2, _) => Value::from(-1),
        (3, _) => Value::from(u64::MAX),
        (4, _) => Value::from("default"),
        (5, _) => Value::from("0xffffffffffffffffffffffffffffffffffffff"),
        (6, _) => Value::Array(Vec::new()),
        (7, Value::Number(number)) => Value::from(number.as_u64().unwrap_or(1).wrapping_mul(1_000_003)),
        (8, Value::String(text)) => Value::from(text.chars().rev().collect::<String>()),
        (_, Value::Number(number)) => Value::from(number.as_i64().unwrap_or(0).wrapping_add(1)),
        (_, Value::Bool(flag)) => Value::from(!flag),
        (_, Value::String(text)) => Value::from(format!("{text}x")),
        _ => Value::from(true),
    };
}

#[test]
fn damaged_programs_are_refused_or_run() {
    let (mut refused, mut ran) = (0, 0);
    for (i, (name, json)) in PROGRAMS.into_iter().enumerate() {
        let document: Value = serde_json::from_str(json).unwrap();
        let mut random = Random(1000 + i as u64);
        for _ in 0..rounds() * if name == "canopy" { 10 } else { 150 } {
            let mut damaged = document.clone();
            for _ in 0..=random.below(3) {
                damage(&mut damaged, &mut random);
            }
            match Program::from_json(&damaged.to_string()) {
                Err(LoadError { message, .. }) => {
                    assert!(!message.is_empty());
                    refused += 1;
                }
                Ok(program) => {
                    let mut switch = Switch::new(program, options());
                    configure(&mut switch, &mut random);
                    send(&mut switch, &mut random, 20);
                    ran += 1;
                }
            }
        }
    }
    assert!(refused > 100 && ran > 100, "{refused} refused, {ran} ran");
}

#[test]
fn damaged_text_is_refused() {
    let (_, json) = PROGRAMS[1];
    let mut random = Random(5);
    for _ in 0..100 {
        let end = random.below(json.len());
        assert!(Program::from_json(json.get(..end).unwrap_or_default()).is_err());
    }
    for text in ["", "[]", "null", "{}", "{\"pipelines\": []}", "{\"__meta__\": {\"version\": [3, 0]}}"] {
        assert!(Program::from_json(text).is_err(), "{text}");
    }
}

/// The error for a document in which the value at `pointer` is replaced.
fn error_at(json: &str, pointer: &str, value: Value) -> LoadError {
    let mut document: Value = serde_json::from_str(json).unwrap();
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
    Program::from_json(&document.to_string()).unwrap_err()
}

#[test]
fn errors_name_the_place() {
    let (_, json) = PROGRAMS[0];
    let error = error_at(json, "/actions/0/primitives/0/op", "fly".into());
    assert_eq!(error.to_string(), "actions[0].primitives[0].op: unknown primitive fly");
    let error = error_at(json, "/actions/0/primitives/0/parameters", Value::Array(Vec::new()));
    assert_eq!(error.to_string(), "actions[0].primitives[0].parameters: assign has 2 parameters");
    let error = error_at(json, "/pipelines/0/tables/1/key/0/target/1", "nothing".into());
    assert!(error.path.starts_with("pipelines[0].tables[1].key[0].target[1]"), "{error}");
    let error = error_at(json, "/header_types/0/fields", 7.into());
    assert_eq!(error.to_string(), "header_types[0].fields: not an array");
}

#[test]
fn hostile_programs_cannot_exhaust_memory_or_time() {
    let (_, json) = PROGRAMS[1];
    let error = error_at(json, "/register_arrays/0/size", 4_000_000_000u64.into());
    assert!(error.message.contains("MB"), "{error}");
    let error = error_at(json, "/counter_arrays/0/size", u64::MAX.into());
    assert!(error.message.contains("more than"), "{error}");
    let error = error_at(json, "/header_types/0/fields/0/1", 100_000.into());
    assert!(error.message.contains("more than"), "{error}");
    // A control that leads back to its beginning.
    let document: Value = serde_json::from_str(json).unwrap();
    let first = document.pointer("/pipelines/0/init_table").unwrap().clone();
    let error = error_at(json, "/pipelines/0/conditionals/1/true_next", first);
    assert!(error.message.contains("cycle"), "{error}");
    // An action that jumps back.
    let mut document = document.clone();
    let jump = serde_json::json!({"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x0"}]});
    document.pointer_mut("/actions/0/primitives").unwrap().as_array_mut().unwrap().push(jump);
    let error = Program::from_json(&document.to_string()).unwrap_err();
    assert!(error.message.contains("forward"), "{error}");
    // An expression as deep as the JSON may be: the stack holds it, in the widest arithmetic too.
    let mut document: Value = serde_json::from_str(PROGRAMS[2].1).unwrap();
    let wide = serde_json::json!({"type": "field", "value": ["key", "wide"]});
    let sum = (0..120).fold(
        wide.clone(),
        |left, _| serde_json::json!({"type": "expression", "value": {"op": "*", "left": left, "right": wide}}),
    );
    let assignment = serde_json::json!({"op": "assign", "parameters": [wide, sum]});
    for action in document.pointer_mut("/actions").unwrap().as_array_mut().unwrap() {
        action.as_object_mut().unwrap().insert("primitives".into(), Value::Array(vec![assignment.clone()]));
    }
    let mut switch = Switch::new(Program::from_json(&document.to_string()).unwrap(), options());
    configure(&mut switch, &mut Random(1));
    send(&mut switch, &mut Random(2), 50);
    let deep = format!("{}{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    assert!(Program::from_json(&deep).unwrap_err().message.contains("deep"));
}
