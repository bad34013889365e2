//! TLP: the end of a flight is probed, so that its loss shows without a time-out (RFC 8985, section 7).

use crate::time::{Nanos, MILLISECOND};

/// Longest time that a receiver may keep an acknowledgment for a second packet (TLP.max_ack_delay); Linux adds its
/// least time-out.
const MAX_ACK_DELAY: Nanos = 200 * MILLISECOND;
/// Before the first measurement (section 7.2).
const INITIAL: Nanos = 1_000 * MILLISECOND;

#[derive(Clone, Copy, Debug)]
struct Probe {
    /// One past the newest packet when it was sent: TLP.end_seq.
    end: u64,
    is_retransmission: bool,
}

/// What an acknowledgment says of the probe.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// The oldest packet not acknowledged.
    pub first: u64,
    /// It names a packet that the receiver had already.
    pub is_duplicate: bool,
    /// It acknowledges nothing new and has no blocks.
    pub is_bare_repeat: bool,
}

#[derive(Debug, Default)]
pub struct TailProbe {
    at: Option<Nanos>,
    probe: Option<Probe>,
}

impl TailProbe {
    /// Starts the timer for `outstanding` packets; the time-out at `rto_at` is no reason to wait longer (7.2).
    pub fn schedule(&mut self, now: Nanos, srtt: Option<Nanos>, outstanding: u64, rto_at: Option<Nanos>) {
        let extra = if outstanding == 1 { MAX_ACK_DELAY } else { 0 };
        let at = now + srtt.map_or(INITIAL, |srtt| 2 * srtt + extra);
        self.at = (self.probe.is_none() && outstanding > 0).then(|| rto_at.map_or(at, |rto_at| at.min(rto_at)));
    }

    pub fn cancel(&mut self) {
        self.at = None;
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        self.at
    }

    /// The probe leaves (7.3).
    pub fn send(&mut self, end: u64, is_retransmission: bool) {
        self.at = None;
        self.probe = Some(Probe { end, is_retransmission });
    }

    /// An acknowledgment comes: whether the probe has repaired a loss, which asks for what a loss asks for (7.4.2).
    pub fn acknowledged(&mut self, heard: Heard) -> bool {
        let Some(probe) = self.probe.filter(|probe| heard.first >= probe.end) else { return false };
        let both_arrived = heard.is_duplicate || (heard.first == probe.end && heard.is_bare_repeat);
        if !probe.is_retransmission || both_arrived {
            self.probe = None;
            return false;
        }
        let repaired = heard.first > probe.end;
        if repaired {
            self.probe = None;
        }
        repaired
    }

    /// Recovery takes over.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(first: u64, is_duplicate: bool, is_bare_repeat: bool) -> Heard {
        Heard { first, is_duplicate, is_bare_repeat }
    }

    #[test]
    fn two_round_trips_and_longer_for_a_single_packet() {
        let mut probe = TailProbe::default();
        probe.schedule(1_000, Some(50), 3, None);
        assert_eq!(probe.wake_at(), Some(1_100));
        probe.schedule(1_000, Some(50), 1, None);
        assert_eq!(probe.wake_at(), Some(1_100 + MAX_ACK_DELAY));
        probe.schedule(1_000, Some(50), 1, Some(1_070));
        assert_eq!(probe.wake_at(), Some(1_070));
        probe.schedule(1_000, None, 3, None);
        assert_eq!(probe.wake_at(), Some(1_000 + INITIAL));
    }

    #[test]
    fn one_probe_at_a_time() {
        let mut probe = TailProbe::default();
        probe.send(10, true);
        probe.schedule(0, Some(50), 3, None);
        assert_eq!(probe.wake_at(), None);
    }

    #[test]
    fn only_a_repair_calls_for_a_response() {
        let sent = |is_retransmission| {
            let mut probe = TailProbe::default();
            probe.send(10, is_retransmission);
            probe
        };
        assert!(!sent(true).acknowledged(heard(9, false, false)));
        assert!(!sent(false).acknowledged(heard(11, false, false)));
        assert!(!sent(true).acknowledged(heard(10, true, false)));
        let mut probe = sent(true);
        assert!(!probe.acknowledged(heard(10, false, false))); // it may yet be that both arrived
        assert!(!probe.acknowledged(heard(10, false, true)));
        assert!(!probe.acknowledged(heard(12, false, false)));
        assert!(sent(true).acknowledged(heard(12, false, false)));
    }
}
