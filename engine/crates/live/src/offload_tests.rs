use super::*;

const SOURCE: [u8; 4] = [10, 0, 0, 1];
const DESTINATION: [u8; 4] = [10, 0, 0, 2];

/// An Ethernet frame with IPv4 and a transport header of `transport` whose checksum is unfinished.
fn ipv4_frame(protocol: u8, transport: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let length = (20 + transport.len() + payload.len()) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0]);
    frame.extend(SOURCE);
    frame.extend(DESTINATION);
    let checksum = !fold(sum(&frame[14..34], 0));
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(transport);
    frame.extend(payload);
    frame
}

fn ipv6_frame(protocol: u8, transport: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0];
    frame.extend(((transport.len() + payload.len()) as u16).to_be_bytes());
    frame.extend([protocol, 64]);
    frame.extend([0xfd; 16]);
    frame.extend([0xfe; 16]);
    frame.extend(transport);
    frame.extend(payload);
    frame
}

fn tcp_header(sequence: u32, flags: u8) -> Vec<u8> {
    let mut header = vec![0x12, 0x34, 0, 80];
    header.extend(sequence.to_be_bytes());
    header.extend([0, 0, 0, 9, 0x80, flags, 0xff, 0xff, 0, 0, 0, 0]);
    header.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]); // timestamps
    header
}

fn run(frame: &[u8], header: VnetHeader, vlan: Option<Vlan>) -> Result<Vec<Vec<u8>>, Malformed> {
    let (mut frame, mut scratch, mut frames) = (frame.to_vec(), Vec::new(), Vec::new());
    complete(&mut frame, header, vlan, &mut scratch, |frame| frames.push(frame.to_vec()))?;
    Ok(frames)
}

/// Whether the checksum over pseudo-header and transport adds up (RFC 1071: to all ones).
fn transport_adds_up(packet: &[u8]) -> bool {
    let (addresses, transport_at, protocol) =
        if packet[0] >> 4 == 4 { (12..20, 20, packet[9]) } else { (8..40, 40, packet[6]) };
    let start = u64::from(protocol) + (packet.len() - transport_at) as u64;
    fold(sum(&packet[transport_at..], sum(&packet[addresses], start))) == 0xffff
}

#[test]
fn a_partial_checksum_is_finished() {
    for payload_bytes in [0, 1, 3, 1000] {
        let payload: Vec<u8> = (0..payload_bytes).map(|n| n as u8).collect();
        let length = (8 + payload_bytes) as u16;
        let mut udp = vec![0x12, 0x34, 0x56, 0x78];
        udp.extend(length.to_be_bytes());
        let pseudo = fold(sum(&DESTINATION, sum(&SOURCE, u64::from(length) + 17)));
        udp.extend(pseudo.to_be_bytes());
        let header = VnetHeader { needs_csum: true, csum_start: 34, csum_offset: 6, ..VnetHeader::default() };
        let frames = run(&ipv4_frame(17, &udp, &payload), header, None).unwrap();
        assert!(transport_adds_up(&frames[0][14..]));
    }
}

#[test]
fn a_finished_frame_is_left_alone() {
    let frame = ipv4_frame(17, &[0; 8], b"abc");
    assert_eq!(run(&frame, VnetHeader::default(), None).unwrap(), [frame]);
}

#[test]
fn a_vlan_tag_returns_to_its_place() {
    let frame = ipv4_frame(17, &[0; 8], b"abc");
    let tagged = &run(&frame, VnetHeader::default(), Some(Vlan { tpid: 0x8100, tci: 5 })).unwrap()[0];
    assert_eq!(tagged[12..16], [0x81, 0, 0, 5]);
    assert_eq!([&tagged[..12], &tagged[16..]].concat(), frame);
}

#[test]
fn tcp_is_segmented() {
    let payload: Vec<u8> = (0..3500u32).map(|n| (n * 7) as u8).collect();
    let transport = tcp_header(u32::MAX - 1000, 0x99); // CWR, ACK, PSH, FIN; the sequence number wraps
    for (gso_type, frame, l3_bytes) in
        [(GSO_TCPV4, ipv4_frame(6, &transport, &payload), 20), (GSO_TCPV6, ipv6_frame(6, &transport, &payload), 40)]
    {
        for vlan in [None, Some(Vlan { tpid: 0x8100, tci: 7 })] {
            let header = VnetHeader {
                needs_csum: true,
                gso_type,
                gso_size: 1448,
                csum_start: 14 + l3_bytes as u16,
                csum_offset: 16,
            };
            let tag = if vlan.is_some() { 4 } else { 0 };
            let segments = run(&frame, header, vlan).unwrap();
            let mut joined: Vec<u8> = Vec::new();
            for (index, segment) in segments.iter().enumerate() {
                let packet = &segment[14 + tag..];
                let tcp = &packet[l3_bytes..];
                assert!(transport_adds_up(packet));
                let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
                assert_eq!(sequence, (u32::MAX - 1000).wrapping_add(1448 * index as u32));
                assert_eq!(tcp[13], [0x90, 0x10, 0x19][index]);
                if l3_bytes == 20 {
                    assert_eq!(fold(sum(&packet[..20], 0)), 0xffff);
                    assert_eq!(u16::from_be_bytes([packet[2], packet[3]]) as usize, packet.len());
                    assert_eq!(u16::from_be_bytes([packet[4], packet[5]]), 0x1234 + index as u16);
                } else {
                    assert_eq!(u16::from_be_bytes([packet[4], packet[5]]) as usize, packet.len() - 40);
                }
                joined.extend(&tcp[32..]);
            }
            assert_eq!(segments.len(), 3);
            assert_eq!(joined, payload);
        }
    }
}

#[test]
fn udp_is_segmented() {
    let header = VnetHeader { needs_csum: true, gso_type: GSO_UDP_L4, gso_size: 100, csum_start: 34, csum_offset: 6 };
    let segments = run(&ipv4_frame(17, &[1, 2, 3, 4, 0, 0, 0, 0], &[7; 250]), header, None).unwrap();
    let lengths: Vec<u16> = segments.iter().map(|s| u16::from_be_bytes([s[38], s[39]])).collect();
    assert_eq!(lengths, [108, 108, 58]);
    assert!(segments.iter().all(|s| transport_adds_up(&s[14..])));
}

#[test]
fn no_header_and_frame_make_it_panic() {
    let mut stream = link::random::Stream::new(1, "frames");
    let good = ipv4_frame(6, &tcp_header(1, 0x10), &[0; 200]);
    for _ in 0..200_000 {
        let mut frame = good[..stream.next_u64() as usize % (good.len() + 1)].to_vec();
        for _ in 0..stream.next_u64() % 4 {
            if !frame.is_empty() {
                let at = stream.next_u64() as usize % frame.len().min(60);
                frame[at] = stream.next_u64() as u8;
            }
        }
        let mut word = || (stream.next_u64() % if stream.chance(0.125) { 65_536 } else { 64 }) as u16;
        let header = VnetHeader {
            needs_csum: word() % 4 > 0,
            gso_type: [0, 1, 3, 4, 5][word() as usize % 5],
            gso_size: word(),
            csum_start: word(),
            csum_offset: word(),
        };
        let vlan = (word() % 2 == 0).then_some(Vlan { tpid: 0x8100, tci: 1 });
        let _ = run(&frame, header, vlan);
    }
}
