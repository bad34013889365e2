//! The interface behind a port. It may go down, go away, come back or have no room: all of that is counted, none fatal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::capture::PortCapture;
use crate::outlet::Outlet;
use crate::sys::{interface_index, Received, Receiver};

/// What receiving has counted.
#[derive(Debug, Default, Clone)]
pub struct ReceiveStats {
    /// Frames longer than any buffer, and frames that contradict their offload header.
    pub drop_malformed: u64,
    /// The kernel dropped them before they were taken.
    pub drop_kernel: u64,
}

/// An interface by name: the socket that receives, while there is one, and the outlet that sends.
#[derive(Debug)]
pub struct Device {
    interface: String,
    receiver: Option<Receiver>,
    outlet: Arc<Outlet>,
    /// The last operation said that the interface is down or gone.
    down: Arc<AtomicBool>,
    pub stats: ReceiveStats,
    /// Where frames that arrive are written down, if anywhere.
    capture: Option<PortCapture>,
}

impl Device {
    /// Without sockets until [`Self::open`].
    pub fn new(interface: &str) -> Self {
        let down = Arc::new(AtomicBool::new(true));
        let outlet = Arc::new(Outlet::new(Arc::clone(&down)));
        Self {
            interface: interface.to_owned(),
            receiver: None,
            outlet,
            down,
            stats: ReceiveStats::default(),
            capture: None,
        }
    }

    pub fn interface(&self) -> &str {
        &self.interface
    }

    pub fn outlet(&self) -> &Arc<Outlet> {
        &self.outlet
    }

    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::Relaxed)
    }

    pub fn capture(&self) -> Option<PortCapture> {
        self.capture.clone()
    }

    /// Has the frames of both directions written down, or no more.
    pub fn set_capture(&mut self, capture: Option<PortCapture>) {
        self.outlet.set_capture(capture.clone());
        self.capture = capture;
    }

    fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }

    pub fn open(&mut self) -> io::Result<&Receiver> {
        let receiver = Receiver::open(&self.interface)?;
        self.outlet.open(&self.interface)?;
        self.set_down(false);
        Ok(self.receiver.insert(receiver))
    }

    pub fn close(&mut self) {
        self.take_kernel_drops();
        self.receiver = None;
        self.outlet.close();
        self.set_down(true);
    }

    /// Looks after an interface that was seen down: a socket whose interface is gone is closed, and when an interface
    /// of the name is there again a new one is opened. Returns the new receiver.
    pub fn revive(&mut self) -> Option<&Receiver> {
        if !self.is_down() {
            return None;
        }
        let index = interface_index(&self.interface).ok();
        if self.receiver.as_ref().map(|receiver| receiver.socket().interface_index()) == index {
            // The same interface, with which the socket works again once it is up; or still none.
            let socket = self.receiver.as_ref().map(Receiver::socket);
            self.set_down(!socket.is_some_and(|socket| socket.interface_is_up(&self.interface)));
            return None;
        }
        self.close();
        self.open().ok()
    }

    /// Hands what has arrived to `each`, up to `limit` frames; `large` is memory for those of unusual length. Returns
    /// their number.
    pub fn receive(&mut self, limit: usize, large: &mut Vec<u8>, each: impl FnMut(Received<'_>)) -> usize {
        let Some(receiver) = &mut self.receiver else { return 0 };
        match receiver.receive(limit, large, each) {
            Ok(count) => {
                self.set_down(false);
                count
            }
            Err(error) => {
                if let Some(libc::ENETDOWN | libc::ENODEV | libc::ENXIO) = error.raw_os_error() {
                    self.set_down(true);
                }
                0
            }
        }
    }

    pub fn take_kernel_drops(&mut self) {
        self.stats.drop_kernel += self.receiver.as_ref().map_or(0, |receiver| receiver.socket().take_kernel_drops());
    }

    /// Name and value of what both directions have counted.
    pub fn named_stats(&self) -> [(&'static str, u64); 7] {
        let sent = self.outlet.stats();
        [
            ("tx_packets", sent.packets),
            ("tx_bytes", sent.bytes),
            ("drop_oversize", sent.drop_oversize),
            ("drop_device", sent.drop_device),
            ("drop_device_down", sent.drop_device_down),
            ("rx_drop_malformed", self.stats.drop_malformed),
            ("rx_drop_kernel", self.stats.drop_kernel),
        ]
    }
}
