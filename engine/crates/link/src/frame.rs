//! What a queue reads of an Ethernet frame, and the mark that it leaves there.

use crate::ecn::{Arrival, Ecn, CONGESTION_EXPERIENCED};

/// Octets of the headers.
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TOS: usize = ETHERNET + 1;
const CHECKSUM: usize = ETHERNET + 10;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];

/// More fragments, or an offset: what follows the header need not be ports.
const FRAGMENT: u16 = 0x3fff;
/// Protocols whose header begins with source and destination port: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// Length, ECN codepoint and flow of a frame. The fragments of a flow's packets are a flow of their own; so are all frames
/// between two MAC addresses that are not IPv4.
pub fn arrival(frame: &[u8]) -> Arrival {
    let len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    if !is_ipv4(frame) {
        let flow = frame.chunks(8).take(2).fold(0, |flow, part| {
            let word = part.iter().fold(0, |word, &octet| word << 8 | u64::from(octet));
            mix(flow ^ word)
        });
        return Arrival { len, ecn: Ecn::NotEct, flow: flow as u32 };
    }
    let ip = &frame[ETHERNET..];
    let header = usize::from(ip[0] & 0x0f) * 4;
    let ports = match ip.get(header..header + 4) {
        Some(&[a, b, c, d]) if WITH_PORTS.contains(&ip[9]) && be16(&ip[6..]) & FRAGMENT == 0 => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    };
    Arrival { len, ecn: Ecn::from_tos(ip[1]), flow: flow_hash(be32(&ip[12..]), be32(&ip[16..]), ip[9], ports) }
}

/// A hash of an IPv4 flow: source, destination, protocol, and the ports or zeros.
pub fn flow_hash(source: u32, destination: u32, protocol: u8, ports: (u16, u16)) -> u32 {
    let addresses = u64::from(source) << 32 | u64::from(destination);
    let rest = u64::from(protocol) << 32 | u64::from(ports.0) << 16 | u64::from(ports.1);
    mix(mix(addresses) ^ rest) as u32
}

/// SplitMix64's output function (Steele, Lea and Flood 2014): every bit of the input moves every bit of the result.
pub(crate) fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Sets congestion experienced in an IPv4 frame that is ECN capable, and corrects the header's checksum (RFC 1624).
pub fn mark(frame: &mut [u8]) {
    if is_ipv4(frame) && Ecn::from_tos(frame[TOS]).is_capable() {
        let old = be16(&frame[ETHERNET..]);
        let new = old | u16::from(CONGESTION_EXPERIENCED);
        let sum = u32::from(!be16(&frame[CHECKSUM..])) + u32::from(!old) + u32::from(new);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[TOS] |= CONGESTION_EXPERIENCED;
        frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

fn is_ipv4(frame: &[u8]) -> bool {
    frame.len() >= ETHERNET + IPV4 && frame[12..14] == ETHERTYPE_IPV4 && frame[ETHERNET] >> 4 == 4
}

fn be16(octets: &[u8]) -> u16 {
    u16::from_be_bytes([octets[0], octets[1]])
}

fn be32(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    const UDP: u8 = 17;

    /// A UDP packet of the TOS byte `tos` with 4 octets of IPv4 options if `options`.
    fn frame(tos: u8, ports: (u16, u16), options: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend(ETHERTYPE_IPV4);
        let words = 5 + u8::from(options);
        frame.extend([0x40 | words, tos, 0, 40, 0, 7, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(vec![1; if options { 4 } else { 0 }]);
        frame.extend(ports.0.to_be_bytes());
        frame.extend(ports.1.to_be_bytes());
        frame.extend([0; 12]);
        let sum = checksum(&frame);
        frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// The header's checksum from the beginning (RFC 1071); over a header that holds its own, zero.
    fn checksum(frame: &[u8]) -> u16 {
        let header = usize::from(frame[ETHERNET] & 0x0f) * 4;
        let words = frame[ETHERNET..ETHERNET + header].chunks_exact(2);
        let sum: u32 = words.map(|word| u32::from(be16(word))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_frame_says_its_length_codepoint_and_flow() {
        for (tos, ecn) in [(0xb8, Ecn::NotEct), (0xb9, Ecn::Ect1), (2, Ecn::Ect0), (3, Ecn::Ce)] {
            for options in [false, true] {
                let frame = frame(tos, (5000, 6000), options);
                let flow = flow_hash(0x0a00_0001, 0x0a00_0002, UDP, (5000, 6000));
                assert_eq!(arrival(&frame), Arrival { len: frame.len() as u32, ecn, flow });
            }
        }
        assert_ne!(arrival(&frame(0, (5000, 6000), false)).flow, arrival(&frame(0, (6000, 5000), false)).flow);
    }

    #[test]
    fn fragments_of_one_pair_stay_together() {
        let fragment = |ports| {
            let mut frame = frame(0, ports, false);
            frame[ETHERNET + 6] = 0x20; // more fragments
            arrival(&frame).flow
        };
        assert_eq!(fragment((1, 2)), fragment((3, 4)));
        assert_eq!(fragment((1, 2)), flow_hash(0x0a00_0001, 0x0a00_0002, UDP, (0, 0)));
    }

    #[test]
    fn a_mark_keeps_every_checksum_right() {
        let mut stream = Stream::new(1, "headers");
        for n in 0..20_000u32 {
            let mut frame = frame(n as u8, (1, 2), n & 256 == 0);
            for octet in [4, 5, 8, 12, 13, 14, 15, 16, 17, 18, 19] {
                frame[ETHERNET + octet] = stream.next_u64() as u8;
            }
            frame[CHECKSUM..CHECKSUM + 2].fill(0);
            let sum = checksum(&frame);
            frame[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
            let before = frame.clone();
            mark(&mut frame);
            assert_eq!(checksum(&frame), 0);
            match before[TOS] & 3 {
                0 => assert_eq!(frame, before), // not ECN capable: never marked
                _ => assert_eq!(frame[TOS], before[TOS] | 3),
            }
        }
    }

    #[test]
    fn what_is_no_ipv4_or_cut_short_is_left_alone() {
        let good = frame(2, (1, 2), false);
        for len in 0..good.len() {
            let mut cut = good[..len].to_vec();
            assert_eq!(arrival(&cut).len, len as u32);
            mark(&mut cut);
            if len < ETHERNET + IPV4 {
                assert_eq!(cut, good[..len]);
            }
        }
        let mut other = good.clone();
        other[12] = 0x86;
        assert_eq!(arrival(&other).ecn, Ecn::NotEct);
        let before = other.clone();
        mark(&mut other);
        assert_eq!(other, before);
    }
}
