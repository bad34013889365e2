//! Finishes what a sender on this machine left to its network device: checksums, segmentation and VLAN tags.
//!
//! Between virtual interfaces no device ever does this work, so a frame taken from one may be up to 64 KiB of TCP in
//! one piece, with a checksum over the pseudo-header only. On a wire it would be several complete frames, and so it is
//! here. The virtio-net header (OASIS virtio 1.2, section 5.1.6) says what is missing.

use p4vm::csum::{fold, sum};

/// Without the optional `num_buffers` field.
pub const VNET_HEADER_BYTES: usize = 10;

const FLAG_NEEDS_CSUM: u8 = 1;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
pub const GSO_UDP_L4: u8 = 5;
/// Set beside a type: the first segment alone carries CWR.
const GSO_ECN: u8 = 0x80;

const ETHERNET_BYTES: usize = 14;
const MAC_BYTES: usize = 12;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const ETHERTYPE_QINQ: u16 = 0x88a8;
const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// The virtio-net header of a received frame; offsets count from the frame's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VnetHeader {
    pub needs_csum: bool,
    pub gso_type: u8,
    pub gso_size: u16,
    pub csum_start: u16,
    pub csum_offset: u16,
}

impl VnetHeader {
    /// The fields are in the machine's own byte order.
    pub fn parse(bytes: &[u8; VNET_HEADER_BYTES]) -> Self {
        let field = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            needs_csum: bytes[0] & FLAG_NEEDS_CSUM != 0,
            gso_type: bytes[1] & !GSO_ECN,
            gso_size: field(4),
            csum_start: field(6),
            csum_offset: field(8),
        }
    }
}

/// A VLAN tag that travels beside its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vlan {
    pub tpid: u16,
    pub tci: u16,
}

/// The header and the frame do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

/// Calls `each` with every frame that a wire would carry for `frame`, in order. `scratch` is reused memory.
pub fn complete(
    frame: &mut [u8],
    header: VnetHeader,
    vlan: Option<Vlan>,
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Malformed> {
    if header.gso_type != 0 {
        return segment(frame, header, vlan, scratch, each);
    }
    if header.needs_csum {
        let start = usize::from(header.csum_start);
        let field = start + usize::from(header.csum_offset);
        if field + 2 > frame.len() {
            return Err(Malformed);
        }
        // The field holds the pseudo-header's sum.
        let checksum = finish(sum(&frame[start..], 0));
        frame[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    }
    match vlan {
        None => each(frame),
        Some(vlan) => {
            scratch.clear();
            push_tagged(frame, Some(vlan), scratch)?;
            each(scratch);
        }
    }
    Ok(())
}

/// Cuts a segmentation-offload frame into frames with `gso_size` bytes of payload each.
fn segment(
    frame: &[u8],
    header: VnetHeader,
    vlan: Option<Vlan>,
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Malformed> {
    let (l3, l4) = (network_offset(frame)?, usize::from(header.csum_start));
    let is_udp = header.gso_type == GSO_UDP_L4;
    let transport_bytes = match header.gso_type {
        GSO_TCPV4 | GSO_TCPV6 => usize::from(frame.get(l4 + 12).ok_or(Malformed)? >> 4) * 4,
        GSO_UDP_L4 => 8,
        _ => return Err(Malformed),
    };
    let payload_at = l4 + transport_bytes;
    let size = usize::from(header.gso_size);
    let minimum = if is_udp { 8 } else { 20 };
    if !header.needs_csum || size == 0 || transport_bytes < minimum || l3 + 20 > l4 || payload_at > frame.len() {
        return Err(Malformed);
    }
    let count = (frame.len() - payload_at).div_ceil(size).max(1);
    let tag_bytes = if vlan.is_some() { 4 } else { 0 };
    for (index, chunk) in frame[payload_at..].chunks(size).enumerate() {
        scratch.clear();
        push_tagged(&frame[..payload_at], vlan, scratch)?;
        scratch.extend_from_slice(chunk);
        let packet = scratch.get_mut(l3 + tag_bytes..).ok_or(Malformed)?;
        let transport_at = l4 - l3;
        if !is_udp {
            let offset = u32::try_from(index * size).map_err(|_| Malformed)?;
            number_tcp(&mut packet[transport_at..], offset, index == 0, index + 1 == count);
        } else {
            let length = u16::try_from(packet.len() - transport_at).map_err(|_| Malformed)?;
            packet[transport_at + 4..transport_at + 6].copy_from_slice(&length.to_be_bytes());
        }
        finish_network(packet, transport_at, index as u16, if is_udp { PROTOCOL_UDP } else { PROTOCOL_TCP })?;
        each(scratch);
    }
    Ok(())
}

/// Sequence number and flags of one of several segments.
fn number_tcp(tcp: &mut [u8], offset: u32, first: bool, last: bool) {
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(offset);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !last {
        tcp[13] &= !TCP_FIN_PSH;
    }
    if !first {
        tcp[13] &= !TCP_CWR;
    }
}

/// Lengths, identification and both checksums of a packet that starts with its IP header.
fn finish_network(packet: &mut [u8], transport_at: usize, index: u16, protocol: u8) -> Result<(), Malformed> {
    let length = u16::try_from(packet.len()).map_err(|_| Malformed)?;
    let addresses = match packet[0] >> 4 {
        4 => {
            let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(index);
            packet[2..4].copy_from_slice(&length.to_be_bytes());
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet[10..12].fill(0);
            let header_bytes = usize::from(packet[0] & 0xf) * 4;
            let checksum = !fold(sum(packet.get(..header_bytes).ok_or(Malformed)?, 0));
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            12..20
        }
        6 if transport_at >= 40 => {
            packet[4..6].copy_from_slice(&(length - 40).to_be_bytes());
            8..40
        }
        _ => return Err(Malformed),
    };
    let field = transport_at + if protocol == PROTOCOL_TCP { 16 } else { 6 };
    packet[field..field + 2].fill(0);
    let pseudo_header = sum(&packet[addresses], (packet.len() - transport_at) as u64 + u64::from(protocol));
    let checksum = finish(sum(&packet[transport_at..], pseudo_header));
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    Ok(())
}

/// Where the IP header starts, behind tags that are in the frame.
fn network_offset(frame: &[u8]) -> Result<usize, Malformed> {
    let mut at = MAC_BYTES;
    loop {
        let bytes = frame.get(at..at + 2).ok_or(Malformed)?;
        match u16::from_be_bytes([bytes[0], bytes[1]]) {
            ETHERTYPE_VLAN | ETHERTYPE_QINQ => at += 4,
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(at + 2),
            _ => return Err(Malformed),
        }
    }
}

/// Appends the frame with its tag, if it has one, back in place.
fn push_tagged(frame: &[u8], vlan: Option<Vlan>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    if frame.len() < ETHERNET_BYTES {
        return Err(Malformed);
    }
    out.extend_from_slice(&frame[..MAC_BYTES]);
    if let Some(vlan) = vlan {
        out.extend_from_slice(&vlan.tpid.to_be_bytes());
        out.extend_from_slice(&vlan.tci.to_be_bytes());
    }
    out.extend_from_slice(&frame[MAC_BYTES..]);
    Ok(())
}

/// The checksum of a sum. 0 means "none" to UDP and becomes its equal, all ones, as Linux does for TCP too.
fn finish(sum: u64) -> u16 {
    match !fold(sum) {
        0 => 0xffff,
        checksum => checksum,
    }
}

#[cfg(test)]
#[path = "offload_tests.rs"]
mod tests;
