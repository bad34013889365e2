//! Runs of a block's symbols: payloads whose heads are the same but for the symbol's number, which ends the head (32 bits
//! in network order).

/// Bytes of the number.
const ID: usize = 4;

fn id_of(head: &[u8]) -> Option<(&[u8], u32)> {
    let (before, id) = head.split_at_checked(head.len().checked_sub(ID)?)?;
    Some((before, u32::from_be_bytes(id.try_into().ok()?)))
}

/// Puts the head before each of the symbols (the last may be shorter, and is filled up with zeros), with numbers that go
/// on from the head's. `room` has places of `head.len() + symbol` bytes; None: the head has no number.
pub fn frame_symbols(head: &[u8], data: &[u8], symbol: usize, room: &mut [u8]) -> Option<()> {
    let (_, first) = id_of(head)?;
    for ((payload, piece), id) in room.chunks_exact_mut(head.len() + symbol).zip(data.chunks(symbol)).zip(first..) {
        let (front, body) = payload.split_at_mut(head.len());
        front.copy_from_slice(head);
        front[head.len() - ID..].copy_from_slice(&id.to_be_bytes());
        body[..piece.len()].copy_from_slice(piece);
        body[piece.len()..].fill(0);
    }
    Some(())
}

/// How many payloads of `size` bytes, from the first on, have its head of `head` bytes with the next number; 0: not even
/// one is whole.
pub fn following_symbols(data: &[u8], size: usize, head: usize) -> usize {
    if size == 0 || size < head {
        return 0;
    }
    let mut payloads = data.chunks_exact(size).map(|payload| id_of(&payload[..head]));
    let Some(Some((before, first))) = payloads.next() else { return 0 };
    let goes_on = |(payload, id): (Option<(&[u8], u32)>, u64)| payload == u32::try_from(id).ok().map(|id| (before, id));
    1 + payloads.zip(u64::from(first) + 1..).take_while(|next| goes_on(*next)).count()
}

#[cfg(test)]
mod tests {
    use super::{following_symbols, frame_symbols};

    const HEAD: [u8; 6] = [7, 7, 0, 0, 0, 254];

    #[test]
    fn what_is_framed_follows() {
        let data: Vec<u8> = (0..50).collect();
        let mut room = vec![9; 4 * 22];
        frame_symbols(&HEAD, &data, 16, &mut room).unwrap();
        assert_eq!(room[..6], HEAD);
        assert_eq!(room[6..22], data[..16]);
        assert_eq!(room[22..28], [7, 7, 0, 0, 0, 255]);
        assert_eq!(room[44..50], [7, 7, 0, 0, 1, 0]);
        assert_eq!(room[66..], [[7, 7, 0, 0, 1, 1].as_slice(), &[48, 49], &[0; 14]].concat());
        assert_eq!(following_symbols(&room, 22, 6), 4);
        assert_eq!(following_symbols(&room[..80], 22, 6), 3, "a piece of one is none");
        for (place, count) in [(22, 1), (45, 2), (71, 3), (60, 4)] {
            let mut other = room.clone();
            other[place] ^= 1;
            assert_eq!(following_symbols(&other, 22, 6), count, "byte {place}");
        }
    }

    #[test]
    fn nothing_is_read_beyond_what_is_there() {
        assert_eq!(following_symbols(&[], 22, 6), 0);
        assert_eq!(following_symbols(&[1; 21], 22, 6), 0);
        assert_eq!(following_symbols(&[1; 5], 5, 6), 0);
        assert_eq!(following_symbols(&[1; 9], 3, 3), 0, "no room for a number");
        assert_eq!(following_symbols(&[0xff; 8], 4, 4), 1, "there is none behind the last");
        assert!(frame_symbols(&[1; 3], &[1; 3], 3, &mut [0; 6]).is_none());
    }
}
