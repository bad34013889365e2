//! The live switch: ports with devices and links, and the thread that moves packets between them.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;

use p4vm::Rate;
use parking_lot::{FairMutex, Mutex};
use rustix::event::{epoll, eventfd, EventfdFlags};

use crate::capture::PortCapture;
use crate::core::{Core, Ports, WAKE};
use crate::device::Device;
use crate::error::LiveError;
use crate::fabric::Fabric;
use crate::port::LinkSettings;
use crate::sending::Sending;
use crate::shared::SharedSwitch;
use crate::worker;

/// Packet-outs that wait for the data path.
const MAX_INJECTED: usize = 4096;

/// A switch between AF_PACKET ports. Its sockets are open while it runs.
pub struct LiveSwitch {
    core: Arc<Core>,
    cpu_port: Option<u16>,
    num_ports: u16,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl LiveSwitch {
    pub fn new(shared: Arc<SharedSwitch>, seed: u64) -> io::Result<Self> {
        let (cpu_port, num_ports) = {
            let switch = shared.lock();
            (switch.options().cpu_port, switch.options().num_ports)
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let ports = Ports { fabric: Fabric::new(seed, cpu_port), devices: BTreeMap::new(), outlets: BTreeMap::new() };
        let core = Core {
            shared,
            ports: FairMutex::new(ports),
            sending: Sending::default(),
            injected: Mutex::default(),
            epoll,
            wake,
            stopping: AtomicBool::new(false),
        };
        Ok(Self { core: Arc::new(core), cpu_port, num_ports, thread: Mutex::new(None) })
    }

    /// Adds a port on an interface, which must exist. Without `rx` what the interface receives is not delayed.
    pub fn add_port(
        &self,
        port: u16,
        interface: &str,
        tx: LinkSettings,
        rx: Option<LinkSettings>,
    ) -> Result<(), LiveError> {
        if port >= self.num_ports || Some(port) == self.cpu_port {
            return Err(LiveError::InvalidPort(port));
        }
        let thread = self.thread.lock();
        let mut ports = self.core.ports.lock();
        if ports.devices.contains_key(&port) {
            return Err(LiveError::PortExists(port));
        }
        let os_error = |error| LiveError::Os { interface: interface.to_owned(), error };
        let mut device = Device::new(interface);
        let socket = device.open().map_err(os_error)?;
        if thread.is_some() {
            self.core.watch(port, socket).map_err(os_error)?;
        } else {
            device.close(); // nobody would take what arrives before start
        }
        ports.fabric.add_port(port, tx, rx)?;
        ports.outlets.insert(port, Arc::clone(device.outlet()));
        ports.devices.insert(port, device);
        Ok(())
    }

    pub fn remove_port(&self, port: u16) -> Result<(), LiveError> {
        let mut ports = self.core.ports.lock();
        ports.devices.remove(&port).ok_or(LiveError::NoPort(port))?;
        ports.outlets.remove(&port);
        ports.fabric.remove_port(port);
        Ok(())
    }

    /// How many packet-ins each port may cause.
    pub fn set_packet_in_rate(&self, rate: Rate) {
        self.core.ports.lock().fabric.set_packet_in_rate(rate);
    }

    /// The interface of a port.
    pub fn interface(&self, port: u16) -> Option<String> {
        self.core.ports.lock().devices.get(&port).map(|device| device.interface().to_owned())
    }

    /// Has a port's frames written down from now on: those that arrive, before its rx link, and those that its interface
    /// has taken. None ends that.
    pub fn set_capture(&self, port: u16, capture: Option<PortCapture>) -> Result<(), LiveError> {
        let mut ports = self.core.ports.lock();
        ports.devices.get_mut(&port).ok_or(LiveError::NoPort(port))?.set_capture(capture);
        Ok(())
    }

    /// Changes a port's links from now on; what they hold stays. None leaves a direction as it is.
    pub fn set_link(&self, port: u16, tx: Option<LinkSettings>, rx: Option<LinkSettings>) -> Result<(), LiveError> {
        let mut ports = self.core.ports.lock();
        ports.check(port)?;
        ports.fabric.set_link(port, tx, rx)?;
        drop(ports);
        self.core.wake();
        Ok(())
    }

    /// Takes both directions of a port's link down, with the loss of all that they hold, or up.
    pub fn set_port_up(&self, port: u16, up: bool) -> Result<(), LiveError> {
        let mut ports = self.core.ports.lock();
        ports.check(port)?;
        ports.fabric.set_up(self.core.shared.now_ns(), port, up);
        Ok(())
    }

    /// Opens the sockets and starts the thread. Does nothing while it runs.
    pub fn start(&self) -> Result<(), LiveError> {
        let mut thread = self.thread.lock();
        if thread.is_some() {
            return Ok(());
        }
        let mut ports = self.core.ports.lock();
        for (&port, device) in &mut ports.devices {
            let opened = device.open().and_then(|socket| self.core.watch(port, socket));
            if let Err(error) = opened {
                let interface = device.interface().to_owned();
                ports.close();
                return Err(LiveError::Os { interface, error });
            }
        }
        self.core.stopping.store(false, Ordering::Relaxed);
        let core = Arc::clone(&self.core);
        let spawned = std::thread::Builder::new().name("canopy-switch".into()).spawn(move || worker::run(&core));
        *thread = Some(spawned.map_err(|error| LiveError::Os { interface: String::new(), error })?);
        Ok(())
    }

    /// Stops the thread and closes the sockets. Links keep what they hold.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.core.stopping.store(true, Ordering::Relaxed);
        self.core.wake();
        let _ = thread.join();
        self.core.ports.lock().close();
        self.core.injected.lock().clear();
    }

    /// Hands a packet to ingress as if it had arrived at `port`.
    pub fn inject(&self, port: u16, packet: Vec<u8>) -> Result<(), LiveError> {
        if self.thread.lock().is_none() {
            return Err(LiveError::NotRunning);
        }
        if port >= self.num_ports && Some(port) != self.cpu_port {
            return Err(LiveError::InvalidPort(port));
        }
        let mut injected = self.core.injected.lock();
        if injected.len() >= MAX_INJECTED {
            return Err(LiveError::Busy);
        }
        injected.push_back((port, packet));
        drop(injected);
        self.core.wake();
        Ok(())
    }

    /// What each port has counted: name and value.
    pub fn port_stats(&self) -> BTreeMap<u16, BTreeMap<&'static str, u64>> {
        let mut ports = self.core.ports.lock();
        let Ports { fabric, devices, .. } = &mut *ports;
        let stats = |(&number, device): (&u16, &mut Device)| {
            device.take_kernel_drops();
            let links = fabric.port(number).map(|port| port.link_stats()).unwrap_or_default();
            let mut stats: BTreeMap<_, _> = links.into_iter().chain(device.named_stats()).collect();
            stats.insert("device_up", u64::from(!device.is_down()));
            (number, stats)
        };
        devices.iter_mut().map(stats).collect()
    }

    /// Copies made for ports that do not exist.
    pub fn drop_no_port(&self) -> u64 {
        self.core.ports.lock().fabric.drop_no_port
    }
}

impl Drop for LiveSwitch {
    fn drop(&mut self) {
        self.stop();
    }
}
