//! Captures of a port's frames, as files that tcpdump and Wireshark read. A thread of its own writes them: the data path
//! never waits for a disk, and what finds no room on the way there is missing in the file, and counted.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};

/// Bytes that may wait to be written.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Counted on top of a frame's length, so that short ones are bounded too.
const FRAME_COST: usize = 64;

/// The header of a capture file (draft-ietf-opsawg-pcap): times in nanoseconds, version 2.4, Ethernet.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const SNAP_BYTES: u32 = 262_144;
const ETHERNET: u32 = 1;

/// Which way a frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
}

/// A port's place in a capture: its two files.
#[derive(Debug, Clone)]
pub struct PortCapture {
    shared: Arc<Shared>,
    files: [usize; 2],
}

impl PortCapture {
    /// Notes a frame, or counts it when there is no room.
    pub fn record(&self, direction: Direction, frame: &[u8]) {
        let mut state = self.shared.state.lock();
        let bytes = state.bytes + frame.len() + FRAME_COST;
        if bytes > MAX_WAITING_BYTES || state.closed {
            state.dropped += 1;
            return;
        }
        state.bytes = bytes;
        let time = SystemTime::now();
        state.frames.push_back((self.files[direction as usize], time, frame.to_vec()));
        self.shared.arrived.notify_one();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
    files: Mutex<Vec<PcapFile>>,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<(usize, SystemTime, Vec<u8>)>,
    bytes: usize,
    written: u64,
    dropped: u64,
    closed: bool,
}

/// A folder of captures: INTERFACE_in.pcap and INTERFACE_out.pcap, as BMv2 calls them.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    limit_bytes: u64,
    shared: Arc<Shared>,
    ports: Mutex<HashMap<String, [usize; 2]>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Capture {
    /// Makes the folder. A file that would exceed `limit_bytes` is put aside with `.1` behind its name, in place of the
    /// one put aside before, and begun anew: each takes twice as much at most.
    pub fn new(folder: &Path, limit_bytes: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("canopy-capture".into()).spawn(move || write_all(&theirs))?;
        let (folder, ports) = (folder.to_owned(), Mutex::default());
        Ok(Self { folder, limit_bytes, shared, ports, thread: Mutex::new(Some(thread)) })
    }

    /// The files of an interface, made anew the first time.
    pub fn port(&self, interface: &str) -> io::Result<PortCapture> {
        let mut ports = self.ports.lock();
        let files = match ports.get(interface) {
            Some(&files) => files,
            None => {
                let file = |name| PcapFile::new(self.folder.join(format!("{interface}_{name}.pcap")), self.limit_bytes);
                let new = [file("in")?, file("out")?];
                let mut files = self.shared.files.lock();
                let first = files.len();
                files.extend(new);
                *ports.entry(interface.to_owned()).or_insert([first, first + 1])
            }
        };
        Ok(PortCapture { shared: Arc::clone(&self.shared), files })
    }

    /// Name and count.
    pub fn stats(&self) -> [(&'static str, u64); 2] {
        let state = self.shared.state.lock();
        [("captured", state.written), ("capture_dropped", state.dropped)]
    }

    /// Writes what waits, and takes no more.
    pub fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.close();
    }
}

/// The writing thread. Those who record do not wait while the disk works.
fn write_all(shared: &Shared) {
    // Whoever made this thread may be in a hurry; a capture is not.
    let _ = rustix::process::setpriority_process(None, 0);
    loop {
        let mut state = shared.state.lock();
        while state.frames.is_empty() && !state.closed {
            shared.arrived.wait(&mut state);
        }
        let frames = std::mem::take(&mut state.frames);
        let closed = state.closed;
        drop(state);
        let mut files = shared.files.lock();
        let (mut written, mut lost, mut bytes) = (0, 0, 0);
        for (file, time, frame) in &frames {
            bytes += frame.len() + FRAME_COST;
            let result = files.get_mut(*file).map(|file| file.write(*time, frame));
            let is_written = matches!(result, Some(Ok(())));
            written += u64::from(is_written);
            lost += u64::from(!is_written);
        }
        // What a full disk does not take is as lost as what found no room.
        files.iter_mut().for_each(|file| drop(file.out.flush()));
        drop(files);
        let mut state = shared.state.lock();
        state.bytes -= bytes;
        state.written += written;
        state.dropped += lost;
        if closed && state.frames.is_empty() {
            return;
        }
    }
}

#[derive(Debug)]
struct PcapFile {
    path: PathBuf,
    out: BufWriter<File>,
    bytes: u64,
    limit_bytes: u64,
}

impl PcapFile {
    /// A file under this name is replaced at once: whoever looks finds the old one or the new one.
    fn new(path: PathBuf, limit_bytes: u64) -> io::Result<Self> {
        let draft = with_suffix(&path, ".new");
        let mut out = BufWriter::new(File::create(&draft)?);
        let header = file_header();
        out.write_all(&header)?;
        out.flush()?;
        fs::rename(&draft, &path)?;
        Ok(Self { path, out, bytes: header.len() as u64, limit_bytes })
    }

    fn write(&mut self, time: SystemTime, frame: &[u8]) -> io::Result<()> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let length = frame.len() as u32;
        let mut header = [0; 16];
        for (to, from) in header.chunks_exact_mut(4).zip([since.as_secs() as u32, since.subsec_nanos(), length, length])
        {
            to.copy_from_slice(&from.to_ne_bytes());
        }
        let bytes = (header.len() + frame.len()) as u64;
        if self.bytes + bytes > self.limit_bytes && self.bytes > file_header().len() as u64 {
            self.rotate()?;
        }
        self.bytes += bytes;
        self.out.write_all(&header)?;
        self.out.write_all(frame)
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let aside = with_suffix(&self.path, ".1");
        let _ = fs::remove_file(&aside); // there is none the first time
        fs::hard_link(&self.path, &aside)?;
        *self = Self::new(self.path.clone(), self.limit_bytes)?;
        Ok(())
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn file_header() -> Vec<u8> {
    let mut header = MAGIC.to_ne_bytes().to_vec();
    VERSION.iter().for_each(|number| header.extend(number.to_ne_bytes()));
    for field in [0, 0, SNAP_BYTES, ETHERNET] {
        header.extend(u32::to_ne_bytes(field));
    }
    header
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
