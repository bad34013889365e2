//! Counters of packets and bytes.

use crate::externs::cells::Cells;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    pub packets: u64,
    pub bytes: u64,
}

/// The cells of an indirect counter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CounterArray(Cells);

impl CounterArray {
    pub(crate) fn new(size: usize) -> Self {
        Self(Cells::new(size, 2))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// One more packet of so many bytes. False outside the array.
    #[inline]
    pub(crate) fn add(&mut self, index: u64, bytes: u64) -> bool {
        let Some([packets, octets]) = self.0.get_mut(index) else { return false };
        *packets = packets.wrapping_add(1);
        *octets = octets.wrapping_add(bytes);
        true
    }

    /// A cell; None outside the array.
    pub(crate) fn get(&self, index: usize) -> Option<Counter> {
        self.0.get(index as u64).and_then(counter)
    }

    /// Set a cell. False outside the array.
    pub(crate) fn set(&mut self, index: usize, Counter { packets, bytes }: Counter) -> bool {
        self.0.get_mut(index as u64).map(|cell| cell.copy_from_slice(&[packets, bytes])).is_some()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Counter> + '_ {
        self.0.iter().filter_map(counter)
    }
}

fn counter(cell: &[u64]) -> Option<Counter> {
    let &[packets, bytes] = cell else { return None };
    Some(Counter { packets, bytes })
}

impl Counter {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}
