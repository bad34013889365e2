//! What the data path's thread and the switch's owner share.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use parking_lot::{FairMutex, Mutex};
use rustix::event::epoll;

use crate::device::Device;
use crate::error::LiveError;
use crate::fabric::Fabric;
use crate::outlet::Outlet;
use crate::sending::Sending;
use crate::shared::SharedSwitch;
use crate::sys::Receiver;

/// The epoll data of the descriptor that wakes the thread; all others are port numbers.
pub(crate) const WAKE: u64 = u64::MAX;

/// Ports by number, each with its device and, in the fabric, its links.
pub(crate) struct Ports {
    pub fabric: Fabric,
    pub devices: BTreeMap<u16, Device>,
    /// The devices' sending halves.
    pub outlets: BTreeMap<u16, Arc<Outlet>>,
}

/// What the thread and its owner share.
pub(crate) struct Core {
    pub shared: Arc<SharedSwitch>,
    pub ports: FairMutex<Ports>,
    pub sending: Sending,
    pub injected: Mutex<VecDeque<(u16, Vec<u8>)>>,
    pub epoll: OwnedFd,
    pub wake: OwnedFd,
    pub stopping: AtomicBool,
}

impl Core {
    /// Makes the thread look at everything again.
    pub fn wake(&self) {
        // Only fails when the counter is full, and then the thread is awake.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Has the thread told when the port's socket has something.
    pub fn watch(&self, port: u16, socket: &Receiver) -> io::Result<()> {
        let data = epoll::EventData::new_u64(u64::from(port));
        Ok(epoll::add(&self.epoll, socket, data, epoll::EventFlags::IN)?)
    }
}

impl Ports {
    pub fn check(&self, port: u16) -> Result<(), LiveError> {
        self.devices.contains_key(&port).then_some(()).ok_or(LiveError::NoPort(port))
    }

    pub fn close(&mut self) {
        self.devices.values_mut().for_each(Device::close);
    }
}
