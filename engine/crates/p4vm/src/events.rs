//! The queue of what the data path tells the control plane, and how often it may.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use crate::limit::{Bucket, KeyBuckets, Rate};
use crate::Event;

/// Contents of digests that are told apart, as far as they do not meet in a place.
const DIGEST_PLACES: usize = 8192;

#[derive(Debug, Default)]
pub(crate) struct Events(VecDeque<Event>);

impl Events {
    /// False when the queue is full and the event is lost.
    pub(crate) fn push(&mut self, limit: usize, event: impl FnOnce() -> Event) -> bool {
        let room = self.0.len() < limit;
        if room {
            self.0.push_back(event());
        }
        room
    }

    pub(crate) fn take(&mut self, max: usize) -> Vec<Event> {
        let count = self.0.len().min(max);
        self.0.drain(..count).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What each port has caused, and how often each contents has come.
#[derive(Debug, Default)]
pub(crate) struct DigestLimits {
    ports: Vec<Bucket>,
    contents: Option<(RandomState, KeyBuckets)>,
}

impl DigestLimits {
    /// Whether a packet that came in at `port` may cause one more.
    pub(crate) fn port(&mut self, port: u16, rate: Rate, now_ns: u64) -> bool {
        if rate.per_second == 0 {
            return true;
        }
        if self.ports.len() <= usize::from(port) {
            self.ports.resize(usize::from(port) + 1, Bucket::default());
        }
        self.ports.get_mut(usize::from(port)).is_none_or(|bucket| bucket.take(rate, now_ns))
    }

    /// Whether a digest with these contents may come once more.
    pub(crate) fn contents(&mut self, name: &str, values: &[Vec<u8>], rate: Rate, now_ns: u64) -> bool {
        if rate.per_second == 0 {
            return true;
        }
        let made = || (RandomState::new(), KeyBuckets::new(DIGEST_PLACES));
        let (hasher, buckets) = self.contents.get_or_insert_with(made);
        buckets.take(hasher.hash_one((name, values)), rate, now_ns)
    }
}
