//! What a WEBRC sender's channels send at a moment, made at once (hosts/protocols/webrc/channel_runs.py).

use std::fmt;

use crate::Place;

/// A channel's datagrams so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub channel: usize,
    /// Bytes of each.
    pub size: usize,
    pub data: Vec<u8>,
}

/// What is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// There is no such channel.
    Channel,
    /// A head is too short for a place and a number.
    Head,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Channel => "no such channel",
            Self::Head => "a head has places and a number",
        })
    }
}

impl std::error::Error for PacketError {}

/// Gathers the datagrams of each channel.
#[derive(Debug)]
pub struct ChannelPackets {
    /// Bytes of a run, at most; 0: each datagram is alone, and all of them are in order.
    most: usize,
    /// Where in `found` a channel's run is that may be added to.
    open: Vec<Option<usize>>,
    found: Vec<Run>,
    packets: usize,
    octets: usize,
}

impl ChannelPackets {
    /// Of so many channels, in runs of at most so many bytes.
    pub fn new(channels: usize, most: usize) -> Self {
        Self { most, open: vec![None; channels], found: Vec::new(), packets: 0, octets: 0 }
    }

    /// Packets so far.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Their bytes.
    pub fn octets(&self) -> usize {
        self.octets
    }

    fn put(&mut self, channel: u32, head: &[u8], rest: &[u8]) -> Result<(), PacketError> {
        let (channel, size) = (channel as usize, head.len() + rest.len());
        let open = self.open.get_mut(channel).ok_or(PacketError::Channel)?;
        let goes_on =
            |place: &usize| self.found[*place].size == size && self.found[*place].data.len() + size <= self.most;
        let place = open.filter(goes_on).unwrap_or_else(|| {
            self.found.push(Run { channel, size, data: Vec::new() });
            self.found.len() - 1
        });
        *open = Some(place);
        let data = &mut self.found[place].data;
        data.extend_from_slice(head);
        data.extend_from_slice(rest);
        self.packets += 1;
        self.octets += size;
        Ok(())
    }

    /// A datagram as it is.
    pub fn add(&mut self, channel: u32, datagram: &[u8]) -> Result<(), PacketError> {
        self.put(channel, datagram, &[])
    }

    /// Each symbol in a packet of its own, in the places in turn, numbered from `first` on. `head` is a packet's up to the
    /// symbol, with any place and number; `is_long`: the long form of the congestion control information (RFC 3738, 5.1).
    pub fn add_symbols<'s>(
        &mut self,
        places: &[Place],
        head: &[u8],
        is_long: bool,
        first: u32,
        symbols: impl Iterator<Item = &'s [u8]>,
    ) -> Result<(), PacketError> {
        let mut head = head.to_vec();
        let number_at = head.len().checked_sub(4).filter(|at| *at >= 12).ok_or(PacketError::Head)?;
        for ((&(channel, slot_index, psn), symbol), number) in places.iter().zip(symbols).zip(first..) {
            if is_long {
                head[4..6].copy_from_slice(&(slot_index as u16).to_be_bytes());
                head[6..8].copy_from_slice(&(channel as u16).to_be_bytes());
                head[8..12].copy_from_slice(&psn.to_be_bytes());
            } else {
                (head[4], head[5]) = (slot_index as u8, channel as u8);
                head[6..8].copy_from_slice(&(psn as u16).to_be_bytes());
            }
            head[number_at..].copy_from_slice(&number.to_be_bytes());
            self.put(channel, &head, symbol)?;
        }
        Ok(())
    }

    /// All runs, in the order in which their first datagrams came; and forgets them.
    pub fn take(&mut self) -> Vec<Run> {
        self.open.fill(None);
        std::mem::take(&mut self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(channel: usize, size: usize, data: &[u8]) -> Run {
        Run { channel, size, data: data.to_vec() }
    }

    #[test]
    fn a_channels_datagrams_of_one_length_go_together_as_far_as_there_is_room() {
        let mut packets = ChannelPackets::new(2, 4);
        for (channel, datagram) in [(0, b"ab"), (1, b"cd"), (0, b"ef"), (0, b"gh")] {
            packets.add(channel, datagram).unwrap();
        }
        packets.add(1, b"i").unwrap();
        packets.add(1, b"k").unwrap();
        assert_eq!((packets.packets(), packets.octets()), (6, 10));
        assert_eq!(packets.take(), [run(0, 2, b"abef"), run(1, 2, b"cd"), run(0, 2, b"gh"), run(1, 1, b"ik")]);
        packets.add(1, b"l").unwrap();
        assert_eq!(packets.take(), [run(1, 1, b"l")]);
    }

    #[test]
    fn without_room_for_two_each_is_alone_and_in_order() {
        let mut packets = ChannelPackets::new(2, 0);
        for (channel, datagram) in [(0, b"a"), (1, b"b"), (0, b"c")] {
            packets.add(channel, datagram).unwrap();
        }
        assert_eq!(packets.take(), [run(0, 1, b"a"), run(1, 1, b"b"), run(0, 1, b"c")]);
    }

    #[test]
    fn symbols_have_places_and_numbers_in_either_form() {
        let head: Vec<u8> = (100..116).collect();
        let places = [(1, 2, 0x0304), (1, 5, 0x0607)];
        for (is_long, first, second) in [
            (false, &[2, 1, 3, 4, 108, 109, 110, 111][..], &[5, 1, 6, 7, 108, 109, 110, 111][..]),
            (true, &[0, 2, 0, 1, 0, 0, 3, 4], &[0, 5, 0, 1, 0, 0, 6, 7]),
        ] {
            let mut packets = ChannelPackets::new(2, 100);
            packets.add_symbols(&places, &head, is_long, 0xfe, [&b"x"[..], b"y", b"z"].into_iter()).unwrap();
            let packet = |place: &[u8], number: u8, symbol: &[u8]| {
                [&[100, 101, 102, 103], place, &[0, 0, 0, number], symbol].concat()
            };
            let data = [packet(first, 0xfe, b"x"), packet(second, 0xff, b"y")].concat();
            assert_eq!(packets.take(), [run(1, 17, &data)]);
        }
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let mut packets = ChannelPackets::new(1, 100);
        assert_eq!(packets.add(1, b"x"), Err(PacketError::Channel));
        let symbols = || [&b"x"[..]].into_iter();
        assert_eq!(packets.add_symbols(&[(0, 0, 0)], &[0; 15], false, 0, symbols()), Err(PacketError::Head));
        assert_eq!(packets.add_symbols(&[(7, 0, 0)], &[0; 16], false, 0, symbols()), Err(PacketError::Channel));
        assert_eq!((packets.packets(), packets.take()), (0, Vec::new()));
    }
}
