//! The sender's packets between the oldest unacknowledged one and the newest sent: when each was sent, which have been
//! selectively acknowledged, which are deemed lost, and how many are still in the network (RFC 6675's pipe).
//!
//! Packets are numbered from 0. All operations but the walk over SACK blocks cost constant time, amortised.

use std::collections::VecDeque;

use super::DUP_THRESHOLD;
use crate::time::Nanos;

#[derive(Clone, Debug)]
struct Sent {
    at: Nanos,
    /// Times it was sent.
    times: u32,
    sacked: bool,
    /// Deemed lost: it has left the network without being received.
    lost: bool,
    /// Sent again since it was deemed lost; that copy is in the network.
    resent: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// Number of the first entry of `sent`: the oldest unacknowledged packet.
    first: u64,
    sent: VecDeque<Sent>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// One past the highest selectively acknowledged packet.
    sacked_end: u64,
    /// Below this, every packet is known to be selectively acknowledged, or lost.
    judged: u64,
    /// Below this, every lost packet has been sent again (RFC 6675's HighRxt + 1).
    repaired: u64,
}

impl Scoreboard {
    fn get(&self, packet: u64) -> Option<&Sent> {
        self.sent.get(usize::try_from(packet.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, packet: u64) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(packet.checked_sub(self.first)?).ok()?)
    }

    /// One past the newest packet sent.
    pub fn end(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Packets sent and not acknowledged cumulatively: RFC 5681's FlightSize.
    pub fn outstanding(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Packets that are in the network as far as the sender can know (RFC 6675's pipe).
    pub fn pipe(&self) -> u64 {
        self.outstanding() - self.sacked - self.lost + self.resent
    }

    /// A packet leaves: the next new one, or any that is outstanding. True when it had been sent before.
    pub fn send(&mut self, packet: u64, now: Nanos) -> bool {
        debug_assert!(packet <= self.end(), "packets are sent in order");
        match self.get_mut(packet) {
            None => {
                self.sent.push_back(Sent { at: now, times: 1, sacked: false, lost: false, resent: false });
                false
            }
            Some(sent) => {
                sent.at = now;
                sent.times += 1;
                if sent.lost && !sent.resent {
                    sent.resent = true;
                    self.resent += 1;
                }
                true
            }
        }
    }

    /// When the packet was last sent, and how often, while it is outstanding.
    pub fn last_sent(&self, packet: u64) -> Option<(Nanos, u32)> {
        self.get(packet).map(|sent| (sent.at, sent.times))
    }

    /// Everything below `end` has arrived. Returns the number of packets that this is news about, those that had been
    /// selectively acknowledged included.
    pub fn acknowledge(&mut self, end: u64) -> u64 {
        let end = end.clamp(self.first, self.end());
        let count = end - self.first;
        for sent in self.sent.drain(..count as usize) {
            self.sacked -= u64::from(sent.sacked);
            self.lost -= u64::from(sent.lost);
            self.resent -= u64::from(sent.resent);
        }
        self.first = end;
        self.judged = self.judged.max(end);
        self.repaired = self.repaired.max(end);
        self.sacked_end = self.sacked_end.max(end);
        count
    }

    /// The packets from `start` up to `end` have arrived. Returns how many of them this is news about.
    pub fn sack(&mut self, start: u64, end: u64) -> u64 {
        let (start, end) = (start.max(self.first), end.min(self.end()));
        let mut news = 0;
        for packet in start..end {
            let Some(sent) = self.get_mut(packet) else { break };
            if sent.sacked {
                continue;
            }
            let (was_lost, was_resent) = (sent.lost, sent.resent);
            *sent = Sent { sacked: true, lost: false, resent: false, ..*sent };
            self.sacked += 1;
            self.lost -= u64::from(was_lost);
            self.resent -= u64::from(was_resent);
            self.sacked_end = self.sacked_end.max(packet + 1);
            news += 1;
        }
        news
    }

    /// Deems lost what has `DUP_THRESHOLD` selectively acknowledged packets above it (RFC 6675's IsLost). Returns
    /// whether the oldest packet is among the lost.
    pub fn judge(&mut self) -> bool {
        // The packet that has exactly the threshold's number of acknowledged ones from itself up.
        let (mut packet, mut above) = (self.sacked_end, 0);
        while above < DUP_THRESHOLD && packet > self.judged {
            packet -= 1;
            above += u32::from(self.get(packet).is_some_and(|sent| sent.sacked));
        }
        if above == DUP_THRESHOLD {
            for number in self.judged..packet {
                self.lose(number);
            }
            self.judged = packet;
        }
        self.sent.front().is_some_and(|sent| sent.lost)
    }

    /// Deems one packet lost, unless it has been acknowledged selectively.
    pub fn lose(&mut self, packet: u64) {
        if let Some(sent) = self.get_mut(packet) {
            if !sent.sacked && !sent.lost {
                sent.lost = true;
                self.lost += 1;
            }
        }
    }

    /// After a time-out: all that was not acknowledged is lost and none of it has been sent again. What receivers have
    /// acknowledged selectively they keep (a simulated receiver never reneges, RFC 2018, section 8).
    pub fn lose_all(&mut self) {
        for sent in &mut self.sent {
            sent.lost = !sent.sacked;
            sent.resent = false;
        }
        self.lost = self.outstanding() - self.sacked;
        self.resent = 0;
        self.judged = self.end();
        self.repaired = self.first;
    }

    /// The oldest lost packet that has not been sent again.
    pub fn next_lost(&mut self) -> Option<u64> {
        let waits = |sent: &Sent| sent.lost && !sent.resent;
        // Duplicate acknowledgments without blocks condemn the oldest packet alone.
        if self.sent.front().is_some_and(waits) {
            return Some(self.first);
        }
        while self.repaired < self.judged {
            if self.get(self.repaired).is_some_and(waits) {
                return Some(self.repaired);
            }
            self.repaired += 1;
        }
        None
    }

    /// The oldest packet below the highest selectively acknowledged one that is neither acknowledged nor lost: a hole
    /// that may be filled when there is nothing else to send (RFC 6675, NextSeg, rule 3).
    pub fn next_hole(&self) -> Option<u64> {
        (self.repaired.max(self.judged)..self.sacked_end)
            .find(|&packet| self.get(packet).is_some_and(|sent| !sent.sacked && sent.times == 1))
    }

    /// The newest packet that is neither acknowledged nor known to be in the network twice (NextSeg, rule 4).
    pub fn last_hole(&self) -> Option<u64> {
        let from_end = self.sent.iter().rev().position(|sent| !sent.sacked)?;
        Some(self.end() - 1 - from_end as u64)
    }

    /// The oldest packet that is not acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(sent: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..sent).for_each(|packet| assert!(!board.send(packet, packet)));
        board
    }

    #[test]
    fn three_above_make_a_loss() {
        let mut board = board(10);
        assert_eq!(board.sack(2, 4), 2);
        assert!(!board.judge());
        assert_eq!((board.pipe(), board.next_lost()), (8, None));
        assert_eq!(board.sack(2, 5), 1);
        assert!(board.judge());
        // 0 and 1 are lost, 2..5 have arrived, 5..10 are under way.
        assert_eq!((board.pipe(), board.next_lost()), (5, Some(0)));
        assert!(board.send(0, 100));
        assert_eq!((board.pipe(), board.next_lost()), (6, Some(1)));
        assert!(board.send(1, 101));
        assert_eq!((board.pipe(), board.next_lost()), (7, None));
        assert_eq!(board.acknowledge(5), 5);
        assert_eq!((board.pipe(), board.outstanding(), board.first()), (5, 5, 5));
    }

    #[test]
    fn holes_between_islands_are_judged_one_by_one() {
        let mut board = board(12);
        board.sack(1, 2);
        board.sack(3, 4);
        board.sack(5, 6);
        assert!(board.judge());
        assert_eq!((board.next_lost(), board.next_hole()), (Some(0), Some(2)));
        board.send(0, 50);
        assert_eq!(board.next_lost(), None);
        board.sack(6, 7);
        board.judge();
        assert_eq!(board.next_lost(), Some(2));
        board.send(2, 51);
        assert_eq!((board.next_lost(), board.next_hole()), (None, Some(4)));
    }

    #[test]
    fn a_timeout_keeps_what_was_acknowledged() {
        let mut board = board(6);
        board.sack(2, 4);
        board.lose_all();
        assert_eq!(board.pipe(), 0);
        let mut resent = Vec::new();
        while let Some(packet) = board.next_lost() {
            board.send(packet, 200);
            resent.push(packet);
        }
        assert_eq!(resent, [0, 1, 4, 5]);
        assert_eq!(board.pipe(), 4);
        assert_eq!(board.acknowledge(6), 6);
        assert_eq!((board.pipe(), board.outstanding()), (0, 0));
    }

    #[test]
    fn counts_stay_right_under_any_order_of_blocks() {
        let mut board = board(200);
        for i in 0..199u64 {
            let packet = 1 + i * 70 % 199;
            assert_eq!(board.sack(packet, packet + 1), 1);
            board.judge();
            let lost = board.sent.iter().filter(|s| s.lost).count() as u64;
            let sacked = board.sent.iter().filter(|s| s.sacked).count() as u64;
            assert_eq!((board.lost, board.sacked), (lost, sacked));
        }
        assert_eq!(board.next_lost(), Some(0));
        assert_eq!(board.acknowledge(200), 200);
        assert_eq!(board.pipe(), 0);
    }
}
