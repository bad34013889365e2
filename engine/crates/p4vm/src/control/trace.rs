//! Traces: asking for them, taking their lines, and what the switch itself tells.

use crate::trace::Trace;
use crate::Switch;

impl Switch {
    /// Trace packets from now on, as long as fewer than `limit` lines wait to be taken; 0: stop, and forget what waits.
    pub fn set_trace(&mut self, limit: usize) {
        self.trace = (limit > 0).then(|| Box::new(Trace::new(limit)));
    }

    /// Up to `max` lines, oldest first: time in seconds, number of the packet and, once it is a copy, its egress port;
    /// then what happened.
    pub fn take_trace(&mut self, max: usize) -> Vec<String> {
        self.trace.as_mut().map(|trace| trace.take(max)).unwrap_or_default()
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
            trace.turn_to(number);
            trace.say(text);
        }
    }
}
