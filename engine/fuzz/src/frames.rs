//! How a target reads its input: frames one after the other, or a body to put behind sound headers, so that a checksum
//! that no mutation would meet hides nothing.

use sim::frame::multicast_mac;

use crate::checks::sum;

const ETHERNET: usize = 14;
const UDP: u8 = 17;
const IGMP: u8 = 2;
const SWITCH_MAC: [u8; 6] = [2, 0, 0, 0, 0, 0xfe];

/// Frames in an input: each a port, a pause in units of 2^16 us, a length of two bytes, and so many bytes.
pub struct Steps<'a>(pub &'a [u8]);

impl<'a> Iterator for Steps<'a> {
    /// Pause in us, port, frame.
    type Item = (u64, u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [port, pause, high, low, rest @ ..] = self.0 else { return None };
        let (frame, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()));
        self.0 = rest;
        Some((u64::from(*pause) << 16, u16::from(*port), frame))
    }
}

/// An IGMP message, its checksum made right, from a host's port to all IGMPv3 routers.
pub fn igmp_frame(port: u16, body: &[u8]) -> Vec<u8> {
    let mut message = body.to_vec();
    if let Some(field) = message.get_mut(2..4) {
        field.fill(0);
        let checksum = !sum(&message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    // With the router alert option (RFC 3376, section 4).
    ipv4_frame([224, 0, 0, 22], port, IGMP, 1, &[0x94, 4, 0, 0], &message)
}

/// A Canopy datagram from a host's port: `to` is the last byte of a group (even) or of a host (odd).
pub fn canopy_frame(port: u16, to: u8, body: &[u8]) -> Vec<u8> {
    let destination = if to & 1 == 0 { [232, 1, 1, 1] } else { [10, 0, 0, to >> 1] };
    let length = (body.len() + 8) as u16;
    let mut datagram = Vec::with_capacity(body.len() + 8);
    for field in [5000, 5000, length, 0] {
        datagram.extend_from_slice(&u16::to_be_bytes(field));
    }
    datagram.extend_from_slice(body);
    ipv4_frame(destination, port, UDP, 64, &[], &datagram)
}

fn ipv4_frame(destination: [u8; 4], port: u16, protocol: u8, ttl: u8, options: &[u8], body: &[u8]) -> Vec<u8> {
    let mac = if destination[0] >= 224 { multicast_mac(destination.into()) } else { SWITCH_MAC };
    let header_bytes = 20 + options.len();
    let mut frame = Vec::with_capacity(ETHERNET + header_bytes + body.len());
    frame.extend_from_slice(&mac);
    frame.extend_from_slice(&[2, 0, 0, 0, 1, port as u8, 8, 0]);
    let length = (header_bytes + body.len()) as u16;
    frame.extend_from_slice(&[0x40 | (header_bytes / 4) as u8, 0]);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0x40, 0, ttl, protocol, 0, 0]);
    // The source of the groups is behind port 1; the others' hosts have their port's number.
    frame.extend_from_slice(&if port == 1 { [10, 0, 1, 1] } else { [10, 0, 0, port as u8] });
    frame.extend_from_slice(&destination);
    frame.extend_from_slice(options);
    let checksum = !sum(&frame[ETHERNET..]);
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(body);
    frame
}
