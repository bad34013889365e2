//! Receiving from memory that the kernel shares (PACKET_RX_RING), without a system call or a copy of one's own.
//!
//! TPACKET_V2, because its slots are handed over frame by frame: version 3 holds a block back for at least a
//! millisecond, and an emulated link should be late for nobody's sake. A frame that is larger than a slot (what a sender
//! on this machine has left to segmentation offload, up to 64 KiB) is in the socket's queue besides, and is taken from
//! there when its slot's turn comes.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{check, PacketSocket};
use crate::offload::{Vlan, VnetHeader, VNET_HEADER_BYTES};

/// A frame of an Ethernet's usual size with what the kernel writes in front of it.
const SLOT_BYTES: usize = 2048;

/// Slots of a socket, 2 MiB: at 500,000 frames a second, what arrives while the data path's thread is kept waiting for
/// two milliseconds. Fewer are taken where memory is short.
const SLOTS: [usize; 2] = [1024, 256];

/// The kernel allocates the slots in pieces of this size.
const BLOCK_BYTES: usize = 65_536;

/// Largest frame taken: 64 KiB is the largest IP packet and the default limit of segmentation offload (gso_max_size).
const FRAME_BYTES: usize = 65_536 + 64;

/// Where a frame has changed hands.
const USER: u32 = libc::TP_STATUS_USER;
const KERNEL: u32 = libc::TP_STATUS_KERNEL;

/// The slots, as mapped.
#[derive(Debug)]
struct Ring {
    memory: *mut u8,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone; the kernel's side of it is synchronised by each slot's status.
unsafe impl Send for Ring {}

impl Ring {
    fn open(socket: &PacketSocket) -> io::Result<Self> {
        let mut result = Err(io::ErrorKind::OutOfMemory.into());
        for slots in SLOTS {
            result = Self::map(socket, slots);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    fn map(socket: &PacketSocket, slots: usize) -> io::Result<Self> {
        let bytes = slots * SLOT_BYTES;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (bytes / BLOCK_BYTES) as u32,
            tp_frame_size: SLOT_BYTES as u32,
            tp_frame_nr: slots as u32,
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping of the socket's ring, whose length is the one just asked for.
        let memory = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, socket.fd.as_raw_fd(), 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { memory: memory.cast(), slots, next: 0 })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`, to which no reference outlives this value.
        unsafe { libc::munmap(self.memory.cast::<c_void>(), self.slots * SLOT_BYTES) };
    }
}

/// A frame as it came from the kernel.
#[derive(Debug)]
pub struct Received<'a> {
    pub frame: &'a mut [u8],
    pub vnet: VnetHeader,
    pub vlan: Option<Vlan>,
    /// The frame was longer than any buffer.
    pub truncated: bool,
}

/// A packet socket that receives all frames of one interface, and nothing that this machine sends there.
#[derive(Debug)]
pub struct Receiver {
    ring: Ring,
    socket: PacketSocket,
}

impl Receiver {
    /// Errors are the kernel's: ENODEV without such an interface, EPERM without CAP_NET_RAW.
    pub fn open(interface: &str) -> io::Result<Self> {
        let socket = PacketSocket::bare(interface)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?; // any number: frames larger than a slot are queued
        socket.set(libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        let ring = Ring::open(&socket)?;
        // SAFETY: an all-zero packet_mreq is a valid value of a plain C structure.
        let mut membership = unsafe { zeroed::<libc::packet_mreq>() };
        membership.mr_ifindex = socket.interface_index as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(Self { ring, socket })
    }

    pub fn socket(&self) -> &PacketSocket {
        &self.socket
    }

    /// Hands what has arrived to `each`, up to `limit` frames. `large` is memory for those that no slot holds. Returns
    /// their number, or the socket's error where there are none: ENETDOWN when the interface has gone down.
    pub fn receive(
        &mut self,
        limit: usize,
        large: &mut Vec<u8>,
        mut each: impl FnMut(Received<'_>),
    ) -> io::Result<usize> {
        for count in 0..limit {
            // SAFETY: `next` is below `slots`, and a slot starts at a multiple of its size, which aligns its header.
            let slot = unsafe { self.ring.memory.add(self.ring.next * SLOT_BYTES) };
            // SAFETY: a slot starts with its status, which both sides change atomically; it lives as long as the ring.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            let flags = status.load(Ordering::Acquire);
            if flags & USER == 0 {
                return if count == 0 { self.socket.take_error().map(|()| 0) } else { Ok(count) };
            }
            // SAFETY: the slot is this side's until its status is written below. It holds a header, and frame and
            // virtio-net header where that says; nothing else refers to its bytes in the meantime.
            let (header, bytes) =
                unsafe { (slot.cast::<libc::tpacket2_hdr>().read(), std::slice::from_raw_parts_mut(slot, SLOT_BYTES)) };
            match self.socket.received(&header, flags, bytes, large) {
                Some(received) => each(received),
                None => each(Received { frame: &mut [], vnet: VnetHeader::default(), vlan: None, truncated: true }),
            }
            status.store(KERNEL, Ordering::Release);
            self.ring.next = (self.ring.next + 1) % self.ring.slots;
        }
        Ok(limit)
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.fd.as_fd()
    }
}

impl PacketSocket {
    /// The frame of a slot; None when the kernel had no room for all of it.
    fn received<'a>(
        &self,
        header: &libc::tpacket2_hdr,
        flags: u32,
        slot: &'a mut [u8],
        large: &'a mut Vec<u8>,
    ) -> Option<Received<'a>> {
        let tpid =
            if flags & libc::TP_STATUS_VLAN_TPID_VALID != 0 { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
        let vlan = (flags & libc::TP_STATUS_VLAN_VALID != 0).then_some(Vlan { tpid, tci: header.tp_vlan_tci });
        let (vnet, frame) = if flags & libc::TP_STATUS_COPY != 0 {
            self.take_queued(large)?
        } else {
            let start = usize::from(header.tp_mac);
            let length = header.tp_snaplen as usize;
            let vnet = start.checked_sub(VNET_HEADER_BYTES)?;
            let whole = header.tp_snaplen == header.tp_len;
            let (vnet, frame) = slot.get_mut(vnet..start + length)?.split_first_chunk_mut::<VNET_HEADER_BYTES>()?;
            whole.then_some((&*vnet, frame))?
        };
        Some(Received { frame, vnet: VnetHeader::parse(vnet), vlan, truncated: false })
    }

    /// The first frame of the socket's queue with its virtio-net header.
    fn take_queued<'a>(&self, large: &'a mut Vec<u8>) -> Option<(&'a [u8; VNET_HEADER_BYTES], &'a mut [u8])> {
        large.resize(VNET_HEADER_BYTES + FRAME_BYTES, 0);
        // SAFETY: the pointer and the length describe `large`, which nothing else refers to.
        let length = unsafe {
            let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
            libc::recv(self.fd.as_raw_fd(), large.as_mut_ptr().cast(), large.len(), flags)
        };
        // With MSG_TRUNC, a frame that is longer than the memory has its own length.
        let length = usize::try_from(length).ok()?;
        let (vnet, frame) = large.get_mut(..length)?.split_first_chunk_mut::<VNET_HEADER_BYTES>()?;
        Some((&*vnet, frame))
    }

    /// The socket's error, if it has one, which it then has no more.
    fn take_error(&self) -> io::Result<()> {
        let mut error: c_int = 0;
        let mut length = size_of::<c_int>() as libc::socklen_t;
        // SAFETY: the pointer and the length describe `error`.
        let result = unsafe {
            let value = ptr::from_mut(&mut error).cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, value, &mut length)
        };
        check(result)?;
        match error {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}
