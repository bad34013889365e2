//! Buffers that are used again, so that a frame costs no allocation.

/// Buffers kept: more than all default queues of a 16-port switch hold.
const MAX_KEPT: usize = 2048;

/// Capacity from which a buffer is not kept: a burst of large frames must not pin its memory.
const MAX_KEPT_BYTES: usize = 16_384;

#[derive(Debug, Default)]
pub struct Pool(Vec<Vec<u8>>);

impl Pool {
    /// An empty buffer.
    pub fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    pub fn give(&mut self, mut buffer: Vec<u8>) {
        if self.0.len() < MAX_KEPT && buffer.capacity() <= MAX_KEPT_BYTES {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}
