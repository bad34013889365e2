//! recvmmsg(2), and what the kernel says of each buffer that it fills.

use std::ffi::c_int;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::RawFd;
use std::ptr;

use super::{check, Control, CONTROL, ECN_MASK, UDP_GRO};

/// The largest UDP datagram, and the most that UDP_GRO puts together, in bytes.
const ROOM: usize = 65_535;

/// One datagram as it came; or several of one sender that the kernel has put together (UDP_GRO).
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// One datagram after the other.
    pub data: &'a [u8],
    /// Bytes of each datagram but the last, which may be shorter.
    pub size: usize,
    pub host: Ipv4Addr,
    pub port: u16,
    /// Seconds since 1970 on the system clock (SO_TIMESTAMPNS).
    pub stamp: Option<f64>,
    /// As it arrived (IP_RECVTTL).
    pub ttl: Option<i32>,
    /// The ECN field as it arrived (IP_RECVTOS); 0 when the kernel was not asked.
    pub ecn: u8,
    /// Datagrams for which this socket's buffer had no room before, modulo 2^32 (SO_RXQ_OVFL); None: no word of any.
    pub dropped: Option<u32>,
}

/// Room for several buffers, used again and again.
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
    /// For up to `limit` buffers at a time; memory is taken as datagrams fill it.
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

    /// Takes what is there, at least one buffer; returns how many. An error of kind WouldBlock: there is none.
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

    /// The buffer `index` of those that the last call of `receive` filled.
    pub fn get(&self, index: usize) -> Received<'_> {
        let header = &self.headers[index];
        let length = (header.msg_len as usize).min(ROOM);
        let name = &self.names[index];
        let mut received = Received {
            data: &self.room[index * ROOM..][..length],
            size: length,
            host: Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr)),
            port: u16::from_be(name.sin_port),
            stamp: None,
            ttl: None,
            ecn: 0,
            dropped: None,
        };
        self.hear(index, &mut received);
        received
    }

    /// Puts down what the kernel said of it besides.
    fn hear(&self, index: usize, received: &mut Received<'_>) {
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
                match (said.cmsg_level, said.cmsg_type) {
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if holds(size_of::<libc::timespec>()) => {
                        let time = data.cast::<libc::timespec>().read_unaligned();
                        received.stamp = Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9);
                    }
                    (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) if holds(size_of::<u32>()) => {
                        received.dropped = Some(data.cast::<u32>().read_unaligned());
                    }
                    (libc::IPPROTO_IP, libc::IP_TTL) if holds(size_of::<c_int>()) => {
                        received.ttl = Some(data.cast::<c_int>().read_unaligned());
                    }
                    (libc::IPPROTO_IP, libc::IP_TOS) if holds(1) => {
                        received.ecn = data.read() & ECN_MASK; // Linux says this one in a single byte
                    }
                    (libc::SOL_UDP, UDP_GRO) if holds(size_of::<c_int>()) => {
                        let size = data.cast::<c_int>().read_unaligned();
                        received.size = usize::try_from(size).unwrap_or(0).clamp(1, received.data.len().max(1));
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(&header, message);
            }
        }
    }
}
