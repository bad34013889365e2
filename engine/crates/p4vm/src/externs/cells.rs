//! Cells of an array, in pages that are made when something is written there: a program may have megabytes of them, a
//! network thousands of switches, and most of their cells stay zero.

use crate::value::MAX_VALUE_WORDS;

const PAGE_WORDS: usize = 512;
static ZEROS: [u64; MAX_VALUE_WORDS] = [0; MAX_VALUE_WORDS];

#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pages: Vec<Option<Box<[u64]>>>,
    size: usize,
    /// Words a cell.
    stride: usize,
    /// Two to the power of this are a page's cells.
    page_shift: u32,
}

impl Cells {
    /// So many cells, all zero.
    pub(crate) fn new(size: usize, stride: usize) -> Self {
        let page_shift = PAGE_WORDS.checked_div(stride).unwrap_or(1).max(1).ilog2();
        Self { pages: vec![None; size.div_ceil(1 << page_shift)], size, stride, page_shift }
    }

    pub(crate) fn len(&self) -> usize {
        self.size
    }

    /// A cell's page, and where it begins there; None outside the array.
    #[inline]
    fn place(&self, index: u64) -> Option<(usize, usize)> {
        let index = usize::try_from(index).ok().filter(|&index| index < self.size)?;
        Some((index >> self.page_shift, (index & ((1 << self.page_shift) - 1)) * self.stride))
    }

    /// A cell; None outside the array.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<&[u64]> {
        let (page, start) = self.place(index)?;
        match self.pages.get(page)? {
            Some(words) => words.get(start..start + self.stride),
            None => ZEROS.get(..self.stride),
        }
    }

    /// A cell to write; None outside the array.
    #[inline]
    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut [u64]> {
        let (page, start) = self.place(index)?;
        let (stride, words) = (self.stride, self.stride << self.page_shift);
        let page = self.pages.get_mut(page)?.get_or_insert_with(|| vec![0; words].into_boxed_slice());
        page.get_mut(start..start + stride)
    }

    /// All cells, one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.size as u64).filter_map(|index| self.get(index))
    }
}

/// By what the cells hold: a page that is not there has zeros.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        const NONE: [u64; PAGE_WORDS] = [0; PAGE_WORDS];
        let zeros = |page: &[u64]| page.chunks(PAGE_WORDS).all(|words| NONE.get(..words.len()) == Some(words));
        (self.size, self.stride) == (other.size, other.stride)
            && self.pages.iter().zip(&other.pages).all(|pages| match pages {
                (Some(page), Some(other)) => page == other,
                (Some(page), None) | (None, Some(page)) => zeros(page),
                (None, None) => true,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_keep_what_was_written_and_their_neighbours_stay() {
        for (size, stride) in [(1, 1), (1000, 1), (1000, 3), (700, 9), (40, MAX_VALUE_WORDS), (513, 2)] {
            let mut cells = Cells::new(size, stride);
            let mut expected = vec![vec![0; stride]; size];
            for step in 0..200 {
                let at = step * 7919 % size;
                let value: Vec<u64> = (0..stride).map(|word| (step * 31 + word + 1) as u64).collect();
                cells.get_mut(at as u64).unwrap().copy_from_slice(&value);
                expected[at] = value;
            }
            assert!(cells.iter().eq(expected.iter()));
            assert_eq!(cells.len(), size);
            assert_eq!(cells.get(size as u64), None);
            assert_eq!(cells.get_mut(size as u64), None);
            assert_eq!(cells.get(u64::MAX), None);
        }
    }

    #[test]
    fn pages_that_nothing_was_written_to_are_not_there() {
        let mut cells = Cells::new(1 << 20, 2);
        assert!(cells.get(12345).unwrap().iter().all(|&word| word == 0));
        cells.get_mut(12345).unwrap()[1] = 1;
        assert_eq!(cells.pages.iter().flatten().count(), 1);
    }

    #[test]
    fn arrays_are_equal_by_what_they_hold() {
        let (mut some, none) = (Cells::new(5000, 3), Cells::new(5000, 3));
        assert_eq!(some, none);
        some.get_mut(4999).unwrap()[2] = 1;
        assert_ne!(some, none);
        assert_ne!(none, some);
        assert_eq!(some, some.clone());
        some.get_mut(4999).unwrap()[2] = 0;
        assert_eq!(some, none);
        assert_eq!(none, some);
        assert_ne!(none, Cells::new(4999, 3));
        assert_ne!(none, Cells::new(5000, 2));
    }

    #[test]
    fn no_cells() {
        let mut cells = Cells::new(0, 1);
        assert_eq!(cells.get(0), None);
        assert_eq!(cells.get_mut(0), None);
        assert_eq!(Cells::new(4, 0).get(3), Some(&[][..]));
    }
}
