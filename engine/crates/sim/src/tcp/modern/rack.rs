//! RACK: a packet is lost when one that was sent enough later has arrived (RFC 8985, sections 5 and 6).

use super::scoreboard::{Scoreboard, Sent};
use crate::time::Nanos;

/// Packets acknowledged selectively that make a loss while no reordering has been seen (section 6.2, step 4).
const DUP_THRESHOLD: u64 = 3;
/// Recoveries without a spurious retransmission after which the window for reordering is small again (the same step).
const PERSISTENCE: u32 = 16;

/// The round trip times that RACK compares with.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrips {
    pub smoothed: Nanos,
    pub least: Nanos,
}

#[derive(Debug)]
pub struct Rack {
    /// The transmission, of those delivered, that was sent last: RACK.xmit_ts and RACK.end_seq.
    newest: Option<u64>,
    /// Its round trip time: RACK.rtt.
    rtt: Nanos,
    /// One past the highest packet delivered: RACK.fack.
    delivered_end: u64,
    reordering_seen: bool,
    /// Of the reordering window, in quarters of the least round trip time.
    multiplier: u32,
    persistence: u32,
    /// Until this packet is acknowledged, further DSACKs are of the same round.
    dsack_round: Option<u64>,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: None,
            rtt: 0,
            delivered_end: 0,
            reordering_seen: false,
            multiplier: 1,
            persistence: 0,
            dsack_round: None,
        }
    }
}

impl Rack {
    /// A packet has arrived (steps 1 to 3), `least` the least round trip time.
    pub fn deliver(&mut self, packet: u64, sent: &Sent, now: Nanos, least: Nanos) {
        if packet < self.delivered_end && sent.times == 1 {
            self.reordering_seen = true;
        }
        self.delivered_end = self.delivered_end.max(packet + 1);
        let rtt = now - sent.at;
        // So soon, it is an earlier transmission that was acknowledged. (Timestamps do not tell: a segment above a hole
        // is not the one whose timestamp is echoed.)
        if sent.times > 1 && rtt < least {
            return;
        }
        if self.newest.is_none_or(|newest| newest < sent.transmission) {
            (self.newest, self.rtt) = (Some(sent.transmission), rtt);
        }
    }

    /// The receiver has had a packet twice; the newest packet sent is below `end` (step 4).
    pub fn hear_duplicate(&mut self, first: u64, end: u64) {
        if self.dsack_round.is_none_or(|round| first >= round) {
            self.dsack_round = Some(end);
            self.multiplier += 1;
            self.persistence = PERSISTENCE;
        }
    }

    /// A recovery ends.
    pub fn recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.multiplier = 1;
        }
    }

    /// The time by which packets may be overtaken (step 4).
    fn window(&self, board: &Scoreboard, is_recovering: bool, times: RoundTrips) -> Nanos {
        if !self.reordering_seen && (is_recovering || board.sacked() >= DUP_THRESHOLD) {
            return 0;
        }
        (Nanos::from(self.multiplier) * times.least / 4).min(times.smoothed)
    }

    /// Deems packets lost (step 5) and tells `lost` of each; when the next one will be, unless it is acknowledged.
    ///
    /// The RFC's timer waits until all that were overtaken are overdue; this one until the first is, so that no more
    /// packets are looked at than are lost.
    pub fn detect(
        &self,
        board: &mut Scoreboard,
        now: Nanos,
        is_recovering: bool,
        times: RoundTrips,
        mut lost: impl FnMut(u64, &Sent),
    ) -> Option<Nanos> {
        let newest = self.newest?;
        let allowed = self.rtt + self.window(board, is_recovering, times);
        while let Some((packet, sent)) = board.oldest_flying().filter(|(_, sent)| sent.transmission < newest) {
            if sent.at + allowed > now {
                return Some(sent.at + allowed);
            }
            board.lose(packet);
            lost(packet, &sent);
        }
        None
    }

    /// After a time-out (section 6.3): the oldest packet is lost, and all that have been out for too long.
    pub fn time_out(&self, board: &mut Scoreboard, now: Nanos, times: RoundTrips, mut lost: impl FnMut(u64, &Sent)) {
        let allowed = self.rtt + self.window(board, true, times);
        if let Some(sent) = board.get(board.first()).copied() {
            let packet = board.first();
            if board.lose(packet) {
                lost(packet, &sent);
            }
        }
        while let Some((packet, sent)) = board.oldest_flying().filter(|(_, sent)| sent.at + allowed <= now) {
            board.lose(packet);
            lost(packet, &sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::modern::scoreboard::Snapshot;
    use crate::time::MILLISECOND;

    const TIMES: RoundTrips = RoundTrips { smoothed: 100 * MILLISECOND, least: 100 * MILLISECOND };

    struct Case {
        rack: Rack,
        board: Scoreboard,
    }

    impl Case {
        /// Ten packets, one a millisecond.
        fn new() -> Self {
            let mut board = Scoreboard::default();
            (0..10).for_each(|packet| {
                board.send(packet, packet * MILLISECOND, Snapshot::default());
            });
            Self { rack: Rack::default(), board }
        }

        /// Packets arrive; those then deemed lost, and when the next would be.
        fn sack(&mut self, now: Nanos, start: u64, end: u64) -> (Vec<u64>, Option<Nanos>) {
            let rack = &mut self.rack;
            self.board.sack(start, end, |packet, sent| rack.deliver(packet, sent, now, TIMES.least));
            self.detect(now)
        }

        fn detect(&mut self, now: Nanos) -> (Vec<u64>, Option<Nanos>) {
            let mut lost = Vec::new();
            let at = self.rack.detect(&mut self.board, now, false, TIMES, |packet, _| lost.push(packet));
            (lost, at)
        }
    }

    #[test]
    fn an_overtaken_packet_is_given_a_quarter_of_a_round_trip() {
        let mut case = Case::new();
        let now = 101 * MILLISECOND;
        assert_eq!(case.sack(now, 1, 2), (vec![], Some(125 * MILLISECOND)));
        assert!(case.detect(125 * MILLISECOND - 1).0.is_empty());
        assert_eq!(case.detect(125 * MILLISECOND), (vec![0], None));
    }

    #[test]
    fn three_above_make_a_loss_at_once_until_reordering_is_seen() {
        let mut case = Case::new();
        assert_eq!(case.sack(103 * MILLISECOND, 1, 4), (vec![0], None));
        let mut case = Case::new();
        case.sack(102 * MILLISECOND, 2, 3);
        case.sack(102 * MILLISECOND, 1, 2); // the network reorders
        assert_eq!(case.sack(104 * MILLISECOND, 3, 5), (vec![], Some((100 + 2 + 25) * MILLISECOND - 2 * MILLISECOND)));
    }

    #[test]
    fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
        let mut case = Case::new();
        case.sack(103 * MILLISECOND, 1, 4);
        case.board.send(0, 104 * MILLISECOND, Snapshot::default());
        case.board.send(10, 105 * MILLISECOND, Snapshot::default());
        assert!(case.sack(110 * MILLISECOND, 4, 10).0.is_empty());
        assert_eq!(case.sack(205 * MILLISECOND, 10, 11).0, [0]);
    }

    #[test]
    fn an_acknowledgment_faster_than_light_is_of_the_first_transmission() {
        let mut case = Case::new();
        case.sack(103 * MILLISECOND, 1, 4);
        case.board.send(0, 104 * MILLISECOND, Snapshot::default());
        assert!(case.sack(109 * MILLISECOND, 0, 1).0.is_empty()); // 5 ms after it was sent again
        assert_eq!(case.rack.rtt, 100 * MILLISECOND);
    }

    #[test]
    fn duplicates_widen_the_window_for_sixteen_recoveries() {
        let mut case = Case::new();
        case.rack.reordering_seen = true;
        assert_eq!(case.rack.window(&case.board, true, TIMES), 25 * MILLISECOND);
        case.rack.hear_duplicate(0, 10);
        case.rack.hear_duplicate(5, 10); // the same round
        assert_eq!(case.rack.window(&case.board, true, TIMES), 50 * MILLISECOND);
        (0..15).for_each(|_| case.rack.recovered());
        assert_eq!(case.rack.multiplier, 2);
        case.rack.recovered();
        assert_eq!(case.rack.multiplier, 1);
        for round in 1..9 {
            case.rack.hear_duplicate(round * 10, round * 10 + 10);
        }
        assert_eq!(case.rack.window(&case.board, true, TIMES), TIMES.smoothed);
    }

    #[test]
    fn a_timeout_loses_what_is_old_and_no_more() {
        let mut case = Case::new();
        case.sack(101 * MILLISECOND, 1, 2);
        case.board.send(10, 250 * MILLISECOND, Snapshot::default());
        let mut lost = Vec::new();
        case.rack.time_out(&mut case.board, 300 * MILLISECOND, TIMES, |packet, _| lost.push(packet));
        assert_eq!((lost, case.board.in_flight()), (vec![0, 2, 3, 4, 5, 6, 7, 8, 9], 1));
    }
}
