//! The packed arguments of an action call. Those of most actions fit two words, and are kept beside what refers to them:
//! a packet that hits one of many entries should not wait for memory twice.

use std::ops::Deref;

const INLINE_WORDS: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Args {
    Inline(u8, [u64; INLINE_WORDS]),
    Boxed(Box<[u64]>),
}

impl Deref for Args {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match self {
            Self::Inline(length, words) => words.get(..usize::from(*length)).unwrap_or_default(),
            Self::Boxed(words) => words,
        }
    }
}

impl From<Box<[u64]>> for Args {
    fn from(words: Box<[u64]>) -> Self {
        match *words {
            [] => Self::Inline(0, [0, 0]),
            [first] => Self::Inline(1, [first, 0]),
            [first, second] => Self::Inline(2, [first, second]),
            _ => Self::Boxed(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_words_is_kept() {
        for length in 0..5 {
            let words: Vec<u64> = (1..=length).collect();
            assert_eq!(*Args::from(words.clone().into_boxed_slice()), *words);
        }
    }
}
