//! What must hold of every packet that leaves the switch, whatever came in.

use p4vm::Outputs;
use sim::bench::canopy::CPU_PORT;

use crate::world::PORTS;

/// An IGMP report holds 192 records and sources at most, each of which may lead to one packet; data goes to each port.
const MAX_OUTPUTS: usize = 256;
/// The longest packet that comes in, and the controller's header.
const MAX_BYTES: usize = 65_535 + 64;
const ETHERNET_BYTES: usize = 14;

/// Fails when a frame leaves by a port that is not there, grows beyond bounds, or has an IPv4 header whose checksum is
/// wrong although the switch made or changed it.
pub fn check_outputs(port: u16, frame: &[u8], outputs: &Outputs) {
    let mut count = 0;
    for (to, sent) in outputs.iter() {
        count += 1;
        // The controller may name any port.
        let is_port = (1..=PORTS).contains(&to) || to == CPU_PORT || port == CPU_PORT;
        assert!(is_port, "a packet left by port {to}");
        assert!(sent.len() <= MAX_BYTES, "a packet of {} bytes left", sent.len());
        // What the controller sends, and what it is sent, is passed on as it is.
        if port != CPU_PORT && to != CPU_PORT && sent != frame {
            assert!(ipv4_header(sent).is_none_or(|header| sum(header) == 0xffff), "a wrong checksum left: {sent:02x?}");
        }
    }
    assert!(count <= MAX_OUTPUTS, "{count} packets for one");
}

fn ipv4_header(frame: &[u8]) -> Option<&[u8]> {
    let packet = frame.get(ETHERNET_BYTES..).filter(|_| frame[12..14] == [8, 0])?;
    packet.get(..usize::from(packet.first()? & 15) * 4)
}

/// The ones' complement sum of 16-bit words (RFC 1071); of a header with a right checksum all ones.
pub fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
