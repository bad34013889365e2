//! Sending frames with as few system calls as possible.
//!
//! Not by a mapped ring (PACKET_TX_RING): its frames are the skb's pages, and veth declares them free when it hands them
//! to the other end, which may still be reading. Nor past the queueing discipline (PACKET_QDISC_BYPASS): users may have
//! set one on the interface, and on veth, which has none, it gains nothing.

use std::ffi::c_int;
use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;

use super::{check, PacketSocket};
use crate::merge::{Front, MOST};

/// Frames handed to the kernel by one system call.
const BATCH: usize = 64;

/// Ethernet's header, which an interface's MTU does not count.
const ETHERNET_BYTES: usize = 14;

/// Packet sockets that only send.
#[derive(Debug)]
pub struct Transmitter {
    interface: String,
    /// Frames as they are.
    plain: PacketSocket,
    /// Frames behind a virtio-net header, which have to be cut on a wire; None where the kernel takes none.
    cut: Option<PacketSocket>,
}

impl Transmitter {
    /// Errors are the kernel's, as [`PacketSocket::open`]'s.
    pub fn open(interface: &str) -> io::Result<Self> {
        let plain = PacketSocket::bare(interface)?;
        plain.bind(0)?; // receives nothing
        let cut = PacketSocket::bare(interface)
            .and_then(|socket| {
                socket.set::<c_int>(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
                socket.bind(0)?;
                Ok(socket)
            })
            .ok();
        Ok(Self { interface: interface.to_owned(), plain, cut })
    }

    /// Sends frames in order, up to a batch. Returns how many were sent; an error is the first frame's.
    pub fn send<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        // SAFETY: an all-zero mmsghdr is valid. Each header then points at a vector, and that at a frame, which outlive
        // the call; the kernel only reads through them, so that pointers to shared data are sound although C's
        // structure declares them mutable.
        let sent = unsafe {
            let mut headers: [libc::mmsghdr; BATCH] = zeroed();
            let mut vectors: [libc::iovec; BATCH] = zeroed();
            let mut count = 0;
            for ((header, vector), frame) in headers.iter_mut().zip(&mut vectors).zip(frames) {
                *vector = vector_of(frame);
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
                count += 1;
            }
            libc::sendmmsg(self.plain.fd.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT)
        };
        Ok(check(sent)? as usize)
    }

    /// Whether datagrams whose frames are so long can leave as one, which on a wire are still no longer than may be.
    pub fn sends_together(&self, frame_bytes: usize) -> bool {
        self.cut.as_ref().is_some_and(|socket| frame_bytes <= socket.interface_mtu(&self.interface) + ETHERNET_BYTES)
    }

    /// Sends datagrams as one frame, of which this is the front and these, [`MOST`] at most, are the payloads. Returns
    /// how many were sent: none when it turns out that this kernel cannot do so.
    pub fn send_together<'a>(&mut self, front: &Front, payloads: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let Some(socket) = &self.cut else { return Ok(0) };
        // SAFETY: as in `send`.
        let (sent, count) = unsafe {
            let mut vectors: [libc::iovec; MOST + 1] = zeroed();
            vectors[0] = vector_of(front);
            let mut count = 0;
            for (vector, payload) in vectors[1..].iter_mut().zip(payloads) {
                *vector = vector_of(payload);
                count += 1;
            }
            let mut header: libc::msghdr = zeroed();
            header.msg_iov = vectors.as_mut_ptr();
            header.msg_iovlen = count + 1;
            (libc::sendmsg(socket.fd.as_raw_fd(), &header, libc::MSG_DONTWAIT), count)
        };
        if sent >= 0 {
            return Ok(count);
        }
        let error = io::Error::last_os_error();
        // Linux before 6.2 knows no such frames.
        if error.raw_os_error() == Some(libc::EINVAL) {
            self.cut = None;
            return Ok(0);
        }
        Err(error)
    }
}

fn vector_of(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}
