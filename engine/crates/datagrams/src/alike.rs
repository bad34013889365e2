//! Runs of a channel's packets with symbols in any order: heads that are the same but for a number that counts packets
//! and one that says which symbol follows (32 bits in network order, which end the head).

use std::ops::Range;

/// Bytes of the symbol's number.
const ID: usize = 4;

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The symbols' numbers of the datagrams of `size` bytes, from the first on, whose heads of `head` bytes are the first
/// one's, with packets counted on at `count`. Empty: not even one is whole, or there is no such head.
pub fn alike(data: &[u8], size: usize, head: usize, count: Range<usize>) -> Vec<u32> {
    let Some(id) = head.checked_sub(ID) else { return Vec::new() };
    if size < head || count.start >= count.end || count.len() > 4 || count.end > id {
        return Vec::new();
    }
    let mut datagrams = data.chunks_exact(size.max(1)).map(|datagram| &datagram[..head]).peekable();
    let Some(&first) = datagrams.peek() else { return Vec::new() };
    let begin = number(&first[count.clone()]);
    let is_alike = |(one, due): &(&[u8], u64)| {
        one[..count.start] == first[..count.start]
            && number(&one[count.clone()]) == *due
            && one[count.end..id] == first[count.end..id]
    };
    datagrams.zip(begin..).take_while(is_alike).map(|(one, _)| number(&one[id..]) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::alike;

    /// Datagrams of 12 bytes: one of a head, two that count, one of a head, a symbol's number, four behind it.
    fn datagrams(packets: &[(u8, u16, u32)]) -> Vec<u8> {
        let made = packets.iter().map(|(head, count, id)| {
            let (count, id) = (count.to_be_bytes(), id.to_be_bytes());
            [&[*head][..], &count, &[9], &id, &[*head; 4]].concat()
        });
        made.collect::<Vec<_>>().concat()
    }

    #[test]
    fn packets_that_follow_each_other_are_alike_whatever_their_symbols() {
        let data = datagrams(&[(7, 254, 5), (7, 255, 1 << 24), (7, 256, 2), (7, 257, u32::MAX)]);
        assert_eq!(alike(&data, 12, 8, 1..3), [5, 1 << 24, 2, u32::MAX]);
        assert_eq!(alike(&data[..47], 12, 8, 1..3), [5, 1 << 24, 2], "a piece of one is none");
        let mut other = data.clone();
        other[12 + 3] = 8;
        assert_eq!(alike(&other, 12, 8, 1..3), [5], "between the two numbers");
        other[12 + 3] = 9;
        other[24] = 6;
        assert_eq!(alike(&other, 12, 8, 1..3), [5, 1 << 24], "before them");
    }

    #[test]
    fn a_packet_that_is_lost_or_repeated_ends_the_run() {
        assert_eq!(alike(&datagrams(&[(7, 3, 5), (7, 5, 6)]), 12, 8, 1..3), [5]);
        assert_eq!(alike(&datagrams(&[(7, 3, 5), (7, 3, 5)]), 12, 8, 1..3), [5]);
        assert_eq!(alike(&datagrams(&[(7, 65535, 5), (7, 0, 6)]), 12, 8, 1..3), [5], "the last one has no next");
    }

    #[test]
    fn nothing_is_read_beyond_what_is_there() {
        assert!(alike(&[], 12, 8, 1..3).is_empty());
        assert!(alike(&[1; 11], 12, 8, 1..3).is_empty());
        assert!(alike(&[1; 12], 7, 8, 1..3).is_empty(), "shorter than a head");
        assert!(alike(&[1; 12], 0, 0, 0..0).is_empty());
        assert!(alike(&[1; 12], 12, 3, 0..1).is_empty(), "no room for a symbol's number");
        assert!(alike(&[1; 12], 12, 8, 3..6).is_empty(), "the numbers overlap");
        assert!(alike(&[1; 20], 20, 16, 1..6).is_empty(), "more than 32 bits count");
    }
}
