//! Symbols of a block, as they come to a receiver of files, until there are enough of them
//! (hosts/protocols/webrc/flute/decoding.py); and as records, in which they wait on a disk (store.py).

use std::collections::HashMap;

use crc::{Crc, Table, CRC_32_ISO_HDLC};

static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
/// Bytes of a record before the symbol: its number, and the CRC-32 of number and symbol.
const HEAD: usize = 8;
/// A record with this number has no symbol.
const NONE: u32 = u32::MAX;
/// Symbols for which room is made at a time (ours).
const GROWTH: usize = 64;

/// Symbols of one size, by their numbers.
#[derive(Debug)]
pub struct BlockSymbols {
    size: usize,
    ids: Vec<u32>,
    /// Of each number, where in `ids` it is.
    places: HashMap<u32, usize>,
    data: Vec<u8>,
}

fn check(id: [u8; 4], symbol: &[u8]) -> [u8; 4] {
    let mut digest = CRC.digest();
    digest.update(&id);
    digest.update(symbol);
    digest.finalize().to_be_bytes()
}

fn number(bytes: &[u8]) -> [u8; 4] {
    bytes.try_into().unwrap_or([0xff; 4])
}

impl BlockSymbols {
    /// Of so many bytes each, at least one.
    pub fn new(size: usize) -> Self {
        Self { size: size.max(1), ids: Vec::new(), places: HashMap::new(), data: Vec::new() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Bytes of each.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether this one is there.
    pub fn has(&self, id: u32) -> bool {
        self.places.contains_key(&id)
    }

    /// Takes one, unless it is there; whether it was not. What is shorter is filled up with zeros.
    pub fn add(&mut self, id: u32, symbol: &[u8]) -> bool {
        let place = self.ids.len();
        if *self.places.entry(id).or_insert(place) != place {
            return false;
        }
        if self.data.len() == self.data.capacity() {
            self.data.reserve_exact(GROWTH * self.size);
        }
        self.ids.push(id);
        self.data.extend_from_slice(&symbol[..symbol.len().min(self.size)]);
        self.data.resize(self.ids.len() * self.size, 0);
        true
    }

    /// Takes those behind `head` bytes of datagrams of one size; how many of them are new.
    pub fn add_run(&mut self, ids: impl Iterator<Item = u32>, data: &[u8], head: usize) -> usize {
        let symbols = data.chunks_exact(head + self.size).map(|datagram| &datagram[head..]);
        ids.zip(symbols).map(|(id, symbol)| usize::from(self.add(id, symbol))).sum()
    }

    /// Numbers and symbols, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.ids.iter().copied().zip(self.data.chunks_exact(self.size))
    }

    /// The first `count` numbers' symbols, one after the other; None: one of them has not come.
    pub fn joined(&self, count: usize) -> Option<Vec<u8>> {
        if self.ids.len() < count || !(0..count as u32).all(|id| self.has(id)) {
            return None;
        }
        let mut whole = vec![0; count * self.size];
        for (id, symbol) in self.iter().filter(|(id, _)| (*id as usize) < count) {
            whole[id as usize * self.size..][..self.size].copy_from_slice(symbol);
        }
        Some(whole)
    }

    /// As records.
    pub fn records(&self) -> Vec<u8> {
        let mut records = Vec::with_capacity(self.ids.len() * (HEAD + self.size));
        for (id, symbol) in self.iter() {
            let id = id.to_be_bytes();
            records.extend_from_slice(&id);
            records.extend_from_slice(&check(id, symbol));
            records.extend_from_slice(symbol);
        }
        records
    }

    /// Takes records up to the first that is not good; how many are. What is there already stays as it is.
    pub fn add_records(&mut self, records: &[u8]) -> usize {
        let mut good = 0;
        for record in records.chunks_exact(HEAD + self.size) {
            let (head, symbol) = record.split_at(HEAD);
            let id = number(&head[..4]);
            if u32::from_be_bytes(id) == NONE || check(id, symbol) != head[4..] {
                break;
            }
            self.add(u32::from_be_bytes(id), symbol);
            good += 1;
        }
        good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ids: &[u32]) -> BlockSymbols {
        let mut symbols = BlockSymbols::new(3);
        for id in ids {
            assert!(symbols.add(*id, &[*id as u8; 3]));
        }
        symbols
    }

    #[test]
    fn a_symbol_counts_once_and_is_filled_up() {
        let mut symbols = found(&[7, 2]);
        assert!(!symbols.add(7, &[9; 3]));
        assert!(symbols.add(1, &[4]));
        assert!(symbols.add(5, &[6; 9]));
        let all: Vec<_> = symbols.iter().collect();
        assert_eq!(all, [(7, &[7; 3][..]), (2, &[2; 3]), (1, &[4, 0, 0]), (5, &[6; 3])]);
        assert_eq!((symbols.len(), symbols.is_empty(), symbols.has(1), symbols.has(3)), (4, false, true, false));
    }

    #[test]
    fn a_run_has_its_symbols_behind_heads() {
        let mut symbols = found(&[8]);
        let data = [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 4];
        assert_eq!(symbols.add_run([7, 8, 9, 10].into_iter(), &data, 1), 2);
        assert_eq!(symbols.iter().map(|(id, symbol)| (id, symbol[0])).collect::<Vec<_>>(), [(8, 8), (7, 1), (9, 3)]);
    }

    #[test]
    fn a_block_is_joined_when_all_its_own_symbols_are_there() {
        let mut symbols = found(&[2, 5, 0]);
        assert_eq!(symbols.joined(3), None);
        symbols.add(1, &[1; 3]);
        assert_eq!(symbols.joined(3), Some(vec![0, 0, 0, 1, 1, 1, 2, 2, 2]));
        assert_eq!(symbols.joined(5), None);
    }

    #[test]
    fn records_are_read_as_far_as_they_are_good() {
        let symbols = found(&[2, 300, 0]);
        let mut records = symbols.records();
        // CRC-32 of 00 00 00 02 02 02 02, as zlib has it.
        assert_eq!(records[..11], [0, 0, 0, 2, 0xe8, 0xd9, 0xc0, 0x35, 2, 2, 2]);
        let mut read = BlockSymbols::new(3);
        assert_eq!(read.add_records(&records[..32]), 2, "the third one is cut off");
        assert_eq!(read.add_records(&records), 3);
        assert_eq!(read.iter().collect::<Vec<_>>(), symbols.iter().collect::<Vec<_>>());
        records[21] ^= 1;
        assert_eq!(BlockSymbols::new(3).add_records(&records), 1);
        assert_eq!(BlockSymbols::new(3).add_records(&[0xff; 11]), 0);
        let none = [&[0xff; 4][..], &check([0xff; 4], &[0; 3]), &[0; 3]].concat();
        assert_eq!(BlockSymbols::new(3).add_records(&none), 0, "such a record says something else");
    }
}
