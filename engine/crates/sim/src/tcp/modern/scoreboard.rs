//! The sender's packets between the oldest unacknowledged one and the newest sent: where each is, when it was last sent,
//! and in which order they were.
//!
//! Packets are numbered from 0. An acknowledgment costs what it brings news of, whatever the window: blocks are compared
//! with the ranges known already, and what is overdue stands at the head of the order of transmissions.

use std::collections::{BTreeSet, VecDeque};

use super::ranges::Ranges;
use crate::time::Nanos;

/// Where a packet is, as far as its sender knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the network.
    Flying,
    /// With the receiver, above a hole.
    Sacked,
    /// Deemed lost, and not sent again yet.
    Lost,
}

/// A packet as it was last sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Nanos,
    /// Number of the transmission: a total order, also of packets that were sent at one instant.
    pub transmission: u64,
    /// Times it was sent.
    pub times: u32,
    pub place: Place,
    /// What delivery rates are computed from.
    pub snapshot: Snapshot,
}

/// A connection's delivery when a packet was sent (draft-ietf-ccwg-bbr, section 4.1.2.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// Packets delivered until then, and when the last of them was.
    pub delivered: u64,
    pub delivered_at: Nanos,
    /// When the packet was sent that the last delivery acknowledged.
    pub first_sent_at: Nanos,
    /// Packets in flight, this one included, and deemed lost until then.
    pub in_flight: u64,
    pub lost: u64,
    /// There was not enough to send.
    pub is_app_limited: bool,
}

#[derive(Debug, Default)]
pub struct Scoreboard {
    first: u64,
    sent: VecDeque<Sent>,
    /// (Packet, transmission) in the order of transmissions; those that something has overtaken are skipped.
    order: VecDeque<(u64, u64)>,
    sacked: Ranges,
    lost: BTreeSet<u64>,
    flying: u64,
    sacked_count: u64,
    next_transmission: u64,
}

impl Scoreboard {
    pub fn get(&self, packet: u64) -> Option<&Sent> {
        self.sent.get(usize::try_from(packet.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, packet: u64) -> Option<&mut Sent> {
        self.sent.get_mut(usize::try_from(packet.checked_sub(self.first)?).ok()?)
    }

    /// The oldest packet that is not acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// One past the newest packet sent.
    pub fn end(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Packets sent and not acknowledged cumulatively (RFC 5681's FlightSize).
    pub fn outstanding(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Packets in the network, as far as the sender can know (RFC 6675's pipe).
    pub fn in_flight(&self) -> u64 {
        self.flying
    }

    /// Packets that were acknowledged selectively.
    pub fn sacked(&self) -> u64 {
        self.sacked_count
    }

    /// The oldest packet that waits to be sent again.
    pub fn next_lost(&self) -> Option<u64> {
        self.lost.first().copied()
    }

    /// A packet leaves: the next new one, or any that is outstanding. True when it had been sent before.
    pub fn send(&mut self, packet: u64, now: Nanos, snapshot: Snapshot) -> bool {
        debug_assert!(packet <= self.end(), "packets are sent in order");
        let transmission = self.next_transmission;
        self.next_transmission += 1;
        self.order.push_back((packet, transmission));
        let was = self.get(packet).map(|sent| (sent.place, sent.times));
        let sent = Sent { at: now, transmission, times: was.map_or(1, |(_, n)| n + 1), place: Place::Flying, snapshot };
        match self.get_mut(packet) {
            Some(old) => *old = sent,
            None => self.sent.push_back(sent),
        }
        self.lost.remove(&packet);
        self.flying += u64::from(was.is_none_or(|(place, _)| place != Place::Flying));
        was.is_some()
    }

    /// Everything below `end` has arrived; `news` is told of each packet that was not known to have.
    pub fn acknowledge(&mut self, end: u64, mut news: impl FnMut(u64, &Sent)) {
        for packet in self.first..end.min(self.end()) {
            let Some(sent) = self.sent.pop_front() else { break };
            self.first += 1;
            self.leave(packet, sent.place);
            if sent.place != Place::Sacked {
                news(packet, &sent);
            }
        }
        self.sacked.remove_below(self.first);
    }

    /// The packets from `start` up to `end` have arrived; `news` is told of each that was not known to have.
    pub fn sack(&mut self, start: u64, end: u64, mut news: impl FnMut(u64, &Sent)) {
        let (start, end) = (start.max(self.first), end.min(self.end()));
        let mut gaps = Vec::new();
        self.sacked.insert(start, end, |low, high| gaps.push((low, high)));
        for packet in gaps.into_iter().flat_map(|(low, high)| low..high) {
            let Some(sent) = self.get_mut(packet) else { break };
            let was = *sent;
            sent.place = Place::Sacked;
            self.leave(packet, was.place);
            self.sacked_count += 1;
            news(packet, &was);
        }
    }

    fn leave(&mut self, packet: u64, place: Place) {
        match place {
            Place::Flying => self.flying -= 1,
            Place::Sacked => self.sacked_count -= 1,
            Place::Lost => {
                self.lost.remove(&packet);
            }
        }
    }

    /// Deems lost a packet that is in the network.
    pub fn lose(&mut self, packet: u64) -> bool {
        let Some(sent) = self.get_mut(packet).filter(|sent| sent.place == Place::Flying) else { return false };
        sent.place = Place::Lost;
        self.flying -= 1;
        self.lost.insert(packet);
        true
    }

    /// The packet in the network whose last transmission is the oldest.
    pub fn oldest_flying(&mut self) -> Option<(u64, Sent)> {
        while let Some(&(packet, transmission)) = self.order.front() {
            let holds = |sent: &&Sent| sent.place == Place::Flying && sent.transmission == transmission;
            if let Some(sent) = self.get(packet).filter(holds) {
                return Some((packet, *sent));
            }
            self.order.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(count: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..count).for_each(|packet| assert!(!board.send(packet, packet, Snapshot::default())));
        board
    }

    fn news(of: impl FnOnce(&mut dyn FnMut(u64, &Sent))) -> Vec<u64> {
        let mut seen = Vec::new();
        of(&mut |packet, _| seen.push(packet));
        seen
    }

    #[test]
    fn each_packet_is_news_once() {
        let mut board = board(10);
        assert_eq!(news(|told| board.sack(3, 5, told)), [3, 4]);
        assert_eq!(news(|told| board.sack(2, 7, told)), [2, 5, 6]);
        assert_eq!((board.in_flight(), board.sacked(), board.outstanding()), (5, 5, 10));
        assert_eq!(news(|told| board.acknowledge(4, told)), [0, 1]);
        assert_eq!((board.first(), board.in_flight(), board.sacked()), (4, 3, 3));
        assert_eq!(news(|told| board.acknowledge(99, told)), [7, 8, 9]);
        assert_eq!((board.first(), board.in_flight(), board.sacked(), board.outstanding()), (10, 0, 0, 0));
    }

    #[test]
    fn what_is_lost_is_sent_again_in_order() {
        let mut board = board(6);
        assert!(board.lose(4) && board.lose(1) && !board.lose(1));
        assert_eq!((board.in_flight(), board.next_lost()), (4, Some(1)));
        assert!(board.send(1, 50, Snapshot::default()));
        assert_eq!((board.in_flight(), board.next_lost()), (5, Some(4)));
        board.sack(4, 5, |_, _| {});
        assert_eq!((board.in_flight(), board.next_lost()), (5, None));
    }

    #[test]
    fn the_oldest_transmission_comes_first() {
        let mut board = board(3);
        assert_eq!(board.oldest_flying().map(|(packet, _)| packet), Some(0));
        board.lose(0);
        assert_eq!(board.oldest_flying().map(|(packet, _)| packet), Some(1));
        board.send(0, 9, Snapshot::default());
        board.sack(1, 3, |_, _| {});
        assert_eq!(board.oldest_flying().map(|(packet, sent)| (packet, sent.at)), Some((0, 9)));
        board.acknowledge(3, |_, _| {});
        assert!(board.oldest_flying().is_none());
    }

    #[test]
    fn a_window_of_twenty_thousand_is_no_burden() {
        // Every other packet is lost, and each acknowledgment repeats its three newest blocks.
        let mut board = board(20_000);
        let mut told = 0;
        for packet in (1..20_000u64).step_by(2) {
            for block in [packet, packet.saturating_sub(2), packet.saturating_sub(4)] {
                board.sack(block, block + 1, |_, _| told += 1);
            }
        }
        assert_eq!((told, board.sacked(), board.in_flight()), (10_001, 10_001, 9_999));
        // the first ones name 0
    }
}
