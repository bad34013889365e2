//! Which parts of the header vector a packet may have written to: what it has not touched is blank still, and need not be
//! made blank for the next one, nor be copied for a replica.
//!
//! Words that may be read before they are written are in groups of neighbours, and a few words at the vector's end, the
//! marks, have a bit for each group. Native code sets them: a parser state, an action or a checksum those of all groups
//! that it may write to. The interpreter sets all.

use std::ops::Range;

/// Words of marks (ours: two have a bit for each eight words of our program's that may be read).
pub(crate) const MARKS: usize = 2;

/// Words that are copied at once (ours). Behind a vector's last field there are as many.
pub(crate) const BLOCK: usize = 8;

/// A bit for each group.
pub(crate) type Marks = [u64; MARKS];

#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Where the marks begin; None: there are none, and all is copied.
    pub marks: Option<usize>,
    /// What the machine itself writes, which is never taken to be blank.
    pub always: Vec<Range<usize>>,
    /// From a group's first word to its last one, with those between them that nobody reads.
    pub runs: Vec<Range<usize>>,
    /// What a packet begins with, and what a copy takes to egress: all words that may be read, with those between them
    /// that are cheaper to copy than to leave out.
    pub start: Vec<Range<usize>>,
    pub egress: Vec<Range<usize>>,
    /// Each word's group; beyond `runs`: it has none.
    pub of: Vec<u8>,
}

impl Groups {
    /// Where the marks are, if anybody goes by them.
    #[inline]
    pub(crate) fn written(&self) -> Option<usize> {
        self.marks.filter(|_| !self.runs.is_empty())
    }
}
