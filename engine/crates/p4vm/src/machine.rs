//! What runs while a packet is in a control, parser or deparser: its header vector, its flags and the externs.

use std::collections::VecDeque;

use crate::expr::{self, Env};
use crate::externs::counter::CounterArray;
use crate::externs::meter::Meter;
use crate::externs::random::Random;
use crate::externs::register::RegisterArray;
use crate::ir::{Expr, Field, Program, Target};
use crate::phv;
use crate::value::{words_for, MAX_VALUE_WORDS};

/// BMv2's drop port: `mark_to_drop` writes it to `egress_spec`.
pub(crate) const DROP_PORT: u64 = 511;

/// State of the externs that actions use.
#[derive(Debug)]
pub(crate) struct Externs {
    pub registers: Vec<RegisterArray>,
    pub counters: Vec<CounterArray>,
    pub meters: Vec<Vec<Meter>>,
    pub random: Random,
    /// Accesses outside a register, counter or meter array.
    pub out_of_range: u64,
    pub log: VecDeque<String>,
    /// Messages of `log_msg` that are kept; 0: none is formatted.
    pub log_limit: usize,
    pub log_lost: u64,
}

impl Externs {
    pub(crate) fn new(program: &Program, seed: u64, log_limit: usize) -> Self {
        Self {
            registers: program.registers.iter().map(|r| RegisterArray::new(r.size, r.bits)).collect(),
            counters: program.counters.iter().map(|c| CounterArray::new(c.size)).collect(),
            meters: program.meters.iter().map(|m| vec![Meter::default(); m.size]).collect(),
            random: Random::new(seed),
            out_of_range: 0,
            log: VecDeque::new(),
            log_limit,
            log_lost: 0,
        }
    }
}

/// What is known about the packet beside its header vector, and what primitives asked to be done with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PacketState {
    /// Where the packet came in, also of its clones and later passes, whose metadata may have forgotten it.
    pub ingress_port: u16,
    /// Bytes as it came in; what counters and meters count.
    pub ingress_length: u32,
    /// As BMv2's packet length register: follows headers that are added and removed.
    pub length: u32,
    /// Cut to so many bytes when it leaves.
    pub truncate: Option<u32>,
    /// Session and field list.
    pub clone: Option<(u32, u32)>,
    /// Ids; 0: none.
    pub digest: u32,
    pub resubmit: u32,
    pub recirculate: u32,
    pub exit: bool,
    /// An assertion failed.
    pub failed: bool,
    /// Number of the packet in the trace; 0: it is in none.
    pub traced: u64,
}

impl PacketState {
    /// What a multicast or clone copy inherits. As in BMv2, truncation is not among it.
    pub(crate) fn of_copy(&self) -> Self {
        let Self { ingress_port, ingress_length, length, traced, .. } = *self;
        Self { ingress_port, ingress_length, length, traced, ..Self::default() }
    }
}

pub(crate) struct Machine<'a> {
    pub program: &'a Program,
    pub phv: &'a mut [u64],
    pub state: &'a mut PacketState,
    /// What follows the parsed headers.
    pub payload: &'a [u8],
    pub externs: &'a mut Externs,
    pub scratch: &'a mut Vec<u8>,
    pub now_ns: u64,
}

impl Machine<'_> {
    #[inline]
    pub(crate) fn env<'b>(&'b self, args: &'b [u64]) -> Env<'b> {
        Env { program: self.program, phv: self.phv, args, registers: &self.externs.registers }
    }

    /// Compute a value and write it to a field.
    #[inline]
    pub(crate) fn assign(&mut self, to: &Field, value: &Expr, args: &[u64]) {
        if to.bits <= 64 && !to.saturating {
            let mut word = [0];
            value.eval_words(self.env(args), to.bits, &mut word);
            phv::set(self.phv, to.word, word[0]);
        } else {
            self.assign_wide(to, value, args);
        }
    }

    fn assign_wide(&mut self, to: &Field, value: &Expr, args: &[u64]) {
        let mut words = [0; MAX_VALUE_WORDS];
        let Some(words) = words.get_mut(..words_for(to.bits) as usize) else { return };
        if to.saturating {
            value.eval_saturated(self.env(args), to.bits, to.signed, words);
        } else {
            value.eval_words(self.env(args), to.bits, words);
        }
        if let Some(slot) = self.phv.get_mut(phv::value_words(to)) {
            slot.copy_from_slice(words);
        }
    }

    /// The field meant by a target; None for an index outside its stack.
    #[inline]
    pub(crate) fn target(&self, target: &Target, args: &[u64]) -> Option<Field> {
        match target {
            Target::Field(field) => Some(*field),
            Target::In { header, index } => expr::field_in(self.env(args), header, *index),
        }
    }

    /// Write a plain number.
    pub(crate) fn store(&mut self, target: &Target, value: u64, args: &[u64]) {
        if let Some(field) = self.target(target, args) {
            if let Some((first, rest)) = self.phv.get_mut(phv::value_words(&field)).and_then(|w| w.split_first_mut()) {
                *first = value & crate::value::mask64(field.bits);
                rest.fill(0);
            }
        }
    }
}
