//! What a modern sender does about losses, reordering and marks, packet by packet: the cases of RFC 8985 and RFC 6937.

use std::collections::{BTreeMap, BTreeSet};

use link::ecn::CONGESTION_EXPERIENCED;
use sim::tcp::modern::{CongestionControlName as Name, Ecn, Receiver, ReceiverConfig, Sender, SenderConfig};
use sim::tcp::Segment;
use sim::time::{Nanos, MILLISECOND};

const ONE_WAY: Nanos = 50 * MILLISECOND;
/// A packet's time on the wire.
const SERVICE: Nanos = MILLISECOND;

/// What happens to the transmissions of packets: (packet, which transmission) -> what.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Lost,
    Late(Nanos),
    Marked,
}

struct Course {
    sender: Sender,
    receiver: Option<Receiver>,
    fates: BTreeMap<(u64, u32), Fate>,
    /// Time in milliseconds, packet; of all transmissions of data.
    sent: Vec<(u64, u64)>,
    /// Segments of data with CWR, and acknowledgments with ECE, by time in milliseconds.
    reduced: Vec<(u64, u64)>,
    echoed: Vec<u64>,
    now: Nanos,
    wire_free_at: Nanos,
    flying: Vec<(Nanos, u64, bool, Segment, u8)>,
    number: u64,
}

impl Course {
    fn new(config: SenderConfig, fates: &[(u64, u32, Fate)]) -> Self {
        let fates = fates.iter().map(|&(packet, time, fate)| ((packet, time), fate)).collect();
        let mut course = Self {
            sender: Sender::new(config),
            receiver: None,
            fates,
            sent: Vec::new(),
            reduced: Vec::new(),
            echoed: Vec::new(),
            now: 0,
            wire_free_at: 0,
            flying: Vec::new(),
            number: 0,
        };
        let mut out = Vec::new();
        course.sender.start(0, &mut out);
        course.transmit(out);
        while course.sender.finished_at().is_none() {
            assert!(course.now < 600_000 * MILLISECOND, "stuck: {:?}", course.sender);
            course.step();
        }
        course
    }

    fn fly(&mut self, at: Nanos, to_receiver: bool, segment: Segment, codepoint: u8) {
        self.number += 1;
        self.flying.push((at, self.number, to_receiver, segment, codepoint));
    }

    fn transmit(&mut self, out: Vec<(Segment, u8)>) {
        for (segment, codepoint) in out {
            if segment.syn {
                self.fly(self.now + ONE_WAY, true, segment, codepoint);
                continue;
            }
            let packet = u64::from(segment.seq - 1) / 1000;
            self.sent.push((self.now / MILLISECOND, packet));
            if segment.ecn.cwr {
                self.reduced.push((self.now / MILLISECOND, packet));
            }
            let times = self.sent.iter().filter(|&&(_, other)| other == packet).count() as u32;
            self.wire_free_at = self.wire_free_at.max(self.now) + SERVICE;
            let at = self.wire_free_at + ONE_WAY;
            match self.fates.get(&(packet, times)) {
                Some(Fate::Lost) => {}
                Some(Fate::Late(delay)) => self.fly(at + delay, true, segment, codepoint),
                Some(Fate::Marked) if codepoint != 0 => self.fly(at, true, segment, CONGESTION_EXPERIENCED),
                _ => self.fly(at, true, segment, codepoint),
            }
        }
    }

    fn step(&mut self) {
        let arrivals = self.flying.iter().map(|&(at, ..)| at);
        let timers = self.sender.wake_at().into_iter().chain(self.receiver.as_ref().and_then(Receiver::wake_at));
        self.now = arrivals.chain(timers).min().expect("something to wait for");
        let mut out = Vec::new();
        let due = (0..self.flying.len()).filter(|&at| self.flying[at].0 == self.now);
        let mut ack = None;
        if let Some(at) = due.min_by_key(|&at| self.flying[at].1) {
            let (_, _, to_receiver, segment, codepoint) = self.flying.remove(at);
            if to_receiver {
                let receiver = self.receiver.get_or_insert_with(|| Receiver::new(ReceiverConfig::default(), &segment));
                ack = receiver.receive(&segment, codepoint, self.now);
            } else {
                self.sender.receive(&segment, self.now, &mut out);
            }
        } else {
            ack = self.receiver.as_mut().and_then(|receiver| receiver.handle_timer(self.now));
            self.sender.handle_timer(self.now, &mut out);
        }
        if let Some(ack) = ack {
            if ack.ecn.ece && !ack.syn {
                self.echoed.push(self.now / MILLISECOND);
            }
            self.fly(self.now + ONE_WAY, false, ack, 0);
        }
        self.transmit(out);
    }

    /// All transmissions but the first of each packet.
    fn repairs(&self) -> Vec<(u64, u64)> {
        let mut seen = BTreeSet::new();
        self.sent.iter().filter(|(_, packet)| !seen.insert(*packet)).copied().collect()
    }
}

fn config(packets: u64) -> SenderConfig {
    SenderConfig {
        congestion_control: Name::Reno,
        mss: 1000,
        transfer: Some(packets * 1000),
        pacing: false,
        ..SenderConfig::default()
    }
}

#[test]
fn a_loss_is_repaired_a_round_trip_later() {
    // Ten packets leave at 100 ms; the third acknowledgment above the hole comes with packet 7's, at 208 ms.
    let course = Course::new(config(40), &[(4, 1, Fate::Lost)]);
    assert_eq!(course.repairs(), [(208, 4)]);
    let counters = course.sender.counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts, counters.tail_probes), (1, 0, 0));
}

#[test]
fn reordering_within_a_quarter_of_a_round_trip_sends_nothing_twice() {
    // Once reordering was seen, packets overtaken by many are waited for (RFC 8985, section 6.2, step 4).
    let fates =
        [(3, 1, Fate::Late(1_500_000)), (20, 1, Fate::Late(20 * MILLISECOND)), (40, 1, Fate::Late(15 * MILLISECOND))];
    let course = Course::new(config(80), &fates);
    assert_eq!(course.repairs(), []);
    assert_eq!(course.sender.counters().fast_retransmits, 0);
}

#[test]
fn a_packet_later_than_that_is_sent_again() {
    let fates = [(3, 1, Fate::Late(1_500_000)), (20, 1, Fate::Late(60 * MILLISECOND))];
    let course = Course::new(config(80), &fates);
    assert_eq!(course.repairs().iter().map(|&(_, packet)| packet).collect::<Vec<_>>(), [20]);
}

#[test]
fn a_lost_tail_is_repaired_by_a_probe_and_no_timeout() {
    for lost in [&[39][..], &[38, 39], &[36, 37, 38, 39]] {
        let fates: Vec<_> = lost.iter().map(|&packet| (packet, 1, Fate::Lost)).collect();
        let course = Course::new(config(40), &fates);
        let counters = course.sender.counters();
        assert_eq!((counters.timeouts, counters.tail_probes), (0, 1), "{lost:?}");
        // The probe is the newest packet; its acknowledgment shows the others.
        assert_eq!(course.repairs()[0].1, 39, "{lost:?}");
        assert_eq!(course.repairs().len(), lost.len(), "{lost:?}");
    }
}

#[test]
fn a_lost_repair_is_found_without_a_timeout() {
    let course = Course::new(config(60), &[(12, 1, Fate::Lost), (12, 2, Fate::Lost)]);
    assert_eq!(course.repairs().iter().filter(|&&(_, packet)| packet == 12).count(), 2);
    assert_eq!(course.sender.counters().timeouts, 0);
}

#[test]
fn the_window_falls_in_proportion_to_what_arrives() {
    // RFC 6937: after one loss in a full window every other acknowledgment lets a packet go, instead of half a round
    // trip of silence and a burst.
    // By packet 230 the window is more than the path holds, so that packets arrive one after another.
    let course = Course::new(config(600), &[(230, 1, Fate::Lost)]);
    let (begin, threshold) = (course.repairs()[0].0, course.sender.ssthresh() as u64);
    // Twice the threshold was out, and is acknowledged one packet a millisecond.
    let times: Vec<u64> =
        course.sent.iter().map(|&(at, _)| at).filter(|at| (begin..begin + 2 * threshold).contains(at)).collect();
    assert!((60..130).contains(&threshold), "{threshold}");
    assert!(times.len().abs_diff(threshold as usize) <= 4, "{threshold}: {times:?}");
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(gap <= Some(3), "{times:?}");
}

#[test]
fn a_timeout_repairs_what_no_acknowledgment_tells_of() {
    let fates: Vec<_> = (10..40).flat_map(|packet| [(packet, 1, Fate::Lost), (packet, 2, Fate::Lost)]).collect();
    let course = Course::new(config(40), &fates);
    let counters = course.sender.counters();
    assert!(counters.timeouts >= 1 && counters.tail_probes >= 1, "{counters:?}");
}

#[test]
fn a_mark_is_echoed_until_the_window_was_reduced() {
    let config = SenderConfig { ecn: Some(Ecn::Classic), ..config(200) };
    let course = Course::new(config, &[(30, 1, Fate::Marked)]);
    let counters = course.sender.counters();
    assert_eq!((counters.mark_responses, counters.retransmissions), (1, 0));
    let (at, packet) = course.reduced[0];
    assert_eq!(course.reduced.len(), 1);
    // The sender answers with its next new packet, and the echo ends when that arrives, half a round trip later.
    assert!(at > course.echoed[0] && packet > 30, "{:?} {:?}", course.reduced, course.echoed);
    assert!(course.echoed.len() > 5 && course.echoed.iter().all(|&echoed| echoed < at + 52), "{:?}", course.echoed);
}

#[test]
fn counts_of_marks_reduce_the_window_by_their_share() {
    // DCTCP's alpha begins with 1 and falls to 15/16 in each round without marks: after three the window falls to 0.59,
    // after seventy not to be seen.
    let reduced = |marked: u64| {
        let config = SenderConfig { congestion_control: Name::Dctcp, window_limit: Some(32), ..config(3_000) };
        let course = Course::new(config, &[(marked, 1, Fate::Marked)]);
        assert_eq!(course.sender.counters().mark_responses, 1);
        course.sender.ssthresh()
    };
    let (early, late) = (reduced(100), reduced(2_500));
    assert!((17.0..23.0).contains(&early) && late > 30.0, "{early} {late}");
}

#[test]
fn a_timeout_within_a_recovery_reduces_no_second_time() {
    // In a full window packet 230 is lost, and twice again when it is sent again, the last time with all that follows it.
    let lost = |packets: std::ops::Range<u64>| packets.map(|packet| (packet, 1, Fate::Lost));
    let once = Course::new(config(400), &[(230, 1, Fate::Lost)]);
    let mut fates: Vec<_> = (1..=3).map(|time| (230, time, Fate::Lost)).collect();
    fates.extend(lost(300..400));
    let course = Course::new(config(400), &fates);
    let counters = course.sender.counters();
    assert!(counters.timeouts >= 1 && counters.fast_retransmits >= 1, "{counters:?}");
    assert_eq!(course.sender.ssthresh(), once.sender.ssthresh());
}
