//! Native code against the interpreter: random expressions, and random packets through the test programs.

use proptest::prelude::*;

use super::Native;
use crate::action;
use crate::expr::tests::{condition, phv, tree, PHV_WORDS, WIDTHS};
use crate::ir::{Action, Args, Expr, Field, Node, Pipeline, Primitive, Program, Target, Value, END};
use crate::load::rewrite;
use crate::machine::{Externs, Machine, PacketState};
use crate::pipeline::Tables;
use crate::value::words_for;
use crate::{ActionCall, Backend, CloneSession, EntryTarget, MatchKey, MatchKind, Options, Outputs, Replica, Switch};

const L2: &str = include_str!("../../tests/data/l2.json");

/// A program that assigns each expression to a field of so many bits of its own, behind the fields that expressions read.
fn assigning(values: &[(Expr, u32)]) -> Program {
    let mut program = std::sync::Arc::try_unwrap(Program::from_json(L2).unwrap()).unwrap();
    let mut word = PHV_WORDS as u32;
    let body = values.iter().map(|(value, bits)| {
        let to = Field { word, bits: *bits, signed: false, saturating: false, varbit: false };
        word += words_for(*bits);
        Primitive::Assign { to: Target::Field(to), value: value.clone() }
    });
    let body = body.collect();
    program.actions = vec![Action { name: "assign".to_owned(), params: Vec::new(), arg_words: 0, body }];
    program.nodes = vec![Node::Call { action: 0, args: Args::from(Box::<[u64]>::default()), next: END }];
    program.ingress = Pipeline { start: 0, is_egress: false };
    program.egress = Pipeline { start: END, is_egress: true };
    program.blank = vec![0; word as usize];
    program
}

/// The header vectors that the interpreter and native code leave.
fn both(program: &Program, before: &[u64]) -> [Vec<u64>; 2] {
    let mut start = program.blank.clone();
    start[..before.len()].copy_from_slice(before);
    let native = Native::compile(program).unwrap();
    [false, true].map(|is_native| {
        let mut phv = start.clone();
        let (mut state, mut externs, mut scratch) = (PacketState::default(), Externs::new(program, 0, 0), Vec::new());
        let mut m = Machine {
            program,
            phv: &mut phv,
            state: &mut state,
            payload: &[],
            externs: &mut externs,
            scratch: &mut scratch,
            now_ns: 0,
        };
        let mut tables = Tables { tables: &mut [], profiles: &[], key: &mut Vec::new() };
        if is_native {
            assert!(native.control(false, &mut m, &mut tables));
        } else {
            action::run(&mut m, &program.actions[0].body, &[]);
        }
        phv
    })
}

proptest! {
    #![proptest_config(crate::seeded(60))]

    #[test]
    fn expressions_are_what_the_interpreter_computes(
        trees in proptest::collection::vec((tree(), prop::sample::select(WIDTHS.to_vec()), prop::bool::ANY), 24),
        conditions in proptest::collection::vec(condition(), 12),
        before in phv(),
    ) {
        let mut values: Vec<(Expr, u32)> = trees
            .into_iter()
            .map(|(tree, bits, cut)| (rewrite::expr(tree, cut.then_some(bits)), bits))
            .collect();
        values.extend(conditions.into_iter().map(|condition| {
            (rewrite::expr(Value::FromBool(Box::new(condition)), None), 8)
        }));
        let program = assigning(&values);
        let [interpreted, native] = both(&program, &before);
        let mut word = PHV_WORDS;
        for (value, bits) in &values {
            let words = word..word + words_for(*bits) as usize;
            prop_assert_eq!(&interpreted[words.clone()], &native[words.clone()], "{} bits of {:?}", bits, value);
            word = words.end;
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }

    /// Small numbers in all octets but a few.
    fn packet(&mut self) -> Vec<u8> {
        let length = self.below(120);
        (0..length).map(|_| if self.below(8) == 0 { self.below(256) } else { self.below(20) } as u8).collect()
    }
}

/// Entries of small numbers in all tables.
fn fill(switch: &mut Switch, random: &mut Random) {
    for name in switch.tables() {
        let info = switch.table_info(&name).unwrap();
        for priority in 1..12 {
            let Some(action) = info.actions.get(random.below(info.actions.len() as u64) as usize) else { continue };
            let params = action.params.iter().map(|_| vec![random.below(2) as u8]).collect();
            let call = ActionCall { action: action.name.clone(), params };
            let key: Vec<MatchKey> = info
                .key
                .iter()
                .map(|field| {
                    let value = vec![random.below(if field.bits == 1 { 2 } else { 20 }) as u8];
                    match field.kind {
                        MatchKind::Exact | MatchKind::Valid | MatchKind::Optional => MatchKey::Value(value),
                        MatchKind::Lpm => MatchKey::Prefix(value, field.bits - random.below(4) as u32),
                        MatchKind::Ternary => MatchKey::Pair(value, vec![0x0f]),
                        MatchKind::Range => MatchKey::Pair(vec![0], value),
                    }
                })
                .collect();
            let _ = switch.table_add(&name, &key, priority, &EntryTarget::Action(call.clone()), 0);
            let _ = switch.table_set_default(&name, &call);
        }
    }
    let replicas: Vec<Replica> = (1..4).map(|port| Replica { port, instance: port }).collect();
    for group in 1..20 {
        switch.mcast_group_add(group, &replicas[..group as usize % 4]).unwrap();
        let session = CloneSession { replicas: replicas[..1].to_vec(), ..CloneSession::default() };
        switch.clone_session_set(u32::from(group), &session).unwrap();
    }
}

#[test]
fn packets_go_the_same_way_in_both() {
    let programs = [
        L2,
        include_str!("../../tests/data/commands.json"),
        include_str!("../../tests/data/matching.json"),
        include_str!("../../tests/data/parsing.json"),
        include_str!("../../tests/data/checksums.json"),
        include_str!("../../../../../p4src/canopy.json"),
    ];
    for program in programs.map(|text| crate::Program::from_json(text).unwrap()) {
        let mut switches = [Backend::Native, Backend::Interpreter].map(|backend| {
            let options = Options { backend, max_log: 10_000, max_passes: 5, ..Options::default() };
            let mut switch = Switch::new(program.clone(), options);
            assert_eq!(switch.backend(), (backend, None));
            fill(&mut switch, &mut Random(1));
            switch
        });
        let mut random = Random(2);
        for number in 0..2000 {
            let (packet, port) = (random.packet(), random.below(4) as u16);
            let [native, interpreted] = switches.each_mut().map(|switch| {
                let mut out = Outputs::new();
                switch.process(number * 1000, port, &packet, &mut out);
                let out: Vec<(u16, Vec<u8>)> = out.iter().map(|(port, packet)| (port, packet.to_vec())).collect();
                (out, switch.take_events(usize::MAX))
            });
            assert_eq!(native, interpreted, "packet {number} to port {port}: {packet:02x?}");
        }
        let [native, interpreted] = &mut switches;
        assert_eq!(native.stats(), interpreted.stats());
        assert_eq!(native.take_log(), interpreted.take_log());
        for counter in native.counters() {
            assert_eq!(native.counter_read_all(&counter), interpreted.counter_read_all(&counter), "{counter}");
        }
        for table in native.tables() {
            assert_eq!(native.table_entries(&table), interpreted.table_entries(&table), "{table}");
        }
        for register in native.registers() {
            assert_eq!(native.register_cells(&register), interpreted.register_cells(&register), "{register}");
        }
    }
}

#[test]
fn our_program_is_native_throughout() {
    let program = Program::from_json(include_str!("../../../../../p4src/canopy.json")).unwrap();
    let native = program.native().unwrap();
    println!("{native:?}");
    assert!(native.left < 30, "{native:?}");
}
