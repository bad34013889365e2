//! sendmmsg(2), with datagrams that the kernel cuts from one buffer (UDP_SEGMENT).

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::ptr;

use super::{check, Control, CONTROL, ECN_MASK, UDP_SEGMENT};

/// Groups handed to the kernel by one system call (ours: what a window lets go at once is rarely more).
const SENDING: usize = 32;

/// One datagram to go.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    pub data: &'a [u8],
    pub host: Ipv4Addr,
    pub port: u16,
    /// The ECN field that it leaves with: only its two bits count.
    pub ecn: u8,
}

/// Sends datagrams in order, up to a batch. Each of `groups` is a number of datagrams that follow each other: more than
/// one are of one destination, ECN field and length but for the last, which may be shorter. Returns how many groups were
/// sent, at least one; an error is the first one's.
pub fn send(socket: RawFd, datagrams: &[Outgoing<'_>], groups: &[usize]) -> io::Result<usize> {
    let groups = &groups[..groups.len().min(SENDING)];
    let mut vectors: Vec<libc::iovec> = datagrams[..groups.iter().sum()]
        .iter()
        .map(|datagram| libc::iovec {
            iov_base: datagram.data.as_ptr().cast_mut().cast(),
            iov_len: datagram.data.len(),
        })
        .collect();
    // SAFETY: all-zero values of these structures are valid. Each header then points at a name of its own and at as many
    // vectors as its group has, and those at datagrams, all of which outlive the call; the kernel only reads through
    // them, so that pointers to shared data are sound although C's structure declares them mutable. Control messages are
    // written within a buffer of CONTROL bytes, which is more than CMSG_SPACE of the two numbers, and aligned as theirs.
    let sent = unsafe {
        let mut headers: [libc::mmsghdr; SENDING] = zeroed();
        let mut names: [libc::sockaddr_in; SENDING] = zeroed();
        let mut controls = [Control([0; CONTROL]); SENDING];
        let mut first = 0;
        for (index, &count) in groups.iter().enumerate() {
            let datagram = &datagrams[first];
            let name = &mut names[index];
            name.sin_family = libc::AF_INET as _;
            name.sin_port = datagram.port.to_be();
            name.sin_addr.s_addr = u32::from(datagram.host).to_be();
            let header = &mut headers[index].msg_hdr;
            header.msg_name = ptr::from_mut(name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            header.msg_iov = vectors[first..].as_mut_ptr();
            header.msg_iovlen = count;
            header.msg_control = ptr::from_mut(&mut controls[index]).cast();
            let mut said = 0;
            if datagram.ecn & ECN_MASK != 0 {
                say(header, &mut said, libc::IPPROTO_IP, libc::IP_TOS, c_int::from(datagram.ecn & ECN_MASK));
            }
            if count > 1 {
                say(header, &mut said, libc::SOL_UDP, UDP_SEGMENT, datagram.data.len() as u16);
            }
            header.msg_controllen = said;
            first += count;
        }
        libc::sendmmsg(socket, headers.as_mut_ptr(), groups.len() as u32, libc::MSG_DONTWAIT)
    };
    check(sent)
}

/// Writes a control message behind `said` bytes of others.
///
/// # Safety
/// `msg_control` points at a buffer with room for it there, aligned as `cmsghdr`.
unsafe fn say<T>(header: &libc::msghdr, said: &mut usize, level: c_int, kind: c_int, value: T) {
    let message = header.msg_control.cast::<u8>().add(*said).cast::<libc::cmsghdr>();
    (*message).cmsg_level = level;
    (*message).cmsg_type = kind;
    (*message).cmsg_len = libc::CMSG_LEN(size_of::<T>() as u32) as usize;
    libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
    *said += libc::CMSG_SPACE(size_of::<T>() as u32) as usize;
}
