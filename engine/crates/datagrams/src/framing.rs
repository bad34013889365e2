//! Runs of a stream's packets: datagrams whose heads are the same but for a number that counts packets (32 bits, modulo
//! 2^32) and the place of their payload in the stream (64 bits), both in network order.

use std::ops::Range;

/// How long the heads are, and where in them the two numbers are.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    head: usize,
    seq: usize,
    offset: usize,
}

impl Framing {
    /// None: the numbers are not within the head, or overlap.
    pub fn new(head: usize, seq: usize, offset: usize) -> Option<Self> {
        let fits = seq.checked_add(4)? <= head && offset.checked_add(8)? <= head;
        let apart = seq + 4 <= offset || offset + 8 <= seq;
        (fits && apart).then_some(Self { head, seq, offset })
    }

    fn seq_field(&self) -> Range<usize> {
        self.seq..self.seq + 4
    }

    fn offset_field(&self) -> Range<usize> {
        self.offset..self.offset + 8
    }

    fn seq_of(&self, datagram: &[u8]) -> u32 {
        datagram[self.seq_field()].iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
    }

    fn offset_of(&self, datagram: &[u8]) -> u64 {
        datagram[self.offset_field()].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// Bytes that `frame` makes.
    pub fn framed(&self, payload: usize, size: usize) -> usize {
        payload + self.head * payload.div_ceil(size)
    }

    /// Puts heads before pieces of `size` bytes: `head`'s copies, each with the next number and place. The last piece may
    /// be shorter. `room` has the length that `framed` says; `head` at least its own, `size` is not 0.
    pub fn frame(&self, head: &[u8], payload: &[u8], size: usize, room: &mut [u8]) {
        let (mut seq, mut offset) = (self.seq_of(head), self.offset_of(head));
        for (datagram, piece) in room.chunks_mut(self.head + size).zip(payload.chunks(size)) {
            let (front, body) = datagram.split_at_mut(self.head);
            front.copy_from_slice(&head[..self.head]);
            front[self.seq_field()].copy_from_slice(&seq.to_be_bytes());
            front[self.offset_field()].copy_from_slice(&offset.to_be_bytes());
            body.copy_from_slice(piece);
            seq = seq.wrapping_add(1);
            offset = offset.wrapping_add(piece.len() as u64);
        }
    }

    /// How many datagrams of `size` bytes, from the first on, each continue the one before. 0: not even one is whole.
    pub fn continued(&self, data: &[u8], size: usize) -> usize {
        if size < self.head {
            return 0;
        }
        let mut datagrams = data.chunks_exact(size);
        let Some(first) = datagrams.next() else { return 0 };
        let (mut seq, mut offset) = (self.seq_of(first), self.offset_of(first));
        let payload = (size - self.head) as u64;
        let mut count = 1;
        for next in datagrams {
            (seq, offset) = (seq.wrapping_add(1), offset.wrapping_add(payload));
            if self.seq_of(next) != seq || self.offset_of(next) != offset || !self.is_alike(first, next) {
                break;
            }
            count += 1;
        }
        count
    }

    /// Whether two heads are the same but for the two numbers.
    fn is_alike(&self, one: &[u8], other: &[u8]) -> bool {
        let (first, second) = if self.seq < self.offset {
            (self.seq_field(), self.offset_field())
        } else {
            (self.offset_field(), self.seq_field())
        };
        [0..first.start, first.end..second.start, second.end..self.head]
            .into_iter()
            .all(|part| one[part.clone()] == other[part])
    }

    /// The payloads of the first `count` datagrams of `size` bytes, one after the other; `room` is as long as they are.
    pub fn join(&self, data: &[u8], size: usize, count: usize, room: &mut [u8]) {
        let payload = size - self.head;
        if payload == 0 {
            return;
        }
        for (place, datagram) in room.chunks_exact_mut(payload).zip(data.chunks_exact(size).take(count)) {
            place.copy_from_slice(&datagram[self.head..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Framing;

    const HEAD: [u8; 20] = [1, 2, 0xff, 0xff, 0xff, 0xfe, 3, 4, 0, 0, 0, 0, 0, 0, 0, 100, 5, 6, 7, 8];

    fn framed(framing: &Framing, payload: &[u8], size: usize) -> Vec<u8> {
        let mut room = vec![0; framing.framed(payload.len(), size)];
        framing.frame(&HEAD, payload, size, &mut room);
        room
    }

    #[test]
    fn what_is_framed_is_found_continued_and_joined() {
        let framing = Framing::new(20, 2, 8).unwrap();
        let payload: Vec<u8> = (0..=99).collect();
        let data = framed(&framing, &payload, 20);
        assert_eq!(data.len(), 5 * 40);
        let seqs: Vec<u32> = data.chunks(40).map(|datagram| framing.seq_of(datagram)).collect();
        assert_eq!(seqs, [u32::MAX - 1, u32::MAX, 0, 1, 2]);
        let offsets: Vec<u64> = data.chunks(40).map(|datagram| framing.offset_of(datagram)).collect();
        assert_eq!(offsets, [100, 120, 140, 160, 180]);
        assert_eq!(framing.continued(&data, 40), 5);
        assert_eq!(framing.continued(&data[..150], 40), 3, "a piece of one is none");
        let mut joined = [0; 60];
        framing.join(&data, 40, 3, &mut joined);
        assert_eq!(joined, payload[..60]);
    }

    #[test]
    fn each_difference_ends_what_is_continued() {
        let framing = Framing::new(20, 2, 8).unwrap();
        let data = framed(&framing, &[0; 80], 20);
        assert_eq!(framing.continued(&data, 40), 4);
        for place in 0..40 {
            let mut other = data.clone();
            other[80 + place] ^= 1;
            assert_eq!(framing.continued(&other, 40), if place < 20 { 2 } else { 4 }, "byte {place}");
        }
    }

    #[test]
    fn a_shorter_last_piece_has_its_head() {
        let framing = Framing::new(20, 8, 0).unwrap();
        assert_eq!(framed(&framing, &[9; 45], 20).len(), 3 * 20 + 45);
        assert!(framed(&framing, &[], 20).is_empty());
    }

    #[test]
    fn nothing_is_read_beyond_what_is_there() {
        let framing = Framing::new(20, 2, 8).unwrap();
        assert_eq!(framing.continued(&[0; 19], 19), 0);
        assert_eq!(framing.continued(&[0; 19], 20), 0);
        assert_eq!(framing.continued(&[], 20), 0);
        assert_eq!(framing.continued(&[0; 40], 20), 1, "empty ones with one number");
        for (head, seq, offset) in [(20, 17, 0), (20, 0, 13), (20, 0, 3), (20, 10, 4), (20, usize::MAX, 0)] {
            assert!(Framing::new(head, seq, offset).is_none());
        }
    }
}
