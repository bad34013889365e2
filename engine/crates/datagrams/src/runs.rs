//! What came together: datagrams of one sender, of one length, as one run.

use crate::sys::{Reader, Received};

/// Datagrams in a run, at most, unless the kernel has put more together (ours: what two milliseconds at 1.5 Gbit/s bring,
/// and less than a processor's cache next to the core).
const RUN: usize = 256;

/// Datagrams that followed each other, of one source, time to live and ECN field, and of one length but for the last,
/// which may be shorter.
#[derive(Debug)]
pub struct Run<'a> {
    pub pieces: Vec<&'a [u8]>,
    /// The last of what came; of all of it: the source, and the length.
    pub last: Received<'a>,
    /// Bytes of each datagram.
    pub size: usize,
    /// Bytes of all.
    pub length: usize,
    /// When the first of them came, seconds since 1970; `last.stamp` is the last one's.
    pub first_stamp: Option<f64>,
    /// Of each message that the kernel gave, where all have times: how many datagrams came before it, and when it came.
    pub stamps: Vec<(usize, f64)>,
}

impl Run<'_> {
    fn continues_with(&self, next: &Received<'_>) -> bool {
        let last = &self.last;
        let (size, length) = (self.size, self.length);
        let is_short_one = next.size == next.data.len() && next.size < size;
        (next.host, next.port, next.ttl, next.ecn) == (last.host, last.port, last.ttl, last.ecn)
            && size > 0
            && !next.data.is_empty()
            && length % size == 0
            && (next.size == size || is_short_one)
            && length / size + next.data.len().div_ceil(size) <= RUN
    }
}

/// The runs of the first `count` buffers that a reader has filled.
pub fn runs(reader: &Reader, count: usize) -> Vec<Run<'_>> {
    let mut found: Vec<Run<'_>> = Vec::new();
    for index in 0..count {
        let next = reader.get(index);
        match found.last_mut() {
            Some(run) if run.continues_with(&next) => {
                if let (Some(stamp), true) = (next.stamp, run.stamps.len() == run.pieces.len()) {
                    run.stamps.push((run.length / run.size, stamp));
                }
                run.pieces.push(next.data);
                run.length += next.data.len();
                run.last = next;
            }
            _ => found.push(Run {
                pieces: vec![next.data],
                last: next,
                size: next.size,
                length: next.data.len(),
                first_stamp: next.stamp,
                stamps: next.stamp.map(|stamp| (0, stamp)).into_iter().collect(),
            }),
        }
    }
    found
}
