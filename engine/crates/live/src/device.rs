//! The interface behind a port. It may go down, go away, come back or have no room: all of that is counted, none fatal.

use std::io;

use crate::capture::{Direction, PortCapture};
use crate::sys::{interface_index, PacketSocket, ReceiveBatch};

/// What a device has counted.
#[derive(Debug, Default, Clone)]
pub struct DeviceStats {
    pub tx_packets: u64,
    pub tx_bytes: u64,
    /// Longer than the interface's MTU allows.
    pub drop_oversize: u64,
    /// The kernel had no room (ENOBUFS) or refused the frame.
    pub drop_device: u64,
    /// The interface was down or gone.
    pub drop_device_down: u64,
    /// Frames longer than any buffer, and frames that contradict their offload header.
    pub rx_drop_malformed: u64,
    /// The kernel dropped them before they were taken.
    pub rx_drop_kernel: u64,
}

/// An interface by name, with its socket while there is one.
#[derive(Debug)]
pub struct Device {
    interface: String,
    socket: Option<PacketSocket>,
    /// The last operation said that the interface is down or gone.
    down: bool,
    pub stats: DeviceStats,
    /// Where frames are written down, if anywhere.
    pub capture: Option<PortCapture>,
}

impl Device {
    /// Without a socket until [`Self::open`].
    pub fn new(interface: &str) -> Self {
        Self { interface: interface.to_owned(), socket: None, down: true, stats: DeviceStats::default(), capture: None }
    }

    pub fn interface(&self) -> &str {
        &self.interface
    }

    pub fn is_down(&self) -> bool {
        self.down
    }

    pub fn open(&mut self) -> io::Result<&PacketSocket> {
        let socket = PacketSocket::open(&self.interface)?;
        self.down = false;
        Ok(self.socket.insert(socket))
    }

    pub fn close(&mut self) {
        self.take_kernel_drops();
        self.socket = None;
        self.down = true;
    }

    /// Looks after an interface that was seen down: a socket whose interface is gone is closed, and when an interface
    /// of the name is there again a new one is opened. Returns the new socket.
    pub fn revive(&mut self) -> Option<&PacketSocket> {
        if !self.down {
            return None;
        }
        let index = interface_index(&self.interface).ok();
        if self.socket.as_ref().map(PacketSocket::interface_index) == index {
            // The same interface, with which the socket works again once it is up; or still none.
            self.down = !self.socket.as_ref().is_some_and(|socket| socket.interface_is_up(&self.interface));
            return None;
        }
        self.close();
        self.open().ok()
    }

    /// Takes what has arrived, up to a batch.
    pub fn receive(&mut self, batch: &mut ReceiveBatch) -> usize {
        let Some(socket) = &self.socket else { return 0 };
        match socket.receive(batch) {
            Ok(count) => {
                self.down = false;
                count
            }
            Err(error) => {
                match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => (),
                    Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => self.down = true,
                    // The kernel could not describe the frame's offload, and has dropped it.
                    _ => self.stats.rx_drop_malformed += 1,
                }
                0
            }
        }
    }

    /// Sends frames in order. Never waits: what finds no room is dropped.
    pub fn send(&mut self, frames: &[Vec<u8>]) {
        let mut left = frames;
        while !left.is_empty() {
            let Some(socket) = &self.socket else {
                self.stats.drop_device_down += left.len() as u64;
                return;
            };
            match socket.send(left) {
                Ok(sent) => {
                    let (done, rest) = left.split_at(sent);
                    if let Some(capture) = &self.capture {
                        done.iter().for_each(|frame| capture.record(Direction::Out, frame));
                    }
                    self.stats.tx_packets += sent as u64;
                    self.stats.tx_bytes += done.iter().map(|frame| frame.len() as u64).sum::<u64>();
                    self.down = false;
                    left = rest;
                }
                Err(error) => left = self.refused(left, &error),
            }
        }
    }

    pub fn take_kernel_drops(&mut self) {
        self.stats.rx_drop_kernel += self.socket.as_ref().map_or(0, PacketSocket::take_kernel_drops);
    }

    /// Counts what an error costs, and returns the frames that are still worth trying.
    fn refused<'a>(&mut self, frames: &'a [Vec<u8>], error: &io::Error) -> &'a [Vec<u8>] {
        match error.raw_os_error() {
            Some(libc::EINTR) => frames,
            Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) => {
                self.down = true;
                self.stats.drop_device_down += frames.len() as u64;
                &[]
            }
            Some(libc::EAGAIN) => {
                self.stats.drop_device += frames.len() as u64;
                &[]
            }
            Some(libc::EMSGSIZE) => {
                self.stats.drop_oversize += 1;
                &frames[1..]
            }
            _ => {
                self.stats.drop_device += 1;
                &frames[1..]
            }
        }
    }
}

impl DeviceStats {
    /// Name and value.
    pub fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("tx_packets", self.tx_packets),
            ("tx_bytes", self.tx_bytes),
            ("drop_oversize", self.drop_oversize),
            ("drop_device", self.drop_device),
            ("drop_device_down", self.drop_device_down),
            ("rx_drop_malformed", self.rx_drop_malformed),
            ("rx_drop_kernel", self.rx_drop_kernel),
        ]
    }
}
