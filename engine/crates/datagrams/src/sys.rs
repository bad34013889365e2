//! Linux's calls on plain C structures.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::ptr;

/// The largest UDP datagram, in bytes.
const ROOM: usize = 65_535;

/// Bytes for what the kernel says of a datagram: a timespec, a time to live and a type of service, each with its header.
const CONTROL: usize = 96;

/// The ECN field's bits in the type of service (RFC 3168, section 5).
const ECN_MASK: u8 = 0b11;

/// Datagrams handed to the kernel by one system call (ours: what a window lets go at once is rarely more).
const SENDING: usize = 32;

/// One datagram as it came.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    pub data: &'a [u8],
    pub host: Ipv4Addr,
    pub port: u16,
    /// Seconds since 1970 on the system clock (SO_TIMESTAMPNS).
    pub stamp: Option<f64>,
    /// As it arrived (IP_RECVTTL).
    pub ttl: Option<i32>,
    /// The ECN field as it arrived (IP_RECVTOS); 0 when the kernel was not asked.
    pub ecn: u8,
}

/// One datagram to go.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    pub data: &'a [u8],
    pub host: Ipv4Addr,
    pub port: u16,
    /// The ECN field that it leaves with: only its two bits count.
    pub ecn: u8,
}

/// The kernel's view of a control message must be aligned as its header.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Room for several datagrams, used again and again.
pub struct Reader {
    room: Vec<u8>,
    names: Vec<libc::sockaddr_in>,
    controls: Vec<Control>,
    /// Of the last call: they hold no pointer that is used after it.
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `headers` are written before each call and read during it only.
unsafe impl Send for Reader {}
// SAFETY: as above; shared access reads lengths, flags and the buffers, which only `&mut self` changes.
unsafe impl Sync for Reader {}

impl Reader {
    /// For up to `limit` datagrams at a time; memory is taken as datagrams fill it.
    pub fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        // SAFETY: all-zero values of these plain C structures are valid.
        let (name, header) = unsafe { (zeroed(), zeroed()) };
        Self {
            room: vec![0; limit * ROOM],
            names: vec![name; limit],
            controls: vec![Control([0; CONTROL]); limit],
            headers: vec![header; limit],
        }
    }

    /// Takes what is there, at least one datagram; returns how many. An error of kind WouldBlock: there is none.
    pub fn receive(&mut self, socket: RawFd) -> io::Result<usize> {
        let mut vectors: Vec<libc::iovec> = self
            .room
            .chunks_exact_mut(ROOM)
            .map(|room| libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM })
            .collect();
        for (index, header) in self.headers.iter_mut().enumerate() {
            let header = &mut header.msg_hdr;
            header.msg_name = ptr::from_mut(&mut self.names[index]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            header.msg_iov = &mut vectors[index];
            header.msg_iovlen = 1;
            header.msg_control = ptr::from_mut(&mut self.controls[index]).cast();
            header.msg_controllen = CONTROL;
            header.msg_flags = 0;
        }
        // SAFETY: each header points at a name, a vector and a control buffer of the sizes it says, and the vector at
        // room of its length; all of them outlive the call and belong to `self` or this function alone.
        let found = unsafe {
            let count = self.headers.len() as u32;
            libc::recvmmsg(socket, self.headers.as_mut_ptr(), count, libc::MSG_DONTWAIT, ptr::null_mut())
        };
        check(found)
    }

    /// The datagram `index` of those that the last call of `receive` found.
    pub fn get(&self, index: usize) -> Received<'_> {
        let header = &self.headers[index];
        let size = (header.msg_len as usize).min(ROOM);
        let name = &self.names[index];
        let (stamp, ttl, ecn) = self.said(index);
        Received {
            data: &self.room[index * ROOM..][..size],
            host: Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)),
            port: u16::from_be(name.sin_port),
            stamp,
            ttl,
            ecn,
        }
    }

    /// What the kernel said of it besides.
    fn said(&self, index: usize) -> (Option<f64>, Option<i32>, u8) {
        let (mut stamp, mut ttl, mut ecn) = (None, None, 0);
        let mut header = self.headers[index].msg_hdr;
        header.msg_control = ptr::from_ref(&self.controls[index]).cast_mut().cast();
        header.msg_controllen = header.msg_controllen.min(CONTROL);
        // SAFETY: the header points at a control buffer of the length it says, which the kernel has filled with control
        // messages; the macros stay within that length, and each value is read from within its message, unaligned.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(&header);
            while let Some(said) = message.as_ref() {
                let (data, size) = (libc::CMSG_DATA(message), said.cmsg_len);
                let holds = |bytes: usize| size >= libc::CMSG_LEN(bytes as u32) as usize;
                if said.cmsg_level == libc::SOL_SOCKET && said.cmsg_type == libc::SCM_TIMESTAMPNS {
                    if holds(size_of::<libc::timespec>()) {
                        let time = data.cast::<libc::timespec>().read_unaligned();
                        stamp = Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9);
                    }
                } else if said.cmsg_level == libc::IPPROTO_IP {
                    if said.cmsg_type == libc::IP_TTL && holds(size_of::<c_int>()) {
                        ttl = Some(data.cast::<c_int>().read_unaligned());
                    } else if said.cmsg_type == libc::IP_TOS && holds(1) {
                        ecn = data.read() & ECN_MASK; // Linux says this one in a single byte
                    }
                }
                message = libc::CMSG_NXTHDR(&header, message);
            }
        }
        (stamp, ttl, ecn)
    }
}

/// Sends datagrams in order, up to a batch. Returns how many were sent, at least one; an error is the first one's.
pub fn send(socket: RawFd, datagrams: &[Outgoing<'_>]) -> io::Result<usize> {
    let count = datagrams.len().min(SENDING);
    // SAFETY: all-zero values of these structures are valid. Each header then points at a name and a vector of its own,
    // and that at a datagram, all of which outlive the call; the kernel only reads through them, so that pointers to
    // shared data are sound although C's structure declares them mutable. A control message is written within a buffer
    // of CONTROL bytes, which is more than CMSG_SPACE of an integer, and aligned as its header.
    let sent = unsafe {
        let mut headers: [libc::mmsghdr; SENDING] = zeroed();
        let mut vectors: [libc::iovec; SENDING] = zeroed();
        let mut names: [libc::sockaddr_in; SENDING] = zeroed();
        let mut controls = [Control([0; CONTROL]); SENDING];
        for (index, datagram) in datagrams[..count].iter().enumerate() {
            let name = &mut names[index];
            name.sin_family = libc::AF_INET as _;
            name.sin_port = datagram.port.to_be();
            name.sin_addr.s_addr = u32::from(datagram.host).to_be();
            let vector = &mut vectors[index];
            *vector = libc::iovec { iov_base: datagram.data.as_ptr().cast_mut().cast(), iov_len: datagram.data.len() };
            let header = &mut headers[index].msg_hdr;
            header.msg_name = ptr::from_mut(name).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            header.msg_iov = vector;
            header.msg_iovlen = 1;
            if datagram.ecn & ECN_MASK != 0 {
                header.msg_control = ptr::from_mut(&mut controls[index]).cast();
                header.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as usize;
                let message = &mut *libc::CMSG_FIRSTHDR(header);
                message.cmsg_level = libc::IPPROTO_IP;
                message.cmsg_type = libc::IP_TOS;
                message.cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
                libc::CMSG_DATA(message).cast::<c_int>().write_unaligned(c_int::from(datagram.ecn & ECN_MASK));
            }
        }
        libc::sendmmsg(socket, headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
    };
    check(sent)
}

fn check(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
pub fn ask_for_all(socket: RawFd) {
    let ip = libc::IPPROTO_IP;
    for (level, option) in [(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS), (ip, libc::IP_RECVTTL), (ip, libc::IP_RECVTOS)] {
        let on: c_int = 1;
        // SAFETY: the pointer and the length describe an integer that lives through the call.
        let result = unsafe {
            let size = size_of::<c_int>() as u32;
            libc::setsockopt(socket, level, option, ptr::from_ref(&on).cast(), size)
        };
        assert_eq!(result, 0);
    }
}
