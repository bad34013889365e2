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

use crate::Switch;

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
    /// A packet arrives: its number, or 0 when there is no room for its lines.
    fn begin(&mut self, now_us: u64) -> u64 {
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

    fn resume(&mut self, now_us: u64, packet: u64, port: Option<u16>) {
        (self.now_us, self.packet, self.port) = (now_us, packet, port);
    }

    fn say(&mut self, text: impl std::fmt::Display) {
        let (seconds, us) = (self.now_us / 1_000_000, self.now_us % 1_000_000);
        self.lines.push_back(match self.port {
            None => format!("[{seconds}.{us:06}] [{}] {text}", self.packet),
            Some(port) => format!("[{seconds}.{us:06}] [{}>{port}] {text}", self.packet),
        });
    }
}

impl Switch {
    /// Trace packets from now on, as long as fewer than `limit` lines wait to be taken; 0: stop, and forget what waits.
    pub fn set_trace(&mut self, limit: usize) {
        self.trace = (limit > 0).then(|| Box::new(Trace { limit, ..Trace::default() }));
    }

    /// Up to `max` lines, oldest first: time in seconds, number of the packet and, once it is a copy, its egress port;
    /// then what happened.
    pub fn take_trace(&mut self, max: usize) -> Vec<String> {
        let Some(trace) = &mut self.trace else { return Vec::new() };
        let count = trace.lines.len().min(max);
        trace.lines.drain(..count).collect()
    }

    /// Start the account of a packet that has arrived; its number, 0 when it gets none.
    #[inline]
    pub(crate) fn trace_packet(&mut self, port: u16, bytes: usize) -> u64 {
        let Some(trace) = &mut self.trace else { return 0 };
        let number = trace.begin(self.now_ns / 1000);
        if number > 0 {
            trace.say(format_args!("Processing packet of {bytes} bytes received on port {port}"));
        }
        number
    }

    /// Go on with the account of a copy in egress.
    #[inline]
    pub(crate) fn trace_copy(&mut self, number: u64, port: u16) {
        if let Some(trace) = &mut self.trace {
            trace.resume(self.now_ns / 1000, number, Some(port));
        }
    }

    /// A line about packet `number`.
    #[inline]
    pub(crate) fn trace_line(&mut self, number: u64, text: std::fmt::Arguments<'_>) {
        if number == 0 {
            return;
        }
        if let Some(trace) = &mut self.trace {
            trace.packet = number;
            trace.say(text);
        }
    }
}

#[cfg(test)]
mod tests;
