use std::path::PathBuf;

use super::*;

/// A folder of the test's own, which ends with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("canopy-{name}-{}", std::process::id())))
    }

    fn frames(&self, file: &str) -> Vec<Vec<u8>> {
        let data = fs::read(self.0.join(file)).unwrap();
        assert_eq!(data[..24], file_header());
        let (mut rest, mut frames) = (&data[24..], Vec::new());
        while !rest.is_empty() {
            let length = u32::from_ne_bytes(rest[8..12].try_into().unwrap()) as usize;
            frames.push(rest[16..16 + length].to_vec());
            rest = &rest[16 + length..];
        }
        frames
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn each_direction_has_its_file() {
    let folder = Folder::new("directions");
    let capture = Capture::new(&folder.0, u64::MAX).unwrap();
    let port = capture.port("s1").unwrap();
    port.record(Direction::In, b"first");
    port.record(Direction::Out, b"second");
    // Whoever asks again gets the same files.
    capture.port("s1").unwrap().record(Direction::In, b"third");
    capture.close();
    port.record(Direction::In, b"too late");
    assert_eq!(folder.frames("s1_in.pcap"), [b"first".to_vec(), b"third".to_vec()]);
    assert_eq!(folder.frames("s1_out.pcap"), [b"second".to_vec()]);
    assert_eq!(capture.stats(), [("captured", 3), ("capture_dropped", 1)]);
}

#[test]
fn files_do_not_grow_beyond_their_limit() {
    let folder = Folder::new("limit");
    // Each file has room for two frames.
    let capture = Capture::new(&folder.0, 24 + 2 * (16 + 100)).unwrap();
    let port = capture.port("s1").unwrap();
    for number in 0..7 {
        port.record(Direction::Out, &[number; 100]);
    }
    capture.close();
    assert_eq!(folder.frames("s1_out.pcap.1"), [[4; 100], [5; 100]]);
    assert_eq!(folder.frames("s1_out.pcap"), [[6; 100]]);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 3);
}

#[test]
fn memory_is_bounded_and_what_is_lost_is_counted() {
    let folder = Folder::new("bound");
    let capture = Capture::new(&folder.0, u64::MAX).unwrap();
    let port = capture.port("s1").unwrap();
    let frames = 3 * MAX_WAITING_BYTES / 1000;
    {
        // As if the disk stood still.
        let mut state = capture.shared.state.lock();
        state.bytes = MAX_WAITING_BYTES - 10 * (1000 + FRAME_COST);
    }
    let held = capture.shared.state.lock().bytes;
    for _ in 0..frames {
        port.record(Direction::In, &[0; 1000]);
        assert!(capture.shared.state.lock().bytes <= MAX_WAITING_BYTES);
    }
    capture.close();
    let [(_, captured), (_, dropped)] = capture.stats();
    assert_eq!(captured + dropped, frames as u64);
    assert_eq!(capture.shared.state.lock().bytes, held);
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    assert!(Capture::new(Path::new("/proc/canopy"), u64::MAX).is_err());
}
