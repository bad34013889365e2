//! Events, idle timeouts, statistics and the log.

use std::sync::Arc;

use crate::{Event, Switch};

impl Switch {
    /// Let time pass without a packet: idle timeouts are found here. `ingress` and `egress` do this too, every 100 ms.
    pub fn tick(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
        self.swept_ns = self.now_ns;
        let program = Arc::clone(&self.program);
        let now_ns = self.now_ns;
        for (at, table) in program.tables.iter().enumerate().filter(|(_, table)| table.timeout) {
            let mut idle = Vec::new();
            let entries = self.tables.get_mut(at).map(|state| state.entries.as_mut_slice()).unwrap_or_default();
            for (place, entry) in entries.iter_mut().enumerate() {
                let Some(entry) = entry.as_mut().filter(|entry| entry.idle_timeout_ns > 0) else { continue };
                let since = entry.last_hit_ns.max(entry.reported_ns);
                if now_ns.saturating_sub(since) >= entry.idle_timeout_ns {
                    entry.reported_ns = now_ns;
                    idle.push(place);
                }
            }
            for place in idle {
                let entry = self.tables.get(at).and_then(|state| state.entries.get(place)?.as_ref());
                let Some(entry) = entry.map(|entry| self.show(at, entry)) else { continue };
                let event = || Event::IdleTimeout { time_us: now_ns / 1000, table: Arc::clone(&table.name), entry };
                let pushed = self.events.push(self.options.max_events, event);
                self.stats.idle_timeouts += u64::from(pushed);
                self.stats.events_lost += u64::from(!pushed);
            }
        }
    }

    /// Number of events waiting.
    pub fn pending_events(&self) -> usize {
        self.events.len()
    }

    /// Take up to `max` events, oldest first.
    pub fn take_events(&mut self, max: usize) -> Vec<Event> {
        self.events.take(max)
    }

    /// Packets in, out, dropped by reason, cut loops, lost events, ...: name and count.
    pub fn stats(&self) -> Vec<(&'static str, u64)> {
        let mut stats = self.stats.named();
        stats.push(("extern_out_of_range", self.externs.out_of_range));
        stats.push(("log_lost", self.externs.log_lost));
        stats
    }

    /// Take the messages of `log_msg`, oldest first (see [`Options::max_log`](crate::Options)).
    pub fn take_log(&mut self) -> Vec<String> {
        self.externs.log.drain(..).collect()
    }
}
