//! The switch: its state, and the way through it in one go.

use std::sync::Arc;

use crate::copy::Pool;
use crate::events::{DigestLimits, Events};
use crate::ir::Intrinsics;
use crate::machine::{Externs, PacketState};
use crate::native::Native;
use crate::parser::ValueSetState;
use crate::phv::Copied;
use crate::pre::Pre;
use crate::stats::Stats;
use crate::table::profile::ProfileState;
use crate::table::{Flows, TableState};
use crate::trace::Trace;
use crate::{Backend, Options, Outputs, PacketCopy, Program, QueueMeta};

/// An IPv4 or IPv6 packet, or an Ethernet frame of any common MTU, is not longer.
pub(crate) const MAX_PACKET: usize = 65_535;

/// Copies of one packet, and of those, before `process` cuts off what they would make: twice a large group's.
const MAX_COPIES: usize = 1 << 16;

/// How often `ingress` looks for idle entries.
const SWEEP_NS: u64 = 100_000_000;

/// One P4 switch without I/O or clock. `Send`; the names in control operations are the JSON's. Times only go forward:
/// an earlier `now` counts as the latest one seen.
#[derive(Debug)]
pub struct Switch {
    pub(crate) program: Arc<Program>,
    pub(crate) options: Options,
    pub(crate) tables: Vec<TableState>,
    pub(crate) profiles: Vec<ProfileState>,
    /// What flows hit in the tables, which forgets it when entries change.
    pub(crate) flows: Flows,
    pub(crate) externs: Externs,
    pub(crate) value_sets: Vec<ValueSetState>,
    pub(crate) pre: Pre,
    pub(crate) events: Events,
    pub(crate) digest_limits: DigestLimits,
    pub(crate) stats: Stats,
    pub(crate) now_ns: u64,
    pub(crate) swept_ns: u64,
    pub(crate) pool: Pool,
    /// Boxed, for who lends and takes it back at every packet.
    pub(crate) work: Box<Work>,
    pub(crate) trace: Option<Box<Trace>>,
    /// The program once more, for the packet at hand to borrow: counting its holders for each packet would cost.
    pub(crate) lent: Option<Arc<Program>>,
    /// Runs native code.
    native: bool,
    /// Counts packets until that is worth while.
    warming: bool,
}

/// Buffers of the packet being processed, used again for the next one. A switch has its own, unless somebody who has many
/// switches lends them some in turn ([`Switch::exchange`]): what all touch stays near the processor.
#[derive(Debug, Default)]
pub struct Work {
    /// Whose header vectors these are.
    program: Option<Arc<Program>>,
    pub(crate) phv: Vec<u64>,
    /// The packet's state, in this one place from parser to deparser: copies of what was written piece by piece wait for
    /// the pieces to reach the cache.
    pub(crate) state: PacketState,
    /// What is in `phv`.
    pub(crate) copied: Copied,
    /// The header vector of the pass before, for field lists; that of an ingress clone.
    pub(crate) other: Vec<u64>,
    pub(crate) key: Vec<u64>,
    pub(crate) scratch: Vec<u8>,
    /// A packet that is recirculated.
    pub(crate) bytes: Vec<u8>,
    /// Copies of `process` that wait for egress, and those that egress makes of them.
    pub(crate) copies: Vec<PacketCopy>,
    pub(crate) more: Vec<PacketCopy>,
}

impl Work {
    fn of(program: &Arc<Program>) -> Self {
        Self { program: Some(Arc::clone(program)), ..Self::default() }
    }
}

impl Switch {
    /// A switch in the state after loading: const entries and default actions only.
    pub fn new(program: Arc<Program>, options: Options) -> Self {
        let warming = options.backend == Backend::Adaptive;
        let work = Box::new(Work::of(&program));
        let mut switch = Self {
            tables: Vec::new(),
            profiles: Vec::new(),
            flows: Flows::default(),
            externs: Externs::new(&program, options.seed, options.max_log),
            value_sets: Vec::new(),
            pre: Pre::default(),
            events: Events::default(),
            digest_limits: DigestLimits::default(),
            stats: Stats::default(),
            now_ns: 0,
            swept_ns: 0,
            pool: Pool::default(),
            program,
            options,
            work,
            trace: None,
            lent: None,
            native: false,
            warming,
        };
        if switch.options.backend == Backend::Native {
            switch.compile();
        }
        switch.load_state();
        switch
    }

    /// The program it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Changes the switch's buffers for others, which come back by the same call.
    #[inline]
    pub fn exchange(&mut self, work: &mut Box<Work>) {
        if !work.program.as_ref().is_some_and(|program| Arc::ptr_eq(program, &self.program)) {
            **work = Work::of(&self.program);
        }
        std::mem::swap(&mut self.work, work);
    }

    /// What runs the program now, and if native code was asked for in vain, why.
    pub fn backend(&self) -> (Backend, Option<&str>) {
        if self.native {
            return (Backend::Native, None);
        }
        let failure = self.program.made().and_then(Result::err);
        let reason = failure.filter(|_| self.options.backend != Backend::Interpreter).map(|failure| failure.0.as_str());
        (if self.warming { Backend::Adaptive } else { Backend::Interpreter }, reason)
    }

    /// The program apart from the switch; whoever is done with it puts it back into `lent`.
    #[inline]
    pub(crate) fn lend(&mut self) -> Arc<Program> {
        self.lent.take().unwrap_or_else(|| Arc::clone(&self.program))
    }

    /// For words that nobody should read, and different where native code runs: what read them would not agree.
    pub(crate) fn poison(&self) -> u64 {
        if self.native {
            0xa5a5_a5a5_a5a5_a5a5
        } else {
            0x5a5a_5a5a_5a5a_5a5a
        }
    }

    /// The metadata that the machine has to write: a trace shows all of it. Not inlined: which of both it is would be
    /// asked for each of its fields.
    #[inline(never)]
    pub(crate) fn told<'p>(&self, program: &'p Program) -> &'p Intrinsics {
        if self.trace.is_some() {
            &program.intrinsics
        } else {
            &program.live.told
        }
    }

    fn compile(&mut self) {
        self.warming = false;
        self.native = self.program.native().is_ok();
    }

    /// A packet comes: an adaptive switch may change to native code.
    #[inline]
    pub(crate) fn warm_up(&mut self) {
        if self.warming && self.program.is_hot() {
            self.compile();
        }
    }

    /// The native code, for a packet that is not traced.
    #[inline]
    pub(crate) fn native_of<'p>(&self, program: &'p Program, traced: u64) -> Option<&'p Native> {
        let native = self.native && traced == 0;
        native.then(|| program.native().ok()).flatten()
    }

    /// As given to [`Self::new`].
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Back to the state after loading: no entries but const ones, zero counters and registers, no groups, no events.
    pub fn reset(&mut self) {
        self.externs = Externs::new(&self.program, self.options.seed, self.options.max_log);
        self.pre.clear();
        self.events.clear();
        self.stats = Stats::default();
        self.load_state();
    }

    fn load_state(&mut self) {
        self.tables = self.program.tables.iter().map(TableState::new).collect();
        self.flows = Flows::default();
        self.profiles = self.program.profiles.iter().map(|_| ProfileState::default()).collect();
        self.value_sets = self.program.value_sets.iter().map(|_| ValueSetState::default()).collect();
    }

    pub(crate) fn has_port(&self, port: u16) -> bool {
        port < self.options.num_ports || self.options.cpu_port == Some(port)
    }

    pub(crate) fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        if self.now_ns - self.swept_ns >= SWEEP_NS {
            self.tick(now_ns);
        }
    }

    /// Throw a copy away and keep its buffer.
    #[inline]
    pub fn recycle(&mut self, copy: PacketCopy) {
        self.pool.give(copy.flight);
    }

    /// Ingress and egress of a packet and of all its copies with empty queues. Packets are appended to `out`.
    pub fn process(&mut self, now_ns: u64, port: u16, packet: &[u8], out: &mut Outputs) {
        let mut copies = std::mem::take(&mut self.work.copies);
        debug_assert!(copies.is_empty());
        self.ingress_and_egress(now_ns, port, packet, out, &mut copies);
        if !copies.is_empty() {
            self.drain(now_ns, &mut copies, out);
        }
        // What was in its place meanwhile has no memory: to drop it would be a call.
        std::mem::forget(std::mem::replace(&mut self.work.copies, copies));
    }

    /// Egress of copies, and of those that it makes.
    fn drain(&mut self, now_ns: u64, copies: &mut Vec<PacketCopy>, out: &mut Outputs) {
        let mut more = std::mem::take(&mut self.work.more);
        let queue = QueueMeta { enq_timestamp_us: self.now_ns / 1000, ..QueueMeta::default() };
        let (mut rounds, mut done) = (0, 0);
        while !copies.is_empty() {
            done += copies.len();
            for copy in copies.drain(..) {
                if let Some(port) = self.egress(now_ns, copy, &queue, out.buffer(), &mut more) {
                    out.seal(port);
                }
            }
            std::mem::swap(copies, &mut more);
            rounds += 1;
            // Copies that make several copies grow beyond what a number of rounds bounds.
            if rounds > self.options.max_passes || done > MAX_COPIES {
                self.stats.drop_loop += copies.len() as u64;
                copies.clear();
            }
        }
        self.work.more = more;
    }
}
