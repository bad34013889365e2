//! Short hashes of packets: the first bytes of each one's SHA-256.

use ring::digest::{digest, SHA256};

/// Bytes of each (hosts/wire/short_hash.py says why so many).
pub const HASH_BYTES: usize = 8;

/// Of pieces of `size` bytes, of which the last may be shorter, one hash after the other; `room` has place for all.
pub fn short_hashes(data: &[u8], size: usize, room: &mut [u8]) {
    for (piece, place) in data.chunks(size).zip(room.chunks_exact_mut(HASH_BYTES)) {
        place.copy_from_slice(&digest(&SHA256, piece).as_ref()[..HASH_BYTES]);
    }
}

#[cfg(test)]
mod tests {
    use super::{short_hashes, HASH_BYTES};

    #[test]
    fn each_piece_has_its_own() {
        let mut room = [0; 3 * HASH_BYTES];
        short_hashes(b"abcabcx", 3, &mut room);
        let abc = [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]; // FIPS 180-2, appendix B.1
        assert_eq!(room[..8], abc);
        assert_eq!(room[8..16], abc);
        assert_eq!(room[16..], [0x2d, 0x71, 0x16, 0x42, 0xb7, 0x26, 0xb0, 0x44]);
    }
}
