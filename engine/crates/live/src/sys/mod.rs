//! Packet sockets (packet(7)). All of the crate's unsafe code is here: Linux's calls on plain C structures.
//!
//! Frames are received with a virtio-net header in front (PACKET_VNET_HDR), which says what a sender on this machine
//! has left to its network device. They are sent by sockets of their own, without that header, which is one thing less
//! that the kernel looks at for each frame, unless several leave as one.

#![allow(unsafe_code)]

mod bpf;
mod receive;
mod transmit;

use std::ffi::{c_int, c_void, CString};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

pub use bpf::{Sink, Source};
pub use receive::{Received, Receiver};
pub use transmit::Transmitter;

/// Asked of the kernel for each direction: a burst of segmentation-offload frames must find room.
const SOCKET_BUFFER_BYTES: c_int = 4 << 20;

/// A packet socket of one interface, not blocking.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    interface_index: u32,
}

impl PacketSocket {
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
        // SAFETY: flags are the union's member after SIOCGIFFLAGS.
        self.ask(interface, libc::SIOCGIFFLAGS)
            .is_some_and(|answer| c_int::from(unsafe { answer.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0)
    }

    /// Bytes of the longest IP packet that the interface takes; 0: there is no such interface.
    pub fn interface_mtu(&self, interface: &str) -> usize {
        // SAFETY: the MTU is the union's member after SIOCGIFMTU.
        let mtu = self.ask(interface, libc::SIOCGIFMTU).map(|answer| unsafe { answer.ifr_ifru.ifru_mtu });
        mtu.and_then(|mtu| usize::try_from(mtu).ok()).unwrap_or(0)
    }

    /// What the kernel answers about an interface; None when there is none.
    fn ask(&self, interface: &str, question: libc::Ioctl) -> Option<libc::ifreq> {
        // SAFETY: an all-zero ifreq is valid; the name is copied with room for its final zero; the kernel writes its
        // answer into the structure.
        unsafe {
            let mut request: libc::ifreq = zeroed();
            for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(interface.bytes()) {
                *to = from as libc::c_char;
            }
            (libc::ioctl(self.fd.as_raw_fd(), question, ptr::from_mut(&mut request)) == 0).then_some(request)
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

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
