//! What the walk tells whoever watches it.

use crate::action;
use crate::ir::{Next, Table};
use crate::machine::Machine;

/// Called at each step of a packet's way. The methods change nothing but what they are told to run.
pub(crate) trait Observer {
    /// The parser enters a state.
    fn state(&mut self, _m: &Machine<'_>, _state: Next) {}

    /// The parser is done with a state's statements.
    fn extracted(&mut self, _m: &Machine<'_>) {}

    /// The parser has ended, with this error of core.p4.
    fn parsed(&mut self, _m: &Machine<'_>, _error: u32) {}

    /// A control begins.
    fn pipeline(&mut self, _m: &Machine<'_>, _name: &str) {}

    /// A condition was evaluated.
    fn condition(&mut self, _m: &Machine<'_>, _node: Next, _result: bool) {}

    /// A table was looked up: its packed key, and the entry that was hit.
    fn table(&mut self, _m: &Machine<'_>, _table: &Table, _key: &[u64], _hit: Option<u32>) {}

    /// Runs an action; one called directly belongs to `node`.
    #[inline]
    fn act(&mut self, m: &mut Machine<'_>, action: u32, args: &[u64]) {
        if let Some(action) = m.program.actions.get(action as usize) {
            action::run(m, &action.body, args);
        }
    }
}

/// Watches nothing.
pub(crate) struct Silent;

impl Observer for Silent {}
