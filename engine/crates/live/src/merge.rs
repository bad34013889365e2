//! Puts datagrams together that leave a port at one moment: the kernel takes them as one frame, and cuts it again where a
//! wire needs that (UDP segmentation, the virtio-net header's GSO_UDP_L4). The reverse of `offload`.
//!
//! What a receiver or a capture sees is the same as if each had been sent by itself. So only datagrams go together that
//! the kernel's cutting gives back byte by byte: of one flow, with IPv4 identifications that count up, of one length but
//! for the last, and with right checksums. Frames of an emulated link with a rate leave it one after the other, and stay
//! as they are.

use p4vm::csum::{fold, sum};

use crate::offload::{GSO_UDP_L4, VNET_HEADER_BYTES};
use crate::port::Departed;

/// Datagrams in one frame: UDP_MAX_SEGMENTS of Linux before 6.9; later ones take twice as many.
pub const MOST: usize = 64;

/// Ethernet, IPv4 without options, UDP.
pub const HEADER_BYTES: usize = 42;

const IP: usize = 14;
const UDP: usize = 34;
const FLAG_NEEDS_CSUM: u8 = 1;
const PROTOCOL_UDP: u8 = 17;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const NO_OPTIONS: u8 = 0x45;
/// Of flags and fragment offset, all but "do not fragment".
const FRAGMENT: u16 = 0xbfff;

/// What stands in front of merged payloads: virtio-net header, then the frame's own headers.
pub type Front = [u8; VNET_HEADER_BYTES + HEADER_BYTES];

/// How many frames at the beginning certainly leave one by one: at least 1, unless there is none.
pub fn alone(frames: &[Departed]) -> usize {
    frames.windows(2).skip(1).take_while(|pair| !goes_on(&pair[0], &pair[1], 1)).count() + frames.len().min(1)
}

/// How many of the frames, from the first on, can leave as one: at least 1, unless there is none.
pub fn together(frames: &[Departed]) -> usize {
    let Some((first, rest)) = frames.split_first() else { return 0 };
    if !rest.first().is_some_and(|next| goes_on(first, next, 1)) || !is_whole(&first.frame) {
        return 1;
    }
    let most = MOST.min((usize::from(u16::MAX) - (HEADER_BYTES - IP)) / payload(&first.frame).max(1));
    let mut count = 1;
    for next in rest.iter().take(most.saturating_sub(1)) {
        if !goes_on(first, next, count as u16) || !is_whole(&next.frame) {
            break;
        }
        count += 1;
        if next.frame.len() < first.frame.len() {
            break; // the last one
        }
    }
    count
}

/// The front of frames that can leave as one.
pub fn front(frames: &[Departed]) -> Front {
    let first = &frames[0].frame;
    let total: usize = frames.iter().map(|one| payload(&one.frame)).sum();
    let mut front = [0; VNET_HEADER_BYTES + HEADER_BYTES];
    let (vnet, headers) = front.split_at_mut(VNET_HEADER_BYTES);
    vnet[0] = FLAG_NEEDS_CSUM;
    vnet[1] = GSO_UDP_L4;
    for (at, value) in [(2, HEADER_BYTES), (4, payload(first)), (6, UDP), (8, 6)] {
        vnet[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
    }
    headers.copy_from_slice(&first[..HEADER_BYTES]);
    let udp_bytes = (HEADER_BYTES - UDP + total) as u16;
    headers[IP + 2..IP + 4].copy_from_slice(&((UDP - IP) as u16 + udp_bytes).to_be_bytes());
    headers[IP + 10..IP + 12].fill(0);
    let checksum = !fold(sum(&headers[IP..UDP], 0));
    headers[IP + 10..IP + 12].copy_from_slice(&checksum.to_be_bytes());
    headers[UDP + 4..UDP + 6].copy_from_slice(&udp_bytes.to_be_bytes());
    // Of the pseudo-header alone; the kernel adds the rest of each datagram.
    let partial = fold(sum(&headers[IP + 12..UDP], u64::from(udp_bytes) + u64::from(PROTOCOL_UDP)));
    headers[UDP + 6..UDP + 8].copy_from_slice(&partial.to_be_bytes());
    front
}

/// Bytes that a frame's datagram carries.
fn payload(frame: &[u8]) -> usize {
    frame.len().saturating_sub(HEADER_BYTES)
}

/// Whether it is an IPv4 datagram of UDP with something in it, no fragment, nothing behind it, and with right checksums.
fn is_whole(frame: &[u8]) -> bool {
    if frame.len() <= HEADER_BYTES || frame[12..14] != ETHERTYPE_IPV4 || frame[IP] != NO_OPTIONS {
        return false;
    }
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    if frame[IP + 9] != PROTOCOL_UDP || word(IP + 6) & FRAGMENT != 0 {
        return false;
    }
    let udp_bytes = frame.len() - UDP;
    if usize::from(word(IP + 2)) != frame.len() - IP || usize::from(word(UDP + 4)) != udp_bytes || word(UDP + 6) == 0 {
        return false;
    }
    let pseudo_header = sum(&frame[IP + 12..UDP], udp_bytes as u64 + u64::from(PROTOCOL_UDP));
    fold(sum(&frame[IP..UDP], 0)) == u16::MAX && fold(sum(&frame[UDP..], pseudo_header)) == u16::MAX
}

/// Whether a frame left at the first one's moment, with the headers that the kernel gives the `number`th piece behind it.
fn goes_on(first: &Departed, next: &Departed, number: u16) -> bool {
    let (first_at, first) = (first.at_ns, &first.frame);
    let frame = &next.frame;
    if next.at_ns != first_at || frame.len() > first.len() || frame.len() <= HEADER_BYTES {
        return false;
    }
    let id = |frame: &[u8]| u16::from_be_bytes([frame[IP + 4], frame[IP + 5]]);
    let same = |from: usize, to: usize| first[from..to] == frame[from..to];
    // MAC addresses, EtherType, version, DSCP and ECN; flags, time to live, protocol; addresses and ports.
    same(0, IP + 2) && same(IP + 6, IP + 10) && same(IP + 12, UDP + 4) && id(frame) == id(first).wrapping_add(number)
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
