//! From octets to a packet.

use std::fmt;
use std::sync::Arc;

use super::*;
use crate::packet::{Packet, Tcp, Udp};
use crate::tcp::{EcnFlags, Segment, Timestamps};

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
    Ok(Packet {
        source,
        destination,
        ttl: header[8],
        ecn: header[1] & link::ecn::ECN_MASK,
        len: frame.len() as u32,
        body,
    })
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
        ecn: EcnFlags { ece: flags & TCP_ECE != 0, cwr: flags & TCP_CWR != 0, ae: header[12] & 1 != 0 },
        ..decode_options(&with_options[TCP..])?
    };
    Ok(Tcp { source_port: be16(header), destination_port: be16(&header[2..]), segment })
}

/// A segment with nothing but what its options say.
fn decode_options(mut options: &[u8]) -> Result<Segment, FrameError> {
    let mut segment = Segment::default();
    while let [kind, rest @ ..] = options {
        match *kind {
            0 => break,
            OPTION_NOP => options = rest,
            kind => {
                let len = usize::from(*rest.first().ok_or(FrameError::Malformed)?);
                if len < 2 || len > options.len() {
                    return Err(FrameError::Malformed);
                }
                match (kind, &options[2..len]) {
                    (OPTION_SACK, blocks) => {
                        blocks.chunks_exact(8).for_each(|block| segment.sack.push(be32(block), be32(&block[4..])));
                    }
                    (OPTION_TIMESTAMPS, stamps @ [_, _, _, _, _, _, _, _]) => {
                        segment.timestamps = Some(Timestamps { value: be32(stamps), echo: be32(&stamps[4..]) });
                    }
                    (OPTION_ACC_ECN, [_, _, _, high, middle, low]) => {
                        segment.marked_octets = Some(u32::from_be_bytes([0, *high, *middle, *low]));
                    }
                    _ => {}
                }
                options = &options[len..];
            }
        }
    }
    Ok(segment)
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

fn split(octets: &[u8], at: usize) -> Result<(&[u8], &[u8]), FrameError> {
    octets.split_at_checked(at).ok_or(FrameError::Truncated)
}

fn address(octets: &[u8]) -> Ipv4Addr {
    Ipv4Addr::from(be32(octets))
}
