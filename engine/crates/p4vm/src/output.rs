//! A reusable list of packets that leave the switch.

/// Packets with their egress ports, kept in one buffer, so that a reused `Outputs` does not allocate.
#[derive(Debug, Default, Clone)]
pub struct Outputs {
    bytes: Vec<u8>,
    ends: Vec<(u16, usize)>,
}

impl Outputs {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forget the packets, keep the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// No packet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The packets in the order in which they left.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(port, end)| {
            let packet = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            (port, packet)
        })
    }

    /// The buffer to append a packet to; [`Self::seal`] then ends it.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn seal(&mut self, port: u16) {
        self.ends.push((port, self.bytes.len()));
    }
}
