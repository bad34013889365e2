//! Packet sockets (packet(7)). All of the crate's unsafe code is here: Linux's socket calls on plain C structures.
//!
//! Frames are received with a virtio-net header in front (PACKET_VNET_HDR), which says what a sender on this machine
//! has left to its network device, and with auxiliary data that holds a VLAN tag taken out of the frame.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void, CString};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::offload::{Vlan, VnetHeader, VNET_HEADER_BYTES};

/// Frames moved by one system call.
pub const BATCH: usize = 32;

/// Largest frame taken: 64 KiB is the largest IP packet and the default limit of segmentation offload (gso_max_size).
const FRAME_BYTES: usize = 65_536 + 64;

/// Asked of the kernel for each direction: a burst of segmentation-offload frames must find room.
const SOCKET_BUFFER_BYTES: c_int = 4 << 20;

/// Room for one control message with `tpacket_auxdata` (20 bytes and its 16-byte header, aligned).
const CONTROL_WORDS: usize = 8;

/// A packet socket bound to one interface, promiscuous and not blocking.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    interface_index: u32,
}

impl PacketSocket {
    /// Errors are the kernel's: ENODEV without such an interface, EPERM without CAP_NET_RAW.
    pub fn open(interface: &str) -> io::Result<Self> {
        let socket = Self::bare(interface)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        // SAFETY: an all-zero packet_mreq is a valid value of a plain C structure.
        let mut membership = unsafe { zeroed::<libc::packet_mreq>() };
        membership.mr_ifindex = socket.interface_index as c_int;
        membership.mr_type = libc::PACKET_MR_PROMISC as u16;
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)?;
        socket.bind(libc::ETH_P_ALL as u16)?;
        Ok(socket)
    }

    /// A socket that sends only.
    pub fn sender(interface: &str) -> io::Result<Self> {
        let socket = Self::bare(interface)?;
        socket.bind(0)?;
        Ok(socket)
    }

    /// A socket that neither sends nor receives until it is bound.
    fn bare(interface: &str) -> io::Result<Self> {
        let interface_index = interface_index(interface)?;
        // SAFETY: socket() takes no pointers; its result is checked before it becomes an owned descriptor.
        let fd = unsafe {
            // Protocol 0 receives nothing until bind, so no frame of another interface slips in.
            let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
            OwnedFd::from_raw_fd(check(fd)?)
        };
        let socket = Self { fd, interface_index };
        socket.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        // Beyond the system's limit where allowed; without it the default has to do.
        for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
            let _ = socket.set(libc::SOL_SOCKET, option, &SOCKET_BUFFER_BYTES);
        }
        Ok(socket)
    }

    /// Binds to the interface, for frames of one EtherType, all (ETH_P_ALL) or none (0).
    fn bind(&self, ethertype: u16) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_ll is valid; the pointer and the length describe it, and it lives through the
        // call.
        let result = unsafe {
            let mut address: libc::sockaddr_ll = zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            address.sll_protocol = ethertype.to_be();
            address.sll_ifindex = self.interface_index as c_int;
            libc::bind(self.fd.as_raw_fd(), ptr::from_ref(&address).cast(), size_of::<libc::sockaddr_ll>() as u32)
        };
        check(result).map(drop)
    }

    /// The index of the interface that the socket is bound to; it changes when an interface is made anew.
    pub fn interface_index(&self) -> u32 {
        self.interface_index
    }

    /// Takes what has arrived, up to a batch. Returns the number of frames; 0 when nothing waits.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<usize> {
        batch.received = 0;
        // SAFETY: an all-zero mmsghdr is valid. Each header then points at a slot's vectors, control words and buffers,
        // which are disjoint, outlive the call, and are not moved in between.
        let count = unsafe {
            let mut headers: [libc::mmsghdr; BATCH] = zeroed();
            let mut vectors: [[libc::iovec; 2]; BATCH] = zeroed();
            for (((header, vector), slot), data) in
                headers.iter_mut().zip(&mut vectors).zip(&mut batch.slots).zip(batch.data.chunks_exact_mut(FRAME_BYTES))
            {
                *vector = [
                    libc::iovec { iov_base: slot.vnet.as_mut_ptr().cast(), iov_len: VNET_HEADER_BYTES },
                    libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: FRAME_BYTES },
                ];
                header.msg_hdr.msg_iov = vector.as_mut_ptr();
                header.msg_hdr.msg_iovlen = vector.len();
                header.msg_hdr.msg_control = slot.control.as_mut_ptr().cast();
                header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL_WORDS]>();
            }
            let flags = libc::MSG_DONTWAIT;
            let fd = self.fd.as_raw_fd();
            let count = check(libc::recvmmsg(fd, headers.as_mut_ptr(), BATCH as u32, flags, ptr::null_mut()))? as usize;
            for (header, slot) in headers[..count].iter().zip(&mut batch.slots) {
                slot.bytes = (header.msg_len as usize).saturating_sub(VNET_HEADER_BYTES).min(FRAME_BYTES);
                slot.truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
                slot.vlan = vlan_tag(&header.msg_hdr);
            }
            count
        };
        batch.received = count;
        Ok(count)
    }

    /// Sends frames in order, up to a batch. Returns how many were sent; an error is the first frame's.
    pub fn send(&self, frames: &[Vec<u8>]) -> io::Result<usize> {
        let no_offload = [0u8; VNET_HEADER_BYTES];
        let count = frames.len().min(BATCH);
        // SAFETY: as in `receive`; the kernel only reads through these vectors, so that pointers to shared data are
        // sound although C's structure declares them mutable.
        let sent = unsafe {
            let mut headers: [libc::mmsghdr; BATCH] = zeroed();
            let mut vectors: [[libc::iovec; 2]; BATCH] = zeroed();
            for ((header, vector), frame) in headers.iter_mut().zip(&mut vectors).zip(frames) {
                *vector = [
                    libc::iovec { iov_base: no_offload.as_ptr().cast_mut().cast(), iov_len: VNET_HEADER_BYTES },
                    libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
                ];
                header.msg_hdr.msg_iov = vector.as_mut_ptr();
                header.msg_hdr.msg_iovlen = vector.len();
            }
            libc::sendmmsg(self.fd.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        Ok(check(sent)? as usize)
    }

    /// Frames that the kernel dropped because nobody took them in time, since the last call.
    pub fn take_kernel_drops(&self) -> u64 {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the pointer and the length describe `stats`.
        let result = unsafe {
            let value = ptr::from_mut(&mut stats).cast();
            libc::getsockopt(self.fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, value, &mut length)
        };
        if result == 0 {
            u64::from(stats.tp_drops)
        } else {
            0
        }
    }

    /// Whether the interface is there and administratively up.
    pub fn interface_is_up(&self, interface: &str) -> bool {
        // SAFETY: an all-zero ifreq is valid; the name is copied with room for its final zero; the kernel writes the
        // flags into the structure, and they are the union's member after SIOCGIFFLAGS.
        unsafe {
            let mut request: libc::ifreq = zeroed();
            for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(interface.bytes()) {
                *to = from as libc::c_char;
            }
            libc::ioctl(self.fd.as_raw_fd(), libc::SIOCGIFFLAGS, ptr::from_mut(&mut request)) == 0
                && c_int::from(request.ifr_ifru.ifru_flags) & libc::IFF_UP != 0
        }
    }

    fn set<T>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        // SAFETY: the pointer and the length describe `value`, a plain C value.
        let result = unsafe {
            let value: *const c_void = ptr::from_ref(value).cast();
            libc::setsockopt(self.fd.as_raw_fd(), level, option, value, size_of::<T>() as libc::socklen_t)
        };
        check(result).map(drop)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The index of an interface by its name; ENODEV when there is none.
pub fn interface_index(interface: &str) -> io::Result<u32> {
    let missing = || io::Error::from_raw_os_error(libc::ENODEV);
    let name = CString::new(interface).map_err(|_| missing())?;
    // SAFETY: `name` is a C string that lives through the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(missing()),
        index => Ok(index),
    }
}

/// The buffers of one receive call, used again and again.
#[derive(Debug)]
pub struct ReceiveBatch {
    slots: Vec<Slot>,
    data: Vec<u8>,
    received: usize,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    vnet: [u8; VNET_HEADER_BYTES],
    control: [u64; CONTROL_WORDS],
    bytes: usize,
    truncated: bool,
    vlan: Option<Vlan>,
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

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self { slots: vec![Slot::default(); BATCH], data: vec![0; BATCH * FRAME_BYTES], received: 0 }
    }
}

impl ReceiveBatch {
    /// The frames of the last [`PacketSocket::receive`].
    pub fn frames(&mut self) -> impl Iterator<Item = Received<'_>> {
        self.slots[..self.received].iter().zip(self.data.chunks_exact_mut(FRAME_BYTES)).map(|(slot, data)| Received {
            frame: &mut data[..slot.bytes],
            vnet: VnetHeader::parse(&slot.vnet),
            vlan: slot.vlan,
            truncated: slot.truncated,
        })
    }
}

/// The VLAN tag in a received message's auxiliary data.
///
/// # Safety
/// `message` must have been filled by the kernel, with its control buffer still alive.
unsafe fn vlan_tag(message: &libc::msghdr) -> Option<Vlan> {
    let header = libc::CMSG_FIRSTHDR(message);
    if header.is_null() || (*header).cmsg_level != libc::SOL_PACKET || (*header).cmsg_type != libc::PACKET_AUXDATA {
        return None;
    }
    let data: libc::tpacket_auxdata = ptr::read_unaligned(libc::CMSG_DATA(header).cast());
    if data.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_tpid = data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let tpid = if has_tpid { data.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    Some(Vlan { tpid, tci: data.tp_vlan_tci })
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
