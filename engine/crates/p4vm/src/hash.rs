//! Hash and checksum algorithms over a byte string, with BMv2's parameters.

use crate::value::bits;

#[derive(Debug, Clone)]
pub(crate) enum Algorithm {
    Crc(Box<Crc>),
    /// One's complement sum (RFC 1071).
    Csum16,
    Xor16,
    Xor32,
    /// The first eight bytes as a number.
    Identity,
    /// XXH64 with seed 0.
    XxHash64,
    Fnv,
}

impl Algorithm {
    /// By the JSON's name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let crc = |width, polynomial, initial, reflected, final_xor| {
            Some(Self::Crc(Box::new(Crc::new(width, polynomial, initial, reflected, final_xor))))
        };
        match name {
            "crc8_custom" => crc(8, 0x07, 0, false, 0),
            "crc16" | "crc16_custom" => crc(16, 0x8005, 0, true, 0),
            "crcCCITT" => crc(16, 0x1021, 0xffff, false, 0),
            "crc32" | "crc32_custom" => crc(32, 0x04c1_1db7, 0xffff_ffff, true, 0xffff_ffff),
            "crc64_custom" => crc(64, 0x1b, 0, true, 0),
            "csum16" | "cksum16" => Some(Self::Csum16),
            "xor16" => Some(Self::Xor16),
            "xor32" => Some(Self::Xor32),
            "identity" => Some(Self::Identity),
            "xxh64" | "bmv2_hash" => Some(Self::XxHash64),
            "hash_ex" => Some(Self::Fnv),
            _ => None,
        }
    }

    pub(crate) fn compute(&self, data: &[u8]) -> u64 {
        match self {
            Self::Crc(crc) => crc.compute(data),
            Self::Csum16 => u64::from(csum16(data)),
            Self::Xor16 => fold_xor(data, 16),
            Self::Xor32 => fold_xor(data, 32),
            Self::Identity => {
                let len = data.len().min(8) as u32;
                if len == 0 {
                    0
                } else {
                    bits::read(data, 0, len * 8)
                }
            }
            Self::XxHash64 => xxh64(data),
            Self::Fnv => u64::from(fnv(data)),
        }
    }
}

/// A cyclic redundancy check of 8 to 64 bits, by table, kept reflected when input and output are.
#[derive(Debug, Clone)]
pub(crate) struct Crc {
    table: [u64; 256],
    width: u32,
    initial: u64,
    reflected: bool,
    final_xor: u64,
}

impl Crc {
    fn new(width: u32, polynomial: u64, initial: u64, reflected: bool, final_xor: u64) -> Self {
        let mask = crate::value::mask64(width);
        let mut table = [0; 256];
        let poly = if reflected { polynomial.reverse_bits() >> (64 - width) } else { polynomial };
        for (byte, entry) in table.iter_mut().enumerate() {
            let byte = byte as u64;
            *entry = (0..8).fold(if reflected { byte } else { byte << (width - 8) }, |r, _| {
                if reflected {
                    (r >> 1) ^ if r & 1 == 0 { 0 } else { poly }
                } else {
                    ((r << 1) ^ if r >> (width - 1) & 1 == 0 { 0 } else { poly }) & mask
                }
            });
        }
        Self { table, width, initial, reflected, final_xor }
    }

    fn compute(&self, data: &[u8]) -> u64 {
        let entry = |index: u64| self.table.get((index & 0xff) as usize).copied().unwrap_or(0);
        let mut r = self.initial;
        if self.reflected {
            for &byte in data {
                r = entry(r ^ u64::from(byte)) ^ (r >> 8);
            }
        } else {
            let mask = crate::value::mask64(self.width);
            for &byte in data {
                r = entry((r >> (self.width - 8)) ^ u64::from(byte)) ^ (r << 8 & mask);
            }
        }
        r ^ self.final_xor
    }
}

/// The internet checksum of `data`, padded with a zero byte to whole words.
pub(crate) fn csum16(data: &[u8]) -> u16 {
    let mut chunks = data.chunks_exact(4);
    let mut sum: u64 = chunks.by_ref().map(|c| bits::read(c, 0, 32)).sum();
    let rest = chunks.remainder();
    if !rest.is_empty() {
        sum += bits::read(rest, 0, 32);
    }
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn fold_xor(data: &[u8], width: u32) -> u64 {
    data.chunks((width / 8) as usize).fold(0, |acc, chunk| acc ^ bits::read(chunk, 0, width))
}

fn fnv(data: &[u8]) -> u32 {
    // FNV-1a, bytes taken as signed as BMv2 does, then Jenkins' avalanche.
    let mut hash = data.iter().fold(2_166_136_261u32, |h, &b| (h ^ b as i8 as u32).wrapping_mul(16_777_619));
    hash = hash.wrapping_add(hash << 13);
    hash ^= hash >> 7;
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 17;
    hash.wrapping_add(hash << 5)
}

/// XXH64 with seed 0 (xxHash specification, "XXH64 algorithm description").
fn xxh64(data: &[u8]) -> u64 {
    const P1: u64 = 0x9e37_79b1_85eb_ca87;
    const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
    const P3: u64 = 0x1656_67b1_9e37_79f9;
    const P4: u64 = 0x85eb_ca77_c2b2_ae63;
    const P5: u64 = 0x27d4_eb2f_1656_67c5;
    let round = |acc: u64, lane: u64| acc.wrapping_add(lane.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1);
    let lane = |chunk: &[u8]| bits::read(chunk, 0, 64).swap_bytes();

    let mut stripes = data.chunks_exact(32);
    let mut hash = if data.len() >= 32 {
        let mut acc = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];
        for stripe in stripes.by_ref() {
            for (acc, chunk) in acc.iter_mut().zip(stripe.chunks_exact(8)) {
                *acc = round(*acc, lane(chunk));
            }
        }
        let [a, b, c, d] = acc;
        let mut hash = a
            .rotate_left(1)
            .wrapping_add(b.rotate_left(7))
            .wrapping_add(c.rotate_left(12))
            .wrapping_add(d.rotate_left(18));
        for acc in acc {
            hash = (hash ^ round(0, acc)).wrapping_mul(P1).wrapping_add(P4);
        }
        hash
    } else {
        P5
    };
    hash = hash.wrapping_add(data.len() as u64);

    let mut lanes = stripes.remainder().chunks_exact(8);
    for chunk in lanes.by_ref() {
        hash = (hash ^ round(0, lane(chunk))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let mut words = lanes.remainder().chunks_exact(4);
    for chunk in words.by_ref() {
        let word = u64::from((bits::read(chunk, 0, 32) as u32).swap_bytes());
        hash = (hash ^ word.wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for &byte in words.remainder() {
        hash = (hash ^ u64::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the CRC catalogue (reveng) for "123456789".
    const CHECK: &[u8] = b"123456789";

    fn hash(name: &str, data: &[u8]) -> u64 {
        Algorithm::named(name).unwrap().compute(data)
    }

    #[test]
    fn crcs_have_the_catalogue_check_values() {
        assert_eq!(hash("crc8_custom", CHECK), 0xf4); // CRC-8/SMBUS
        assert_eq!(hash("crc16", CHECK), 0xbb3d); // CRC-16/ARC
        assert_eq!(hash("crcCCITT", CHECK), 0x29b1); // CRC-16/IBM-3740
        assert_eq!(hash("crc32", CHECK), 0xcbf4_3926); // CRC-32/ISO-HDLC
    }

    #[test]
    fn internet_checksum_of_rfc_1071() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(csum16(&data), !0xddf2);
        assert_eq!(csum16(&[]), 0xffff);
        assert_eq!(csum16(&[0x12]), !0x1200);
    }

    #[test]
    fn xxh64_test_vectors() {
        assert_eq!(hash("xxh64", b""), 0xef46_db37_51d8_e999);
        assert_eq!(hash("xxh64", b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(hash("xxh64", b"abc"), 0x44bc_2cf5_ad77_0999);
        let long = b"Nobody inspects the spammish repetition";
        assert_eq!(hash("xxh64", long), 0xfbce_a83c_8a37_8bf1);
    }

    #[test]
    fn xors_pad_at_the_end() {
        assert_eq!(hash("xor16", &[0x12, 0x34, 0x56]), 0x1234 ^ 0x5600);
        assert_eq!(hash("xor32", &[1, 2, 3, 4, 5]), 0x0102_0304 ^ 0x0500_0000);
    }

    #[test]
    fn identity_is_the_first_eight_bytes() {
        assert_eq!(hash("identity", &[1, 2, 3]), 0x0001_0203);
        assert_eq!(hash("identity", &[1, 2, 3, 4, 5, 6, 7, 8, 9]), 0x0102_0304_0506_0708);
        assert_eq!(hash("identity", &[]), 0);
    }
}
