//! Sending frames with as few system calls as possible.
//!
//! Not by a mapped ring (PACKET_TX_RING): its frames are the skb's pages, and veth declares them free when it hands them
//! to the other end, which may still be reading. Nor past the queueing discipline (PACKET_QDISC_BYPASS): users may have
//! set one on the interface, and on veth, which has none, it gains nothing.

use std::io;
use std::mem::zeroed;
use std::os::fd::AsRawFd;

use super::{check, PacketSocket};

/// Frames handed to the kernel by one system call.
const BATCH: usize = 64;

/// A packet socket that only sends.
#[derive(Debug)]
pub struct Transmitter(PacketSocket);

impl Transmitter {
    /// Errors are the kernel's, as [`PacketSocket::open`]'s.
    pub fn open(interface: &str) -> io::Result<Self> {
        let socket = PacketSocket::bare(interface)?;
        socket.bind(0)?; // receives nothing
        Ok(Self(socket))
    }

    /// Sends frames in order, up to a batch. Returns how many were sent; an error is the first frame's.
    pub fn send(&self, frames: &[Vec<u8>]) -> io::Result<usize> {
        let count = frames.len().min(BATCH);
        // SAFETY: an all-zero mmsghdr is valid. Each header then points at a vector, and that at a frame, which outlive
        // the call; the kernel only reads through them, so that pointers to shared data are sound although C's
        // structure declares them mutable.
        let sent = unsafe {
            let mut headers: [libc::mmsghdr; BATCH] = zeroed();
            let mut vectors: [libc::iovec; BATCH] = zeroed();
            for ((header, vector), frame) in headers.iter_mut().zip(&mut vectors).zip(frames) {
                *vector = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
                header.msg_hdr.msg_iov = vector;
                header.msg_hdr.msg_iovlen = 1;
            }
            libc::sendmmsg(self.0.fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        Ok(check(sent)? as usize)
    }
}
