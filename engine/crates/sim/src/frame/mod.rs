//! Packets as octets: Ethernet, IPv4, and UDP, TCP or IGMP, with their checksums.

mod decode;
mod encode;

use std::net::Ipv4Addr;

pub use decode::{decode, FrameError};
pub use encode::encode;
use p4vm::csum;

use crate::igmp::{self, IGMP_HEADER, IGMP_QUERY_V3_REST};
use crate::packet::{Body, ETHERNET, IPV4, PROTOCOL_IGMP, PROTOCOL_TCP, PROTOCOL_UDP, ROUTER_ALERT, TCP, UDP};

pub type Mac = [u8; 6];

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];

const TCP_FIN: u8 = 0x01;
const TCP_SYN: u8 = 0x02;
const TCP_ACK: u8 = 0x10;
const TCP_ECE: u8 = 0x40;
const TCP_CWR: u8 = 0x80;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
const OPTION_TIMESTAMPS: u8 = 8;
const TIMESTAMPS_LEN: u8 = 10;
/// AccECN's option with ECT(0)'s octets first (draft-ietf-tcpm-accurate-ecn, section 3.2.3), cut after the second count.
const OPTION_ACC_ECN: u8 = 172;
const ACC_ECN_LEN: u8 = 8;

const IGMP_QUERY: u8 = 0x11;
const IGMP_REPORT_V2: u8 = 0x16;
const IGMP_LEAVE_V2: u8 = 0x17;
const IGMP_REPORT_V3: u8 = 0x22;

/// Where a group's packets go on an Ethernet (RFC 1112, section 6.4).
pub fn multicast_mac(group: Ipv4Addr) -> Mac {
    let [_, b, c, d] = group.octets();
    [0x01, 0x00, 0x5e, b & 0x7f, c, d]
}

/// The frame's destination address.
pub fn destination_mac(frame: &[u8]) -> Option<Mac> {
    frame.first_chunk().copied()
}

fn be16(octets: &[u8]) -> u16 {
    u16::from_be_bytes([octets[0], octets[1]])
}

fn be32(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: usize) -> u64 {
    let halves = |address: Ipv4Addr| u64::from(u32::from(address) >> 16) + u64::from(u32::from(address) & 0xffff);
    halves(source) + halves(destination) + u64::from(protocol) + len as u64
}

/// The Internet checksum (RFC 1071) of `octets` on top of `start`; over data that holds its checksum, zero.
fn checksum(start: u64, octets: &[u8]) -> u16 {
    !csum::fold(csum::sum(octets, start))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::packet::Packet;
    use crate::tcp::{EcnFlags, SackBlocks, Segment, Timestamps};

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
            Segment {
                seq: 1,
                ack: 5,
                ecn: EcnFlags { ece: true, cwr: false, ae: true },
                timestamps: Some(Timestamps { value: u32::MAX, echo: 7 }),
                marked_octets: Some(0x00ab_cdef),
                ..Segment::default()
            },
            Segment {
                ack: 1,
                len: 1448,
                ecn: EcnFlags { cwr: true, ..EcnFlags::default() },
                sack,
                ..Segment::default()
            },
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
    fn no_frame_is_too_strange_to_read() {
        let mut stream = link::random::Stream::new(1, "frames");
        let segment = Segment { seq: 1, ack: 1, len: 40, ..Segment::default() };
        let record = igmp::Record { kind: igmp::RecordKind::Allow, group: A, sources: vec![A, B] };
        let report = Body::Igmp(Arc::new(igmp::Message::Report(vec![record.clone(), record])));
        for packet in [
            Packet::udp((A, 1), (B, 2), vec![7; 50].into()),
            Packet::tcp((A, 1), (B, 2), segment),
            Packet::new(A, igmp::REPORT_ADDRESS, report),
        ] {
            let good = encode(&packet, MAC_A, MAC_B);
            for _ in 0..20_000 {
                let mut frame = good.clone();
                for _ in 0..1 + stream.next_u64() % 4 {
                    let at = ETHERNET + stream.next_u64() as usize % (good.len() - ETHERNET);
                    frame[at] = stream.next_u64() as u8;
                }
                frame.truncate(stream.next_u64() as usize % (good.len() + 1));
                fix_checksums(&mut frame);
                let _ = decode(&frame);
            }
        }
    }

    /// Makes the checksums right where they are, so that a reader gets beyond them.
    fn fix_checksums(frame: &mut [u8]) {
        let header = usize::from(frame.get(ETHERNET).copied().unwrap_or(0) & 0x0f) * 4;
        let total = usize::from(frame.get(ETHERNET + 2..ETHERNET + 4).map_or(0, be16));
        if header < IPV4 || frame.len() < ETHERNET + header || total < header || frame.len() < ETHERNET + total {
            return;
        }
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let sum = checksum(0, &frame[ETHERNET..ETHERNET + header]);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
        let at = match frame[ETHERNET + 9] {
            PROTOCOL_UDP => 6,
            PROTOCOL_TCP => 16,
            PROTOCOL_IGMP => 2,
            _ => return,
        };
        let (source, destination) = (&frame[ETHERNET + 12..], &frame[ETHERNET + 16..]);
        let (source, destination) = (Ipv4Addr::from(be32(source)), Ipv4Addr::from(be32(destination)));
        let pseudo = match frame[ETHERNET + 9] {
            PROTOCOL_IGMP => 0,
            protocol => pseudo_header(source, destination, protocol, total - header),
        };
        let body = &mut frame[ETHERNET + header..ETHERNET + total];
        if body.len() >= at + 2 {
            body[at..at + 2].fill(0);
            let sum = checksum(pseudo, body);
            body[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }

    #[test]
    fn a_queue_learns_the_same_of_a_packet_and_of_its_frame() {
        let group = Ipv4Addr::new(232, 1, 2, 3);
        for mut packet in [
            Packet::udp((A, 5000), (B, 6000), vec![0; 3].into()),
            Packet::tcp((A, 1), (B, 2), Segment { len: 40, ..Segment::default() }),
            Packet::new(A, igmp::REPORT_ADDRESS, Body::Igmp(Arc::new(igmp::Message::ReportV2(group)))),
        ] {
            for ecn in 0..4 {
                packet.ecn = ecn;
                let mut frame = encode(&packet, MAC_A, MAC_B);
                assert_eq!(link::frame::arrival(&frame), packet.arrival(true));
                link::frame::mark(&mut frame);
                packet.mark();
                assert_eq!(decode(&frame).map(|read| read.ecn), Ok(packet.ecn));
                assert_eq!(packet.ecn, if ecn == 0 { 0 } else { 3 });
            }
        }
    }

    #[test]
    fn the_checksum_of_rfc_1071() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(0, &octets), !0xddf2);
        assert_eq!(multicast_mac(Ipv4Addr::new(239, 129, 2, 3)), [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]);
    }
}
