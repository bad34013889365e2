//! A readable account of a packet's way through parser, tables and actions, in the manner of BMv2's log.
//!
//! The walk is compiled twice: with [`Silent`], whose methods are empty, and with [`Recorder`]. A switch that is not asked
//! for a trace pays for nothing but one test per packet and half.

mod observer;
mod recorder;
mod show;

use std::collections::VecDeque;

pub(crate) use observer::{Observer, Silent};
pub(crate) use recorder::Recorder;

/// The lines that wait to be taken.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: VecDeque<String>,
    /// Lines beyond which no further packet is traced.
    limit: usize,
    /// Packets traced so far; each one's number is in front of its lines.
    packets: u64,
    /// Packets that were not traced because nobody took the lines.
    skipped: u64,
    now_us: u64,
    /// What the lines are about: the packet's number, and its egress port once it is a copy.
    packet: u64,
    port: Option<u16>,
    /// The header vector as it was last told.
    told: Vec<u64>,
}

impl Trace {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Up to `max` lines, oldest first.
    pub(crate) fn take(&mut self, max: usize) -> Vec<String> {
        let count = self.lines.len().min(max);
        self.lines.drain(..count).collect()
    }

    /// Go on with packet `number`, at the time and place of the line before.
    pub(crate) fn turn_to(&mut self, number: u64) {
        self.packet = number;
    }

    /// A packet arrives: its number, or 0 when there is no room for its lines.
    pub(crate) fn begin(&mut self, now_us: u64) -> u64 {
        if self.lines.len() >= self.limit {
            self.skipped += 1;
            self.packet = 0;
            return 0;
        }
        if self.skipped > 0 {
            self.lines.push_back(format!("{} packets were not traced: too many lines wait", self.skipped));
            self.skipped = 0;
        }
        self.packets += 1;
        self.resume(now_us, self.packets, None);
        self.packets
    }

    pub(crate) fn resume(&mut self, now_us: u64, packet: u64, port: Option<u16>) {
        (self.now_us, self.packet, self.port) = (now_us, packet, port);
    }

    pub(crate) fn say(&mut self, text: impl std::fmt::Display) {
        let (seconds, us) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
        self.lines.push_back(match self.port {
            None => format!("[{seconds}.{us:06}] [{}] {text}", self.packet),
            Some(port) => format!("[{seconds}.{us:06}] [{}>{port}] {text}", self.packet),
        });
    }
}

#[cfg(test)]
mod tests;
