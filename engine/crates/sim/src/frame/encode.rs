//! From a packet to octets.

use super::*;
use crate::packet::{Packet, Tcp, Udp};

/// A simulated receiver's window is not the header's to limit.
const TCP_WINDOW: u16 = u16::MAX;

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
    let total = (packet.body.frame_octets() - ETHERNET) as u16;
    out.extend_from_slice(&[0x40 | ((IPV4 + options.len()) / 4) as u8, packet.ecn & link::ecn::ECN_MASK]);
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
        | if opening { 0 } else { TCP_ACK }
        | if segment.ecn.ece { TCP_ECE } else { 0 }
        | if segment.ecn.cwr { TCP_CWR } else { 0 };
    out.extend_from_slice(&tcp.source_port.to_be_bytes());
    out.extend_from_slice(&tcp.destination_port.to_be_bytes());
    out.extend_from_slice(&segment.seq.to_be_bytes());
    out.extend_from_slice(&segment.ack.to_be_bytes());
    let words = (TCP + segment.options_len()) / 4;
    out.extend_from_slice(&[(words << 4) as u8 | u8::from(segment.ecn.ae), flags]);
    out.extend_from_slice(&TCP_WINDOW.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    if let Some(timestamps) = segment.timestamps {
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, TIMESTAMPS_LEN]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
    if let Some(count) = segment.marked_octets {
        // The count of ECT(0) octets, which stands before, is not modelled.
        out.extend_from_slice(&[OPTION_ACC_ECN, ACC_ECN_LEN, 0, 0, 0]);
        out.extend_from_slice(&count.to_be_bytes()[1..]);
    }
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
