//! What two switches that have had the same packets have to agree on.

use p4vm::Switch;

/// Counts, messages and registers.
pub fn compare_states(a: &mut Switch, b: &mut Switch) {
    assert_eq!(a.stats(), b.stats());
    assert_eq!(a.take_log(), b.take_log());
    for name in a.counters() {
        assert_eq!(a.counter_read_all(&name), b.counter_read_all(&name), "counter {name}");
    }
    for table in a.tables() {
        assert_eq!(a.table_entries(&table), b.table_entries(&table), "table {table}");
    }
    for name in a.registers() {
        assert!(a.register_cells(&name) == b.register_cells(&name), "register {name}");
    }
}
