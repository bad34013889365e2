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
pub(crate) use groups::{Groups, Marks, Whole, BLOCK, MARKS};
pub(crate) use headers::*;
pub(crate) use layout::*;
pub(crate) use parser::*;
pub(crate) use sources::Sources;

/// The metadata that the machine itself reads and writes; None where the program does not have it.
#[derive(Debug, Default)]
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
        [
            self.ingress_port,
            self.egress_spec,
            self.egress_port,
            self.instance_type,
            self.packet_length,
            self.parser_error,
            self.checksum_error,
            self.ingress_timestamp,
            self.egress_timestamp,
            self.mcast_grp,
            self.egress_rid,
            self.priority,
            self.enq_timestamp,
            self.enq_qdepth,
            self.deq_timedelta,
            self.deq_qdepth,
            self.qid,
        ]
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
