//! Hash and checksum algorithms over a byte string, with BMv2's parameters.

use crc::{Crc, CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISO_HDLC, CRC_8_SMBUS};
use twox_hash::XxHash64;

use crate::csum;
use crate::value::bits;

/// BMv2's parameters, which no catalogue has.
const CRC_64_BMV2: crc::Algorithm<u64> =
    crc::Algorithm { width: 64, poly: 0x1b, init: 0, refin: true, refout: true, xorout: 0, check: 0, residue: 0 };

#[derive(Debug, Clone, Copy)]
pub(crate) enum Algorithm {
    Crc8,
    Crc16,
    CrcCcitt,
    Crc32,
    Crc64,
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
        match name {
            "crc8_custom" => Some(Self::Crc8),
            "crc16" | "crc16_custom" => Some(Self::Crc16),
            "crcCCITT" => Some(Self::CrcCcitt),
            "crc32" | "crc32_custom" => Some(Self::Crc32),
            "crc64_custom" => Some(Self::Crc64),
            "csum16" | "cksum16" => Some(Self::Csum16),
            "xor16" => Some(Self::Xor16),
            "xor32" => Some(Self::Xor32),
            "identity" => Some(Self::Identity),
            "xxh64" | "bmv2_hash" => Some(Self::XxHash64),
            "hash_ex" => Some(Self::Fnv),
            _ => None,
        }
    }

    pub(crate) fn compute(self, data: &[u8]) -> u64 {
        static CRC_8: Crc<u8> = Crc::<u8>::new(&CRC_8_SMBUS);
        static CRC_16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
        static CRC_CCITT: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);
        static CRC_32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
        static CRC_64: Crc<u64> = Crc::<u64>::new(&CRC_64_BMV2);
        match self {
            Self::Crc8 => CRC_8.checksum(data).into(),
            Self::Crc16 => CRC_16.checksum(data).into(),
            Self::CrcCcitt => CRC_CCITT.checksum(data).into(),
            Self::Crc32 => CRC_32.checksum(data).into(),
            Self::Crc64 => CRC_64.checksum(data),
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
            Self::XxHash64 => XxHash64::oneshot(0, data),
            Self::Fnv => u64::from(fnv(data)),
        }
    }
}

/// The internet checksum of `data`, padded with a zero byte to whole words.
pub(crate) fn csum16(data: &[u8]) -> u16 {
    !csum::fold(csum::sum(data, 0))
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
    fn crc64_is_the_definition_bit_by_bit() {
        let bit_by_bit = |data: &[u8]| {
            let poly = 0x1b_u64.reverse_bits();
            data.iter().fold(0, |crc, &byte| {
                (0..8).fold(crc ^ u64::from(byte), |crc, _| (crc >> 1) ^ if crc & 1 == 0 { 0 } else { poly })
            })
        };
        for data in [CHECK, b"", b"\0\x80 and a longer one, of more than sixteen bytes"] {
            assert_eq!(hash("crc64_custom", data), bit_by_bit(data));
        }
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
