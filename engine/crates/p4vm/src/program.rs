//! A loaded program with what runs it: the interpreter, or native code once that is made.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::native::{Failure, Native};
use crate::{ir, load, LoadError};

/// Packets after which native code is made, which takes as long as interpreting some times more.
const HOT: u32 = 20_000;

/// A loaded program, shared between switches.
#[derive(Debug)]
pub struct Program {
    plain: ir::Program,
    /// Made when the first switch asks for it.
    native: OnceLock<Result<Native, Failure>>,
    /// Packets that adaptive switches have had before there was native code.
    packets: AtomicU32,
}

impl Program {
    /// Compile p4c's BMv2 JSON. Never panics; the error names the place in the JSON.
    pub fn from_json(text: &str) -> Result<Arc<Self>, LoadError> {
        let plain = load::from_json(text)?;
        Ok(Arc::new(Self { plain, native: OnceLock::new(), packets: AtomicU32::new(0) }))
    }

    /// The native code, or why there is none. Made by the first who asks.
    pub(crate) fn native(&self) -> Result<&Native, &Failure> {
        self.native.get_or_init(|| Native::compile(&self.plain)).as_ref()
    }

    /// The native code, where somebody has asked for it.
    pub(crate) fn made(&self) -> Option<Result<&Native, &Failure>> {
        self.native.get().map(Result::as_ref)
    }

    /// One more packet: is native code worth while now?
    pub(crate) fn is_hot(&self) -> bool {
        self.native.get().is_some() || self.packets.fetch_add(1, Ordering::Relaxed) >= HOT
    }
}

impl Deref for Program {
    type Target = ir::Program;

    fn deref(&self) -> &ir::Program {
        &self.plain
    }
}
