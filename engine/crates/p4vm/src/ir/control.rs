//! Controls: tables, conditionals, and the arrays that actions use.

use std::sync::Arc;

use super::{Args, BoolExpr, Calculation, Expr, Field, KeyLayout};
use crate::MatchKind;

/// Index of a control-flow node, parse state, ...; `END` leaves the control.
pub(crate) type Next = u32;
pub(crate) const END: Next = u32::MAX;

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
        args: Args,
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

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    /// Index into the table's actions.
    pub slot: u32,
    pub args: Args,
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
