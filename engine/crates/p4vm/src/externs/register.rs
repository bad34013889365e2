//! Register arrays: cells of one width, packed in words.

use crate::value::words_for;

#[derive(Debug, Clone)]
pub(crate) struct RegisterArray {
    cells: Vec<u64>,
    bits: u32,
    /// Words a cell.
    stride: usize,
}

impl RegisterArray {
    pub(crate) fn new(size: usize, bits: u32) -> Self {
        let stride = words_for(bits) as usize;
        Self { cells: vec![0; size * stride], bits, stride }
    }

    fn place(&self, index: u64) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(index).ok()?.checked_mul(self.stride)?;
        let end = start.checked_add(self.stride)?;
        (end <= self.cells.len()).then_some(start..end)
    }

    /// A cell's words, least significant first, and its width; None outside the array.
    #[inline]
    pub(crate) fn read(&self, index: u64) -> Option<(&[u64], u32)> {
        Some((self.cells.get(self.place(index)?)?, self.bits))
    }

    pub(crate) fn cells(&self) -> &[u64] {
        &self.cells
    }

    /// A cell to write, cut to its width by the writer.
    #[inline]
    pub(crate) fn cell_mut(&mut self, index: u64) -> Option<(&mut [u64], u32)> {
        let place = self.place(index)?;
        Some((self.cells.get_mut(place)?, self.bits))
    }
}
