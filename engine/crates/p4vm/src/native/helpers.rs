//! What native code calls, by number.

/// Set in [`Helper::Apply`]'s answer when an entry was hit.
pub(super) const HIT: u64 = 1 << 32;

/// Set in the answer of [`Helper::ParserOp`] and [`Helper::Select`] when the rest is an error.
pub(super) const FAILED: u64 = 1 << 63;

macro_rules! helpers {
    ($($(#[$doc:meta])* $name:ident $params:literal),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Helper {
            $($(#[$doc])* $name),*
        }

        /// Each helper with the number of its parameters beside the first, which is the context.
        pub(super) const ALL: &[(Helper, &str, usize)] = &[$((Helper::$name, stringify!($name), $params)),*];
    };
}

helpers! {
    /// Looks a table up, by a packed key or by the one that the helper builds itself when its address is 0. The slot of
    /// the action to run, or one that there is not, and `HIT`; the action's arguments are in the context.
    Apply 2,
    /// Interprets a primitive of an action. Not 0: an assertion has failed.
    Primitive 3,
    /// The condition of an action's jump.
    Condition 3,
    /// The condition of a node.
    Node 1,
    /// Not 0: the control ends.
    Exited 0,
    /// A register's cell, or 0 for an index beyond it, which is counted.
    Cell 2,
    /// A register's cell, or one of zeros.
    Peek 2,
    /// Counts in an indexed counter.
    Count 2,
    /// An operation of a parser's state; the bytes taken then, or an error.
    ParserOp 3,
    /// The state that follows one, or an error.
    Select 2,
    /// A calculation's result.
    Compute 1,
    /// What the payload adds to a checksum of 16 bits.
    PayloadSum 0,
    /// Writes a header to an address; the bytes written.
    PutHeader 2,
}

pub(super) const HELPERS: usize = ALL.len();
