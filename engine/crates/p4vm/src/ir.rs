//! The program as it runs: everything resolved to indices at load, nothing looked up by name on a packet's way.

use std::sync::Arc;

use crate::expr::{BoolExpr, Expr};
use crate::externs::hash::Algorithm;
use crate::table::key::KeyLayout;
use crate::MatchKind;

/// Index of a control-flow node, parse state, ...; `END` leaves the control.
pub(crate) type Next = u32;
pub(crate) const END: Next = u32::MAX;

/// A field's place in the packet header vector (see `phv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its first word; of a varbit, the word with its current length in bits, before its value.
    pub word: u32,
    /// Width; of a varbit, the largest.
    pub bits: u32,
    pub signed: bool,
    /// Values beyond the range are clamped, not cut (P4_14).
    pub saturating: bool,
    pub varbit: bool,
}

#[derive(Debug)]
pub(crate) struct Header {
    pub name: String,
    /// First word, which holds the validity; the fields follow.
    pub base: u32,
    /// Words with the validity.
    pub words: u32,
    pub fields: Vec<Field>,
    pub field_names: Vec<String>,
    /// Width without the varbit field.
    pub bits: u32,
    /// Index of the varbit field.
    pub varbit: Option<usize>,
    pub metadata: bool,
    pub union: Option<u32>,
    /// Length of the varbit field, where `extract` does not give it (P4_14).
    pub var_length: Option<Expr>,
    pub max_bytes: u32,
}

#[derive(Debug)]
pub(crate) struct Stack {
    pub headers: Vec<u32>,
    /// The headers of each element, one by one.
    pub elements: Vec<Vec<u32>>,
    /// The word that counts the headers pushed, P4's `nextIndex`.
    pub next: u32,
}

#[derive(Debug)]
pub(crate) struct Union {
    pub headers: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct UnionStack {
    pub unions: Vec<u32>,
    /// The headers of each element.
    pub elements: Vec<Vec<u32>>,
    pub next: u32,
}

/// A header named in an expression or primitive.
#[derive(Debug, Clone)]
pub(crate) enum HeaderRef {
    Header(u32),
    Element { stack: u32, index: Box<Expr> },
    Last(u32),
    Member { union: UnionRef, member: u32 },
    Choose(Box<(BoolExpr, HeaderRef, HeaderRef)>),
}

#[derive(Debug, Clone)]
pub(crate) enum UnionRef {
    Union(u32),
    Element { stack: u32, index: Box<Expr> },
}

/// Where a primitive writes a value.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Field(Field),
    /// Field `index` of a header that is only known when it runs.
    In {
        header: HeaderRef,
        index: u32,
    },
}

/// The arguments of an action call, laid out like fields.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub name: String,
    pub bits: u32,
    pub word: u32,
}

#[derive(Debug)]
pub(crate) struct Action {
    pub name: String,
    pub params: Vec<Param>,
    pub arg_words: u32,
    pub body: Vec<Primitive>,
}

#[derive(Debug)]
pub(crate) enum Primitive {
    /// `phv[word] = value`
    Set {
        word: u32,
        value: u64,
    },
    /// `phv[to] = phv[from] & mask`
    Copy {
        to: u32,
        from: u32,
        mask: u64,
    },
    /// `phv[to] = args[from] & mask`
    Argument {
        to: u32,
        from: u32,
        mask: u64,
    },
    Assign {
        to: Target,
        value: Expr,
    },
    AssignVarbit {
        to: Field,
        from: Field,
    },
    AssignHeader {
        to: HeaderRef,
        from: HeaderRef,
    },
    AssignStack {
        to: u32,
        from: u32,
    },
    AssignUnion {
        to: UnionRef,
        from: UnionRef,
    },
    AssignUnionStack {
        to: u32,
        from: u32,
    },
    AddHeader(HeaderRef),
    RemoveHeader(HeaderRef),
    Push {
        stack: u32,
        count: Expr,
    },
    Pop {
        stack: u32,
        count: Expr,
    },
    PushUnion {
        stack: u32,
        count: Expr,
    },
    PopUnion {
        stack: u32,
        count: Expr,
    },
    MarkToDrop {
        egress_spec: Field,
        mcast_grp: Option<Field>,
    },
    RegisterRead {
        to: Target,
        register: u32,
        index: Expr,
    },
    RegisterWrite {
        register: u32,
        index: Expr,
        value: Expr,
    },
    Count {
        counter: u32,
        index: Expr,
    },
    ExecuteMeter {
        meter: u32,
        index: Expr,
        to: Target,
    },
    Hash {
        to: Target,
        base: Expr,
        calculation: u32,
        size: Expr,
    },
    Random {
        to: Target,
        low: Expr,
        high: Expr,
    },
    Digest(Expr),
    CloneIngress {
        session: Expr,
        fields: Expr,
    },
    CloneEgress {
        session: Expr,
        fields: Expr,
    },
    Resubmit(Expr),
    Recirculate(Expr),
    Truncate(Expr),
    Log {
        format: String,
        values: Vec<Expr>,
    },
    Assert(BoolExpr),
    Exit,
    Jump(u32),
    JumpIfZero {
        condition: Expr,
        to: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Parser {
    pub states: Vec<ParseState>,
    pub start: Next,
}

#[derive(Debug)]
pub(crate) struct ParseState {
    pub ops: Vec<ParserOp>,
    pub key: Vec<SelectKey>,
    pub layout: KeyLayout,
    pub cases: Vec<Case>,
    pub default: Next,
}

#[derive(Debug)]
pub(crate) enum ParserOp {
    Extract(u32),
    ExtractVarbit { header: u32, bits: Expr },
    ExtractNext(u32),
    ExtractNextVarbit { stack: u32, bits: Expr },
    ExtractNextUnion { stack: u32, member: u32, bits: Option<Expr> },
    Set { to: Field, value: Expr },
    SetVarbit { to: Field, from: Field },
    SetLookahead { to: Field, offset: u32, bits: u32 },
    Verify { condition: BoolExpr, error: Expr },
    Primitive(Primitive),
    Advance(Expr),
}

#[derive(Debug)]
pub(crate) enum SelectKey {
    Field(Field),
    /// A field of the last element of a stack.
    Last {
        stack: u32,
        index: u32,
        bits: u32,
    },
    LastUnion {
        stack: u32,
        member: u32,
        index: u32,
        bits: u32,
    },
    Lookahead {
        offset: u32,
        bits: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Case {
    pub when: CaseValue,
    pub next: Next,
}

#[derive(Debug)]
pub(crate) enum CaseValue {
    /// Both laid out as the state's key.
    Masked {
        value: Box<[u64]>,
        mask: Box<[u64]>,
    },
    Set {
        set: u32,
        mask: Option<Box<[u64]>>,
    },
}

#[derive(Debug)]
pub(crate) struct ValueSet {
    pub name: String,
    /// Width of each field and how it lies in the key; empty when no state uses the set.
    pub layout: KeyLayout,
}

#[derive(Debug)]
pub(crate) struct Checksum {
    pub header: u32,
    pub target: Field,
    pub calculation: u32,
    pub condition: Option<BoolExpr>,
    pub update: bool,
    pub verify: bool,
}

#[derive(Debug)]
pub(crate) struct Calculation {
    pub input: Vec<CalculationInput>,
    pub payload: bool,
    pub algorithm: Algorithm,
}

#[derive(Debug)]
pub(crate) enum CalculationInput {
    Field { header: u32, field: Field },
    Constant { words: Box<[u64]>, bits: u32 },
    Header(u32),
}

#[derive(Debug)]
pub(crate) struct Deparser {
    pub order: Vec<u32>,
    pub ops: Vec<Primitive>,
}

/// One step of a control.
#[derive(Debug)]
pub(crate) enum Node {
    If {
        condition: BoolExpr,
        then: Next,
        otherwise: Next,
    },
    Apply(u32),
    /// An action called directly, or p4c's table without a key whose default action is constant.
    Call {
        action: u32,
        args: Box<[u64]>,
        next: Next,
    },
}

#[derive(Debug)]
pub(crate) struct Pipeline {
    pub start: Next,
}

#[derive(Debug)]
pub(crate) struct KeyField {
    pub name: String,
    pub kind: MatchKind,
    pub bits: u32,
    pub field: Field,
    /// Computed instead of read from `field`.
    pub expr: Option<Expr>,
    /// A constant mask put on the field before it is looked up.
    pub mask: Option<Box<[u64]>>,
}

/// How a table finds its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// No key: always a miss.
    None,
    Exact,
    /// One lpm field, all others exact; its index.
    Lpm(u32),
    /// Anything with priorities.
    Ternary,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Index into the table's actions.
    pub slot: u32,
    pub args: Box<[u64]>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub name: Arc<str>,
    pub key: Vec<KeyField>,
    pub layout: KeyLayout,
    pub lookup: Lookup,
    /// Actions with what follows each.
    pub actions: Vec<(u32, Next)>,
    /// What follows a hit and a miss, where the program asks for that and not for the action.
    pub hit_miss: Option<(Next, Next)>,
    /// What follows a miss without a default action.
    pub base_next: Next,
    pub default: Option<Call>,
    /// The default action may not be replaced by another.
    pub const_default_action: bool,
    /// Nor may its arguments.
    pub const_default_entry: bool,
    pub max_size: usize,
    pub counters: bool,
    /// Direct meter and the field that gets the colour.
    pub meter: Option<(u32, Field)>,
    pub timeout: bool,
    pub profile: Option<u32>,
    pub entries: Vec<ConstEntry>,
    pub is_const: bool,
}

/// An entry that the program brings along.
#[derive(Debug, Clone)]
pub(crate) struct ConstEntry {
    pub key: Vec<crate::MatchKey>,
    pub priority: i32,
    pub call: Call,
}

#[derive(Debug)]
pub(crate) struct Profile {
    pub name: String,
    /// The tables' actions, together.
    pub actions: Vec<u32>,
    pub max_size: usize,
    pub selector: Option<Calculation>,
    pub has_selector: bool,
}

#[derive(Debug)]
pub(crate) struct Register {
    pub name: String,
    pub size: usize,
    pub bits: u32,
}

#[derive(Debug)]
pub(crate) struct Counter {
    pub name: String,
    pub size: usize,
}

#[derive(Debug)]
pub(crate) struct Meter {
    pub name: String,
    pub size: usize,
    /// Counts bytes, not packets.
    pub bytes: bool,
    pub direct: bool,
}

#[derive(Debug)]
pub(crate) struct LearnList {
    pub name: Arc<str>,
    pub fields: Vec<Field>,
}

/// Fields that survive resubmission, recirculation and cloning.
#[derive(Debug, Default)]
pub(crate) struct FieldList {
    pub fields: Vec<Field>,
}

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

/// Values of core.p4's errors in this program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CoreErrors {
    pub no_error: u32,
    pub packet_too_short: u32,
    pub stack_out_of_bounds: u32,
    pub header_too_short: u32,
    pub parser_timeout: u32,
    pub parser_invalid_argument: u32,
}

/// A loaded program: immutable, shared between switches.
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
}
