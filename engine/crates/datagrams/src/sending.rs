//! What leaves together: datagrams of one length, destination and ECN field as one message that the kernel cuts.

use std::io;
use std::os::fd::RawFd;

use crate::sys::{self, Outgoing};

/// Datagrams in one message, at most (linux/udp.h: UDP_MAX_SEGMENTS until 6.9).
pub const SEGMENTS: usize = 64;

/// Bytes in one message, at most: what an IPv4 packet holds behind its header and UDP's.
const MESSAGE: usize = 65_507;

/// What a kernel says that cannot cut this message: not at all, not towards this interface, not of this length (an MTU
/// has become less). Alone, each datagram is as large as it may be.
const REFUSALS: [i32; 6] =
    [libc::EINVAL, libc::EMSGSIZE, libc::EIO, libc::EOPNOTSUPP, libc::ENOPROTOOPT, libc::ENOTSUP];

/// Sends datagrams from a socket.
#[derive(Debug)]
pub struct Sender {
    segments: bool,
}

impl Sender {
    /// `segments`: the kernel has UDP_SEGMENT.
    pub fn new(segments: bool) -> Self {
        Self { segments }
    }

    /// Whether messages are made that the kernel cuts: not after it has refused one.
    pub fn segments(&self) -> bool {
        self.segments
    }

    /// Sends in order, up to a batch. Returns how many datagrams were sent, at least one; an error is the first one's.
    pub fn send(&mut self, socket: RawFd, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
        loop {
            let groups = group(datagrams, self.segments);
            match sys::send(socket, datagrams, &groups) {
                Ok(sent) => return Ok(groups[..sent].iter().sum()),
                Err(error) if groups.first() > Some(&1) && is_refusal(&error) => self.segments = false,
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// How many datagrams go together, of each message.
fn group(datagrams: &[Outgoing<'_>], segments: bool) -> Vec<usize> {
    if !segments {
        return vec![1; datagrams.len()];
    }
    let mut groups = Vec::new();
    let mut rest = datagrams;
    while let Some((first, others)) = rest.split_first() {
        let size = first.data.len();
        let most = MESSAGE.checked_div(size).map_or(1, |fitting| fitting.clamp(1, SEGMENTS));
        let mut count = 1;
        for next in others.iter().take(most - 1) {
            let goes_along = (next.host, next.port, next.ecn) == (first.host, first.port, first.ecn)
                && (1..=size).contains(&next.data.len());
            if !goes_along {
                break;
            }
            count += 1;
            if next.data.len() < size {
                break; // only the last one may be shorter
            }
        }
        groups.push(count);
        rest = &rest[count..];
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::{group, Outgoing};

    fn of(sizes: &[usize], port: u16, ecn: u8) -> Vec<Outgoing<'static>> {
        static ZEROS: [u8; 65_507] = [0; 65_507];
        sizes.iter().map(|&size| Outgoing { data: &ZEROS[..size], host: Ipv4Addr::LOCALHOST, port, ecn }).collect()
    }

    #[test]
    fn equal_lengths_and_a_shorter_end_go_together() {
        assert_eq!(group(&of(&[10, 10, 10, 4, 10, 12, 12], 1, 0), true), [4, 1, 2]);
        assert_eq!(group(&of(&[10, 10], 1, 0), false), [1, 1]);
        assert_eq!(group(&of(&[0, 0, 10, 0, 10], 1, 0), true), [1, 1, 1, 1, 1]);
        assert!(group(&[], true).is_empty());
    }

    #[test]
    fn another_destination_or_field_begins_another_message() {
        let mixed = [of(&[10, 10], 1, 0), of(&[10], 2, 0), of(&[10, 10], 2, 2)].concat();
        assert_eq!(group(&mixed, true), [2, 1, 2]);
    }

    #[test]
    fn a_message_is_bounded() {
        assert_eq!(group(&of(&[100; 130], 1, 0), true), [64, 64, 2]);
        assert_eq!(group(&of(&[1432; 46], 1, 0), true), [45, 1]);
        assert_eq!(group(&of(&[65_507, 65_507], 1, 0), true), [1, 1]);
    }
}
