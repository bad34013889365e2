//! Packets as octets: Ethernet, IPv4, and UDP, TCP or IGMP, with their checksums.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::igmp;
use crate::packet::{Body, Packet, Tcp, Udp, ECN_CONGESTION_EXPERIENCED, ECN_MASK};
use crate::tcp::{SackBlocks, Segment};

pub type Mac = [u8; 6];

const ETHERNET: usize = 14;
const IPV4: usize = 20;
/// IGMP travels with the router alert option (RFC 3376, section 4; RFC 2113).
const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0x00, 0x00];
const UDP: usize = 8;
const TCP: usize = 20;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_IGMP: u8 = 2;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

const TCP_FIN: u8 = 0x01;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
/// A simulated receiver's window is not the header's to limit.
const TCP_WINDOW: u16 = u16::MAX;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;

const IGMP_QUERY: u8 = 0x11;
const IGMP_REPORT_V2: u8 = 0x16;
const IGMP_LEAVE_V2: u8 = 0x17;
const IGMP_REPORT_V3: u8 = 0x22;
/// Fields of a version 3 query beyond version 2's eight octets: robustness 2, default interval, no sources.
const IGMP_QUERY_V3_REST: [u8; 4] = [0x02, 125, 0, 0];
/// A version 3 report's header, and a record's before its sources.
const IGMP_HEADER: usize = 8;

/// Why a frame is no packet to this host or router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    Truncated,
    /// No IPv4, a fragment, or a protocol that nothing here speaks.
    Unsupported,
    Malformed,
    Checksum,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameError::Truncated => "truncated",
            FrameError::Unsupported => "unsupported",
            FrameError::Malformed => "malformed",
            FrameError::Checksum => "checksum",
        })
    }
}

/// Octets of the frame that carries `body`.
pub fn length(body: &Body) -> usize {
    ETHERNET
        + IPV4
        + match body {
            Body::Udp(udp) => UDP + udp.payload.as_slice().len(),
            Body::Tcp(tcp) => TCP + tcp.segment.sack.option_len() + tcp.segment.len as usize,
            Body::Igmp(message) => ROUTER_ALERT.len() + igmp_length(message),
        }
}

fn igmp_length(message: &igmp::Message) -> usize {
    match message {
        igmp::Message::Query { .. } => IGMP_HEADER + IGMP_QUERY_V3_REST.len(),
        igmp::Message::ReportV2(_) | igmp::Message::LeaveV2(_) => IGMP_HEADER,
        igmp::Message::Report(records) => {
            IGMP_HEADER + records.iter().map(|record| IGMP_HEADER + 4 * record.sources.len()).sum::<usize>()
        }
    }
}

/// Where a group's packets go on an Ethernet (RFC 1112, section 6.4).
pub fn multicast_mac(group: Ipv4Addr) -> Mac {
    let [_, b, c, d] = group.octets();
    [0x01, 0x00, 0x5e, b & 0x7f, c, d]
}

/// The frame's destination address.
pub fn destination_mac(frame: &[u8]) -> Option<Mac> {
    frame.first_chunk().copied()
}

/// Builds the frame; a packet to a group ignores `destination`.
pub fn encode(packet: &Packet, source: Mac, destination: Mac) -> Vec<u8> {
    let mut out = Vec::with_capacity(packet.len as usize);
    let is_group = packet.destination.is_multicast();
    out.extend_from_slice(&if is_group { multicast_mac(packet.destination) } else { destination });
    out.extend_from_slice(&source);
    out.extend_from_slice(&ETHERTYPE_IPV4);
    let (protocol, options): (u8, &[u8]) = match packet.body {
        Body::Udp(_) => (PROTOCOL_UDP, &[]),
        Body::Tcp(_) => (PROTOCOL_TCP, &[]),
        Body::Igmp(_) => (PROTOCOL_IGMP, &ROUTER_ALERT),
    };
    let total = (length(&packet.body) - ETHERNET) as u16;
    out.extend_from_slice(&[0x40 | ((IPV4 + options.len()) / 4) as u8, packet.ecn & ECN_MASK]);
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&[0, 0, 0x40, 0, packet.ttl, protocol, 0, 0]); // no identification, don't fragment
    out.extend_from_slice(&packet.source.octets());
    out.extend_from_slice(&packet.destination.octets());
    out.extend_from_slice(options);
    let header = ETHERNET..out.len();
    let sum = checksum(0, &out[header.clone()]);
    out[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    let start = header.end;
    let checksum_at = match &packet.body {
        Body::Udp(udp) => encode_udp(udp, &mut out),
        Body::Tcp(tcp) => encode_tcp(tcp, &mut out),
        Body::Igmp(message) => encode_igmp(message, &mut out),
    };
    let pseudo = match protocol {
        PROTOCOL_IGMP => 0,
        _ => pseudo_header(packet.source, packet.destination, protocol, out.len() - start),
    };
    let mut sum = checksum(pseudo, &out[start..]);
    if protocol == PROTOCOL_UDP && sum == 0 {
        sum = u16::MAX; // zero means none (RFC 768)
    }
    out[start + checksum_at..][..2].copy_from_slice(&sum.to_be_bytes());
    out
}

/// Each of these appends a protocol's header and payload, and returns where in it the checksum belongs.
fn encode_udp(udp: &Udp, out: &mut Vec<u8>) -> usize {
    let payload = udp.payload.as_slice();
    out.extend_from_slice(&udp.source_port.to_be_bytes());
    out.extend_from_slice(&udp.destination_port.to_be_bytes());
    out.extend_from_slice(&((UDP + payload.len()) as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(payload);
    6
}

fn encode_tcp(tcp: &Tcp, out: &mut Vec<u8>) -> usize {
    let segment = &tcp.segment;
    let opening = segment.syn && segment.ack == 0;
    let flags = if segment.syn { TCP_SYN } else { 0 }
        | if segment.fin { TCP_FIN } else { 0 }
        | if opening { 0 } else { TCP_ACK };
    out.extend_from_slice(&tcp.source_port.to_be_bytes());
    out.extend_from_slice(&tcp.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    let words = (TCP + segment.sack.option_len()) / 4;
    out.extend_from_slice(&[(words << 4) as u8, flags]);
    out.extend_from_slice(&TCP_WINDOW.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    let blocks = segment.sack.as_slice();
    if !blocks.is_empty() {
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, (2 + 8 * blocks.len()) as u8]);
        for (start, end) in blocks {
            out.extend_from_slice(&start.to_be_bytes());
            out.extend_from_slice(&end.to_be_bytes());
        }
    }
    out.resize(out.len() + segment.len as usize, 0);
    16
}

fn encode_igmp(message: &igmp::Message, out: &mut Vec<u8>) -> usize {
    match message {
        igmp::Message::Query { group, max_response } => {
            out.extend_from_slice(&[IGMP_QUERY, *max_response, 0, 0]);
            out.extend_from_slice(&group.octets());
            out.extend_from_slice(&IGMP_QUERY_V3_REST);
        }
        igmp::Message::ReportV2(group) | igmp::Message::LeaveV2(group) => {
            let is_leave = matches!(message, igmp::Message::LeaveV2(_));
            out.extend_from_slice(&[if is_leave { IGMP_LEAVE_V2 } else { IGMP_REPORT_V2 }, 0, 0, 0]);
            out.extend_from_slice(&group.octets());
        }
        igmp::Message::Report(records) => {
            out.extend_from_slice(&[IGMP_REPORT_V3, 0, 0, 0, 0, 0]);
            out.extend_from_slice(&(records.len() as u16).to_be_bytes());
            for record in records {
                out.extend_from_slice(&[record.kind as u8, 0]);
                out.extend_from_slice(&(record.sources.len() as u16).to_be_bytes());
                out.extend_from_slice(&record.group.octets());
                record.sources.iter().for_each(|source| out.extend_from_slice(&source.octets()));
            }
        }
    }
    2
}

/// Reads a frame. What follows the IP packet (padding) is ignored; `len` of the packet is the frame's all the same.
pub fn decode(frame: &[u8]) -> Result<Packet, FrameError> {
    let (ethernet, ip) = split(frame, ETHERNET)?;
    if ethernet[12..14] != ETHERTYPE_IPV4 {
        return Err(FrameError::Unsupported);
    }
    let (first, _) = split(ip, IPV4)?;
    let header_len = usize::from(first[0] & 0x0f) * 4;
    let total = usize::from(be16(&first[2..]));
    if first[0] >> 4 != 4 || header_len < IPV4 || total < header_len {
        return Err(FrameError::Malformed);
    }
    let (ip, _) = split(ip, total)?;
    let (header, body) = split(ip, header_len)?;
    if checksum(0, header) != 0 {
        return Err(FrameError::Checksum);
    }
    if be16(&header[6..]) & 0x3fff != 0 {
        return Err(FrameError::Unsupported); // a fragment
    }
    let (source, destination) = (address(&header[12..]), address(&header[16..]));
    let protocol = header[9];
    let pseudo = pseudo_header(source, destination, protocol, body.len());
    let body = match protocol {
        PROTOCOL_UDP => Body::Udp(Arc::new(decode_udp(body, pseudo)?)),
        PROTOCOL_TCP => Body::Tcp(Arc::new(decode_tcp(body, pseudo)?)),
        PROTOCOL_IGMP => Body::Igmp(Arc::new(decode_igmp(body)?)),
        _ => return Err(FrameError::Unsupported),
    };
    Ok(Packet { source, destination, ttl: header[8], ecn: header[1] & ECN_MASK, len: frame.len() as u32, body })
}

fn decode_udp(octets: &[u8], pseudo: u64) -> Result<Udp, FrameError> {
    let (header, _) = split(octets, UDP)?;
    let len = usize::from(be16(&header[4..]));
    if len < UDP || len > octets.len() {
        return Err(FrameError::Malformed);
    }
    if be16(&header[6..]) != 0 && checksum(pseudo, octets) != 0 {
        return Err(FrameError::Checksum);
    }
    let payload = octets[UDP..len].to_vec().into();
    Ok(Udp { source_port: be16(header), destination_port: be16(&header[2..]), payload })
}

fn decode_tcp(octets: &[u8], pseudo: u64) -> Result<Tcp, FrameError> {
    let (header, _) = split(octets, TCP)?;
    let offset = usize::from(header[12] >> 4) * 4;
    if offset < TCP {
        return Err(FrameError::Malformed);
    }
    let (with_options, payload) = split(octets, offset)?;
    if checksum(pseudo, octets) != 0 {
        return Err(FrameError::Checksum);
    }
    let flags = header[13];
    let segment = Segment {
        seq: be32(&header[4..]),
        ack: be32(&header[8..]),
        syn: flags & TCP_SYN != 0,
        fin: flags & TCP_FIN != 0,
        len: payload.len() as u32,
        sack: decode_sack(&with_options[TCP..])?,
    };
    Ok(Tcp { source_port: be16(header), destination_port: be16(&header[2..]), segment })
}

fn decode_sack(mut options: &[u8]) -> Result<SackBlocks, FrameError> {
    let mut sack = SackBlocks::default();
    while let [kind, rest @ ..] = options {
        match *kind {
            0 => break,
            OPTION_NOP => options = rest,
            kind => {
                let len = usize::from(*rest.first().ok_or(FrameError::Malformed)?);
                if len < 2 || len > options.len() {
                    return Err(FrameError::Malformed);
                }
                if kind == OPTION_SACK {
                    options[2..len].chunks_exact(8).for_each(|block| sack.push(be32(block), be32(&block[4..])));
                }
                options = &options[len..];
            }
        }
    }
    Ok(sack)
}

fn decode_igmp(octets: &[u8]) -> Result<igmp::Message, FrameError> {
    let (header, mut rest) = split(octets, IGMP_HEADER)?;
    if checksum(0, octets) != 0 {
        return Err(FrameError::Checksum);
    }
    let group = address(&header[4..]);
    match header[0] {
        IGMP_QUERY => Ok(igmp::Message::Query { group, max_response: header[1] }),
        IGMP_REPORT_V2 => Ok(igmp::Message::ReportV2(group)),
        IGMP_LEAVE_V2 => Ok(igmp::Message::LeaveV2(group)),
        IGMP_REPORT_V3 => {
            let mut records = Vec::new();
            for _ in 0..be16(&header[6..]) {
                let (record, after) = split(rest, IGMP_HEADER)?;
                let kind = igmp::RecordKind::from_wire(record[0]).ok_or(FrameError::Malformed)?;
                let (sources, after) = split(after, 4 * usize::from(be16(&record[2..])))?;
                let (_, after) = split(after, 4 * usize::from(record[1]))?; // auxiliary data
                let sources = sources.chunks_exact(4).map(address).collect();
                records.push(igmp::Record { kind, group: address(&record[4..]), sources });
                rest = after;
            }
            Ok(igmp::Message::Report(records))
        }
        _ => Err(FrameError::Unsupported),
    }
}

/// Whether a queue may mark the frame instead of dropping it.
pub fn is_ecn_capable(frame: &[u8]) -> bool {
    frame.len() >= ETHERNET + IPV4 && frame[12..14] == ETHERTYPE_IPV4 && frame[ETHERNET + 1] & ECN_MASK != 0
}

/// Sets congestion experienced in a frame that is ECN capable, and corrects the header's checksum (RFC 1624).
pub fn mark(frame: &mut [u8]) {
    if is_ecn_capable(frame) {
        let old = be16(&frame[ETHERNET..]);
        let new = old | u16::from(ECN_CONGESTION_EXPERIENCED);
        let sum = u64::from(!be16(&frame[ETHERNET + 10..])) + u64::from(!old) + u64::from(new);
        frame[ETHERNET + 1] |= ECN_CONGESTION_EXPERIENCED;
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&(!fold(sum)).to_be_bytes());
    }
}

fn split(octets: &[u8], at: usize) -> Result<(&[u8], &[u8]), FrameError> {
    octets.split_at_checked(at).ok_or(FrameError::Truncated)
}

fn be16(octets: &[u8]) -> u16 {
    u16::from_be_bytes([octets[0], octets[1]])
}

fn be32(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

fn address(octets: &[u8]) -> Ipv4Addr {
    Ipv4Addr::from(be32(octets))
}

fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: usize) -> u64 {
    let halves = |address: Ipv4Addr| u64::from(u32::from(address) >> 16) + u64::from(u32::from(address) & 0xffff);
    halves(source) + halves(destination) + u64::from(protocol) + len as u64
}

/// The Internet checksum (RFC 1071) of `octets` on top of `start`; over data that holds its checksum, zero.
fn checksum(start: u64, octets: &[u8]) -> u16 {
    let mut words = octets.chunks_exact(2);
    let sum = words.by_ref().fold(start, |sum, word| sum + u64::from(be16(word)));
    let odd = words.remainder().first().map_or(0, |&last| u64::from(last) << 8);
    !fold(sum + odd)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);
    const MAC_A: Mac = [2, 0, 0, 0, 0, 1];
    const MAC_B: Mac = [2, 0, 0, 0, 0, 2];

    fn there_and_back(packet: &Packet) -> Packet {
        let frame = encode(packet, MAC_A, MAC_B);
        assert_eq!(frame.len(), packet.len as usize);
        let read = decode(&frame).expect("a frame of our own");
        assert_eq!((read.source, read.destination, read.ttl, read.ecn, read.len), {
            (packet.source, packet.destination, packet.ttl, packet.ecn, packet.len)
        });
        read
    }

    #[test]
    fn datagrams_survive_the_wire() {
        for len in [0, 1, 2, 999, 1000] {
            let octets: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let read = there_and_back(&Packet::udp((A, 5000), (B, 6000), octets.clone().into()));
            let Body::Udp(udp) = read.body else { panic!("not UDP") };
            assert_eq!((udp.source_port, udp.destination_port, udp.payload.as_slice()), (5000, 6000, &octets[..]));
        }
    }

    #[test]
    fn segments_survive_the_wire() {
        let mut sack = SackBlocks::default();
        sack.push(1, 2);
        sack.push(u32::MAX - 5, 7);
        for segment in [
            Segment { syn: true, ..Segment::default() },
            Segment { syn: true, ack: 1, ..Segment::default() },
            Segment { seq: u32::MAX, ack: 77, fin: true, len: 946, ..Segment::default() },
            Segment { seq: 1, ack: 5, sack, ..Segment::default() },
        ] {
            let read = there_and_back(&Packet::tcp((A, 1), (B, 2), segment.clone()));
            let Body::Tcp(tcp) = read.body else { panic!("not TCP") };
            assert_eq!(tcp.segment, segment);
        }
    }

    #[test]
    fn a_thousand_octets_are_a_full_segment() {
        let segment = Segment { len: crate::tcp::SenderConfig::default().mss, ..Segment::default() };
        assert_eq!(Packet::tcp((A, 1), (B, 2), segment).len, 1000);
    }

    #[test]
    fn membership_messages_survive_the_wire() {
        let group = Ipv4Addr::new(232, 1, 2, 3);
        let records = vec![
            igmp::Record { kind: igmp::RecordKind::Allow, group, sources: vec![A, B] },
            igmp::Record { kind: igmp::RecordKind::ToExclude, group, sources: vec![] },
        ];
        for message in [
            igmp::Message::Query { group: Ipv4Addr::UNSPECIFIED, max_response: 100 },
            igmp::Message::Report(records),
            igmp::Message::ReportV2(group),
            igmp::Message::LeaveV2(group),
        ] {
            let packet = Packet::new(A, igmp::REPORT_ADDRESS, Body::Igmp(Arc::new(message.clone())));
            assert_eq!(packet.ttl, 1);
            let Body::Igmp(read) = there_and_back(&packet).body else { panic!("not IGMP") };
            assert_eq!(*read, message);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let good = encode(&Packet::udp((A, 1), (B, 2), vec![7; 50].into()), MAC_A, MAC_B);
        assert_eq!(decode(&good[..good.len() - 1]).err(), Some(FrameError::Truncated));
        for at in ETHERNET..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(decode(&bad).is_err(), "octet {at}");
        }
        for len in 0..good.len() {
            assert!(decode(&good[..len]).is_err());
        }
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = Packet::udp((A, 1), (B, 2), vec![0; 3].into());
        packet.ecn = 0b10;
        let mut frame = encode(&packet, MAC_A, MAC_B);
        assert!(is_ecn_capable(&frame));
        mark(&mut frame);
        assert_eq!(decode(&frame).map(|packet| packet.ecn), Ok(ECN_CONGESTION_EXPERIENCED));
    }

    #[test]
    fn the_checksum_of_rfc_1071() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(0, &octets), !0xddf2);
        assert_eq!(multicast_mac(Ipv4Addr::new(239, 129, 2, 3)), [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]);
    }
}
