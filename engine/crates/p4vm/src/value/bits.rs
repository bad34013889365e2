//! Reading and writing fields that start and end at any bit, most significant bit first as on the wire.

/// `bits` (1..=64) bits of `data` from bit `offset` on. Bits beyond the end read as zero; callers check lengths first.
#[inline]
pub(crate) fn read(data: &[u8], offset: usize, bits: u32) -> u64 {
    let byte = offset / 8;
    let shift = (offset % 8) as u32;
    if let Some(chunk) = data.get(byte..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_be_bytes(*chunk) << shift;
        if shift + bits <= 64 {
            return word >> (64 - bits);
        }
        let last = u64::from(data.get(byte + 8).copied().unwrap_or(0));
        return (word | (last >> (8 - shift))) >> (64 - bits);
    }
    read_near_end(data, byte, shift, bits)
}

fn read_near_end(data: &[u8], byte: usize, shift: u32, bits: u32) -> u64 {
    let mut acc: u128 = 0;
    for i in 0..9 {
        acc = (acc << 8) | u128::from(data.get(byte + i).copied().unwrap_or(0));
    }
    let value = (acc >> (72 - shift - bits)) as u64;
    value & super::mask64(bits)
}

/// Reads a value of any width into words, least significant word first.
#[inline]
pub(crate) fn read_words(data: &[u8], offset: usize, bits: u32, words: &mut [u64]) {
    if bits <= 64 {
        if let Some(word) = words.first_mut() {
            *word = if bits == 0 { 0 } else { read(data, offset, bits) };
        }
        return;
    }
    let mut end = offset + bits as usize;
    let mut left = bits;
    for word in words {
        let take = left.min(64);
        if take == 0 {
            *word = 0;
            continue;
        }
        end -= take as usize;
        *word = read(data, end, take);
        left -= take;
    }
}

/// Appends bits to a byte buffer, eight bytes at a time.
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    /// The last bits, fewer than 64, of which all others are zero.
    acc: u64,
    pending: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, acc: 0, pending: 0 }
    }

    /// Append the low `bits` (0..=64) bits of `value`, whose other bits are zero.
    #[inline]
    pub(crate) fn put(&mut self, value: u64, bits: u32) {
        let total = self.pending + bits;
        if total < 64 {
            self.acc = self.acc << bits | value;
            self.pending = total;
            return;
        }
        let left = total - 64;
        let word = self.acc.checked_shl(64 - self.pending).unwrap_or(0) | value >> left;
        self.out.extend_from_slice(&word.to_be_bytes());
        self.acc = value & super::mask64(left);
        self.pending = left;
    }

    /// Append a value of any width, least significant word first.
    #[inline]
    pub(crate) fn put_words(&mut self, words: &[u64], bits: u32) {
        if bits <= 64 {
            self.put(words.first().copied().unwrap_or(0), bits);
            return;
        }
        let mut left = bits;
        for (i, &word) in words.iter().enumerate().rev() {
            let take = left.saturating_sub(i as u32 * 64);
            self.put(word & super::mask64(take), take);
            left -= take;
        }
    }

    /// Pad the last byte with zero bits.
    #[inline]
    pub(crate) fn finish(self) {
        if self.pending > 0 {
            let bytes = (self.acc << (64 - self.pending)).to_be_bytes();
            self.out.extend_from_slice(bytes.get(..self.pending.div_ceil(8) as usize).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_bit_by_bit(data: &[u8], offset: usize, bits: u32) -> u64 {
        (offset..offset + bits as usize).fold(0, |acc, i| (acc << 1) | u64::from(data[i / 8] >> (7 - i % 8) & 1))
    }

    proptest! {
        #![proptest_config(crate::seeded(500))]

        #[test]
        fn reads_what_a_bit_by_bit_reader_reads(data in proptest::collection::vec(any::<u8>(), 26), offset in 0usize..64,
                                                bits in 1u32..=64, behind in 0usize..10) {
            // With and without bytes behind the field, which a reader of whole words takes along.
            let data = &data[..(offset + bits as usize).div_ceil(8) + behind];
            prop_assert_eq!(read(data, offset, bits), read_bit_by_bit(data, offset, bits));
        }

        #[test]
        fn writes_what_it_reads(data in proptest::collection::vec(any::<u8>(), 1..64),
                                widths in proptest::collection::vec(1u32..200, 1..20)) {
            let mut out = Vec::new();
            let mut writer = BitWriter::new(&mut out);
            let (mut offset, total) = (0, data.len() as u32 * 8);
            for width in widths.into_iter().chain(std::iter::repeat(64)) {
                let width = width.min(total - offset);
                if width == 0 {
                    break;
                }
                let mut words = [0; 4];
                read_words(&data, offset as usize, width, &mut words[..super::super::words_for(width) as usize]);
                writer.put_words(&words[..super::super::words_for(width) as usize], width);
                offset += width;
            }
            writer.finish();
            prop_assert_eq!(out, data);
        }
    }

    #[test]
    fn pads_the_last_byte() {
        let mut out = Vec::new();
        let mut writer = BitWriter::new(&mut out);
        writer.put(0b101, 3);
        writer.finish();
        assert_eq!(out, [0b1010_0000]);
    }

    #[test]
    fn bits_beyond_the_end_are_zero() {
        assert_eq!(read(&[0xff], 4, 12), 0xf00);
        assert_eq!(read(&[], 0, 64), 0);
    }
}
