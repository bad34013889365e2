//! Counters of packets and bytes.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counter {
    pub packets: u64,
    pub bytes: u64,
}

impl Counter {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}
