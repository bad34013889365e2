//! The program as it runs: everything resolved to indices at load, nothing looked up by name on a packet's way.

use std::ops::Range;

mod action;
mod args;
mod calculation;
mod control;
mod expr;
mod field;
mod groups;
mod headers;
mod layout;
mod parser;
mod sources;

pub(crate) use action::*;
pub(crate) use args::Args;
pub(crate) use calculation::*;
pub(crate) use control::*;
pub(crate) use expr::*;
pub(crate) use field::*;
pub(crate) use groups::{Groups, Marks, BLOCK, MARKS};
pub(crate) use headers::*;
pub(crate) use layout::*;
pub(crate) use parser::*;
pub(crate) use sources::Sources;

/// The metadata that the machine itself reads and writes; None where the program does not have it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Intrinsics {
    pub ingress_port: Option<Field>,
    pub egress_spec: Option<Field>,
    pub egress_port: Option<Field>,
    pub instance_type: Option<Field>,
    pub packet_length: Option<Field>,
    pub parser_error: Option<Field>,
    pub checksum_error: Option<Field>,
    pub ingress_timestamp: Option<Field>,
    pub egress_timestamp: Option<Field>,
    pub mcast_grp: Option<Field>,
    pub egress_rid: Option<Field>,
    pub priority: Option<Field>,
    pub enq_timestamp: Option<Field>,
    pub enq_qdepth: Option<Field>,
    pub deq_timedelta: Option<Field>,
    pub deq_qdepth: Option<Field>,
    pub qid: Option<Field>,
}

impl Intrinsics {
    pub(crate) fn all(&self) -> [Option<Field>; 17] {
        self.clone().each().map(|field| *field)
    }

    fn each(&mut self) -> [&mut Option<Field>; 17] {
        [
            &mut self.ingress_port,
            &mut self.egress_spec,
            &mut self.egress_port,
            &mut self.instance_type,
            &mut self.packet_length,
            &mut self.parser_error,
            &mut self.checksum_error,
            &mut self.ingress_timestamp,
            &mut self.egress_timestamp,
            &mut self.mcast_grp,
            &mut self.egress_rid,
            &mut self.priority,
            &mut self.enq_timestamp,
            &mut self.enq_qdepth,
            &mut self.deq_timedelta,
            &mut self.deq_qdepth,
            &mut self.qid,
        ]
    }

    /// Those that the machine reads itself.
    pub(crate) fn own(&self) -> [Option<Field>; 4] {
        [self.egress_spec, self.mcast_grp, self.egress_rid, self.priority]
    }

    /// Those of some words.
    pub(crate) fn only(mut self, is_meant: impl Fn(usize) -> bool) -> Self {
        for field in self.each() {
            *field = field.filter(|field| is_meant(field.word as usize));
        }
        self
    }
}

/// Words of the header vector that may be read before they are written.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// From a packet's arrival on.
    pub start: Vec<Range<usize>>,
    /// From the start of egress on.
    pub egress: Vec<Range<usize>>,
    /// All of those, by who writes them.
    pub groups: Groups,
    /// What the machine writes for somebody to read.
    pub told: Intrinsics,
}

/// What the JSON says, resolved; immutable.
#[derive(Debug)]
pub struct Program {
    pub(crate) headers: Vec<Header>,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) unions: Vec<Union>,
    pub(crate) union_stacks: Vec<UnionStack>,
    /// The header vector of a packet that has not been parsed.
    pub(crate) blank: Vec<u64>,
    pub(crate) parser: Parser,
    pub(crate) value_sets: Vec<ValueSet>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) ingress: Pipeline,
    pub(crate) egress: Pipeline,
    pub(crate) deparser: Deparser,
    pub(crate) checksums: Vec<Checksum>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) actions: Vec<Action>,
    pub(crate) tables: Vec<Table>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) registers: Vec<Register>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) meters: Vec<Meter>,
    /// By the id that primitives use.
    pub(crate) learn_lists: Vec<Option<LearnList>>,
    pub(crate) field_lists: Vec<Option<FieldList>>,
    pub(crate) intrinsics: Intrinsics,
    pub(crate) errors: CoreErrors,
    pub(crate) sources: Sources,
    pub(crate) live: Live,
}
