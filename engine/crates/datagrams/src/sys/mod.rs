//! Linux's calls on plain C structures.

#![allow(unsafe_code)]

mod reading;
mod sending;

use std::ffi::c_int;
use std::io;

pub use reading::{Reader, Received};
pub use sending::{send, Outgoing};

/// Bytes for what the kernel says of a buffer: a timespec, and a time to live, a type of service, a segment's size and a
/// count of drops, each with its header.
const CONTROL: usize = 160;

/// The ECN field's bits in the type of service (RFC 3168, section 5).
const ECN_MASK: u8 = 0b11;

/// linux/udp.h: of a message that is sent, into datagrams of which length it is cut (since 4.18).
const UDP_SEGMENT: c_int = 103;
/// linux/udp.h: of a buffer that was received, of which length the datagrams in it are (since 5.0).
const UDP_GRO: c_int = 104;

/// The kernel's view of a control message must be aligned as its header.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
pub fn ask_for_all(socket: std::os::fd::RawFd) {
    let (all, ip) = (libc::SOL_SOCKET, libc::IPPROTO_IP);
    let options = [(all, libc::SO_TIMESTAMPNS), (ip, libc::IP_RECVTTL), (ip, libc::IP_RECVTOS)];
    for (level, option) in [&options[..], &[(all, libc::SO_RXQ_OVFL), (libc::SOL_UDP, UDP_GRO)]].concat() {
        set(socket, level, option, 1);
    }
}

#[cfg(test)]
pub fn set(socket: std::os::fd::RawFd, level: c_int, option: c_int, value: c_int) {
    // SAFETY: the pointer and the length describe an integer that lives through the call.
    let result = unsafe {
        let size = std::mem::size_of::<c_int>() as u32;
        libc::setsockopt(socket, level, option, std::ptr::from_ref(&value).cast(), size)
    };
    assert_eq!(result, 0);
}
