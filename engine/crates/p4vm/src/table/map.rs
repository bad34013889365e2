//! A hash map from packed keys to what is small, specialised for keys of one and two words.
//!
//! The hasher is keyed at random, so that nobody who sends packets or routes can choose keys that collide.

use ahash::AHashMap;

#[derive(Debug)]
pub(crate) enum Map<T> {
    One(AHashMap<u64, T>),
    Two(AHashMap<[u64; 2], T>),
    Many(AHashMap<Box<[u64]>, T>),
}

impl<T: Copy> Map<T> {
    pub(crate) fn new(words: usize) -> Self {
        match words {
            0 | 1 => Self::One(AHashMap::new()),
            2 => Self::Two(AHashMap::new()),
            _ => Self::Many(AHashMap::new()),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: &[u64]) -> Option<T> {
        match self {
            Self::One(map) => map.get(key.first()?).copied(),
            Self::Two(map) => map.get(key.first_chunk::<2>()?).copied(),
            Self::Many(map) => map.get(key).copied(),
        }
    }

    pub(crate) fn insert(&mut self, key: &[u64], value: T) {
        match self {
            Self::One(map) => {
                if let Some(&key) = key.first() {
                    map.insert(key, value);
                }
            }
            Self::Two(map) => {
                if let Some(&key) = key.first_chunk::<2>() {
                    map.insert(key, value);
                }
            }
            Self::Many(map) => {
                map.insert(key.into(), value);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &[u64]) -> Option<T> {
        match self {
            Self::One(map) => map.remove(key.first()?),
            Self::Two(map) => map.remove(key.first_chunk::<2>()?),
            Self::Many(map) => map.remove(key),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::One(map) => map.is_empty(),
            Self::Two(map) => map.is_empty(),
            Self::Many(map) => map.is_empty(),
        }
    }
}
