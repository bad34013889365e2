//! Native code against the interpreter: random expressions. Packets are in `tests/native`.

use proptest::prelude::*;

use super::Native;
use crate::action;
use crate::expr::tests::{condition, phv, tree, PHV_WORDS, WIDTHS};
use crate::ir::{Action, Args, Expr, Field, Live, Node, Pipeline, Primitive, Program, Target, Value, END};
use crate::load::{self, rewrite};
use crate::machine::{Externs, Machine, PacketState};
use crate::pipeline::Tables;
use crate::table::Flows;
use crate::value::words_for;

const L2: &str = include_str!("../../tests/data/l2.json");

/// A program that assigns each expression to a field of so many bits of its own, behind the fields that expressions read.
fn assigning(values: &[(Expr, u32)]) -> Program {
    let mut program = load::from_json(L2).unwrap();
    let mut word = PHV_WORDS as u32;
    let body = values.iter().map(|(value, bits)| {
        let to = Field::plain(word, *bits);
        word += words_for(*bits);
        Primitive::Assign { to: Target::Field(to), value: value.clone() }
    });
    let body = body.collect();
    program.actions = vec![Action { name: "assign".to_owned(), params: Vec::new(), arg_words: 0, body }];
    program.nodes = vec![Node::Call { action: 0, args: Args::from(Box::<[u64]>::default()), next: END }];
    program.ingress = Pipeline { start: 0 };
    program.egress = Pipeline { start: END };
    (program.blank, program.live) = (vec![0; word as usize], Live::default());
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
        let mut tables = Tables { tables: &mut [], profiles: &[], flows: &mut Flows::default(), key: &mut Vec::new() };
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

#[test]
fn our_program_is_native_throughout() {
    let program = load::from_json(include_str!("../../../../../p4src/canopy.json")).unwrap();
    let native = Native::compile(&program).unwrap();
    println!("{native:?}");
    // Most of them are words wider than what is put together in line: what NACKs have asked for.
    assert!(native.left < 70, "{native:?}");
}

#[test]
fn what_a_wide_signed_field_cannot_hold_is_clamped() {
    let cut = |value: i64, bits| Value::SatCast(Box::new(Value::Const(value)), bits);
    let values = [(-1 << 33, 63), (-1 << 33, 40), (-1 << 50, 40), (1 << 50, 40), (i64::MIN, 63), (i64::MAX, 63)];
    let values = values.map(|(value, bits)| (rewrite::expr(cut(value, bits), None), 64));
    let [interpreted, native] = both(&assigning(&values), &[]);
    assert_eq!(interpreted, native);
}
