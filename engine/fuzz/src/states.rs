//! What two switches that have had the same packets have to agree on.

use p4vm::Switch;

/// Counts, messages and registers.
pub fn compare_states(a: &mut Switch, b: &mut Switch) {
    assert_eq!(a.stats(), b.stats());
    assert_eq!(a.take_log(), b.take_log());
    assert_eq!(a.differing_array(b), None);
    assert_eq!(a.table_sizes(), b.table_sizes());
    for (table, _, _) in a.table_sizes().into_iter().filter(|&(_, entries, _)| entries > 0) {
        assert_eq!(a.table_entries(&table), b.table_entries(&table), "table {table}");
    }
}
