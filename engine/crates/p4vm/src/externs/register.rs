//! Register arrays: cells of one width, packed in words.

use crate::externs::cells::Cells;
use crate::value::words_for;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RegisterArray {
    cells: Cells,
    bits: u32,
}

impl RegisterArray {
    pub(crate) fn new(size: usize, bits: u32) -> Self {
        Self { cells: Cells::new(size, words_for(bits) as usize), bits }
    }

    /// A cell's words, least significant first, and its width; None outside the array.
    #[inline]
    pub(crate) fn read(&self, index: u64) -> Option<(&[u64], u32)> {
        Some((self.cells.get(index)?, self.bits))
    }

    /// A cell to write, cut to its width by the writer.
    #[inline]
    pub(crate) fn cell_mut(&mut self, index: u64) -> Option<(&mut [u64], u32)> {
        Some((self.cells.get_mut(index)?, self.bits))
    }
}
