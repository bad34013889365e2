//! The two ends of a benchmark that cost as little as the kernel allows: a source that clones frames into an interface
//! and a sink that throws frames away, both by BPF programs of a few instructions (bpf(2)). Neither goes through the
//! sockets and the protocol stack, so that what is measured is what lies between.

use std::ffi::{c_int, c_long};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::interface_index;

const BPF_PROG_LOAD: c_int = 5;
const BPF_PROG_TEST_RUN: c_int = 10;
const BPF_LINK_CREATE: c_int = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;
const TC_ACT_OK: i32 = 0;
const TC_ACT_SHOT: i32 = 2;
const FUNC_CLONE_REDIRECT: i32 = 13;

/// Clones that one run of the larger program makes: setting up a run costs as much as some clones.
const CLONES_PER_RUN: u64 = 16;

/// One instruction (struct bpf_insn).
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// Destination in the lower half, source in the upper half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

impl Instruction {
    const fn new(code: u8, destination: u8, source: u8, immediate: i32) -> Self {
        Self { code, registers: destination | source << 4, offset: 0, immediate }
    }

    const fn copy(to: u8, from: u8) -> Self {
        Self::new(0xbf, to, from, 0)
    }

    const fn load(to: u8, value: i32) -> Self {
        Self::new(0xb7, to, 0, value)
    }

    const fn call(function: i32) -> Self {
        Self::new(0x85, 0, 0, function)
    }

    const EXIT: Self = Self::new(0x95, 0, 0, 0);
}

/// The beginning of union bpf_attr for BPF_PROG_LOAD.
#[repr(C)]
#[derive(Default)]
struct Load {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface_index: u32,
    expected_attach_type: u32,
}

/// For BPF_PROG_TEST_RUN.
#[repr(C)]
#[derive(Default)]
struct TestRun {
    program: u32,
    result: u32,
    data_in_bytes: u32,
    data_out_bytes: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
}

/// For BPF_LINK_CREATE.
#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
    /// What a tcx link may say about its order among others.
    order: [u64; 2],
}

/// Errors are the kernel's.
///
/// # Safety
/// `attributes` must be the beginning of union bpf_attr for `command`, with valid pointers in it.
unsafe fn bpf<T>(command: c_int, attributes: &mut T) -> io::Result<c_long> {
    let attributes: *mut T = attributes;
    match libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) {
        error if error < 0 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

/// A traffic control classifier.
fn load(instructions: &[Instruction], expected_attach_type: u32) -> io::Result<OwnedFd> {
    let mut attributes = Load {
        program_type: BPF_PROG_TYPE_SCHED_CLS,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        expected_attach_type,
        ..Load::default()
    };
    // SAFETY: the instructions and the string live through the call, which returns a new descriptor.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(BPF_PROG_LOAD, &mut attributes)? as c_int)) }
}

/// Sends clones of one frame on an interface.
#[derive(Debug)]
pub struct Source {
    one: OwnedFd,
    several: OwnedFd,
    frame: Vec<u8>,
}

impl Source {
    /// EPERM without CAP_BPF and CAP_NET_ADMIN, EINVAL for a frame that does not fit a page.
    pub fn open(interface: &str, frame: &[u8]) -> io::Result<Self> {
        let index = interface_index(interface)? as i32;
        let program = |clones: u64| {
            let clone = [
                Instruction::copy(1, 6),
                Instruction::load(2, index),
                Instruction::load(3, 0), // towards the other end
                Instruction::call(FUNC_CLONE_REDIRECT),
            ];
            let mut instructions = vec![Instruction::copy(6, 1)];
            (0..clones).for_each(|_| instructions.extend(clone));
            instructions.extend([Instruction::load(0, TC_ACT_OK), Instruction::EXIT]);
            load(&instructions, 0)
        };
        let source = Self { one: program(1)?, several: program(CLONES_PER_RUN)?, frame: frame.to_vec() };
        Ok(source)
    }

    /// Sends `count` frames; those for which the other end has no room are lost.
    pub fn send(&self, count: u64) -> io::Result<()> {
        let (runs, rest) = (count / CLONES_PER_RUN, count % CLONES_PER_RUN);
        for (program, repeat) in [(&self.several, runs), (&self.one, rest)] {
            if repeat == 0 {
                continue;
            }
            let mut attributes = TestRun {
                program: program.as_raw_fd() as u32,
                data_in: self.frame.as_ptr() as u64,
                data_in_bytes: self.frame.len() as u32,
                repeat: repeat as u32,
                ..TestRun::default()
            };
            // SAFETY: the frame lives through the call, which only reads it.
            unsafe { bpf(BPF_PROG_TEST_RUN, &mut attributes)? };
        }
        Ok(())
    }
}

/// Throws away what an interface receives, before any protocol looks at it, for as long as it lives.
#[derive(Debug)]
pub struct Sink {
    _link: OwnedFd,
}

impl Sink {
    /// EINVAL before Linux 6.6, EPERM without CAP_BPF and CAP_NET_ADMIN.
    pub fn open(interface: &str) -> io::Result<Self> {
        let program = load(&[Instruction::load(0, TC_ACT_SHOT), Instruction::EXIT], BPF_TCX_INGRESS)?;
        let mut attributes = LinkCreate {
            program: program.as_raw_fd() as u32,
            target: interface_index(interface)?,
            attach_type: BPF_TCX_INGRESS,
            ..LinkCreate::default()
        };
        // SAFETY: there is no pointer in these attributes; the call returns a new descriptor.
        let link = unsafe { OwnedFd::from_raw_fd(bpf(BPF_LINK_CREATE, &mut attributes)? as c_int) };
        Ok(Self { _link: link })
    }
}
