//! What each kind of sender does about lost packets, as exact traces.
//!
//! A packet takes a millisecond on the wire and the round trip another 100. The window has opened to 8 packets when
//! packet 14 is sent; by its loss, 8.84 packets are allowed and 14..=21 are out. Limited transmit adds 22 and 23.

use crate::pair::Pair;
use sim::tcp::{Kind, ReceiverConfig, SenderConfig, DELAYED_ACK};

fn config(kind: Kind) -> SenderConfig {
    SenderConfig {
        kind,
        mss: 100,
        transfer: Some(40 * 100),
        initial_window: 1.0,
        initial_ssthresh: 8.0,
        ..SenderConfig::default()
    }
}

fn pair(kind: Kind) -> Pair {
    Pair::new(config(kind), ReceiverConfig { delayed_ack: None, sack: kind == Kind::Sack })
}

/// Drops the first transmission of each packet named; returns the repairs, fast retransmits and time-outs.
fn losing(kind: Kind, packets: &[u64]) -> (Vec<(u64, u64)>, u64, u64) {
    let mut pair = packets.iter().fold(pair(kind), |pair, &packet| pair.drop(packet, &[1]));
    pair.finish();
    assert_eq!(pair.receiver.received(), 4000);
    assert!(pair.receiver.is_complete());
    let counters = pair.sender.counters();
    assert_eq!(counters.retransmissions, pair.repairs().len() as u64);
    assert_eq!(counters.packets_sent, 40 + counters.retransmissions);
    (pair.repairs(), counters.fast_retransmits, counters.timeouts)
}

#[test]
fn slow_start_and_avoidance_without_loss() {
    let mut pair = pair(Kind::Reno);
    pair.finish();
    let sent: Vec<(u64, u64)> = pair.sent.clone();
    // Windows of 1, 2, 4, 8 packets, each acknowledgment releasing two; then one more packet a round.
    assert_eq!(sent[..3], [(100, 0), (201, 1), (201, 2)]);
    assert_eq!(sent[3..7], [(302, 3), (302, 4), (303, 5), (303, 6)]);
    assert_eq!(sent[7..15].iter().map(|&(time, _)| time).collect::<Vec<_>>(), [403, 403, 404, 404, 405, 405, 406, 406]);
    assert_eq!(
        sent[15..23].iter().map(|&(time, _)| time).collect::<Vec<_>>(),
        [504, 505, 506, 507, 508, 509, 510, 511]
    );
    assert_eq!(pair.repairs(), []);
}

#[test]
fn one_loss_is_repaired_after_three_duplicates() {
    // 16, 17 and 18 have arrived by 607 ms; Vegas, which doubles in every other round, is two rounds behind.
    assert_eq!(losing(Kind::Reno, &[14]), (vec![(607, 14)], 1, 0));
    assert_eq!(losing(Kind::NewReno, &[14]), (vec![(607, 14)], 1, 0));
    assert_eq!(losing(Kind::Sack, &[14]), (vec![(607, 14)], 1, 0));
    assert_eq!(losing(Kind::Vegas, &[14]), (vec![(810, 14)], 1, 0));
}

#[test]
fn reno_halves_for_each_of_two_losses() {
    assert_eq!(losing(Kind::Reno, &[14, 16]), (vec![(608, 14), (908, 16)], 2, 0));
    let mut pair = pair(Kind::Reno).drop(14, &[1]).drop(16, &[1]);
    pair.start();
    while pair.sent.last() != Some(&(908, 16)) {
        assert!(pair.step());
    }
    assert_eq!(pair.sender.cwnd(), 2.0); // 8.84 to 4, and 4 to 2
}

#[test]
fn reno_waits_for_a_timeout_after_three_losses() {
    // The repair of 14 uncovers 15, but too few packets are out for three duplicates.
    let expected = vec![(609, 14), (910, 15), (1011, 16), (1011, 17)];
    assert_eq!(losing(Kind::Reno, &[14, 15, 16]), (expected, 1, 1));
}

#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    assert_eq!(losing(Kind::NewReno, &[14, 16]), (vec![(608, 14), (709, 16)], 1, 0));
    // "Impatient": the timer that the first partial acknowledgment started, at 709 + 201 ms, ends a long recovery.
    let (repairs, fast, timeouts) = losing(Kind::NewReno, &[14, 15, 16]);
    assert_eq!(repairs[..4], [(609, 14), (710, 15), (811, 16), (910, 16)]);
    assert_eq!((fast, timeouts), (1, 1));
}

#[test]
fn sack_repairs_as_its_pipe_allows() {
    assert_eq!(losing(Kind::Sack, &[14, 16]), (vec![(608, 14), (611, 16)], 1, 0));
    assert_eq!(losing(Kind::Sack, &[14, 15, 16]), (vec![(609, 14), (611, 15), (708, 16)], 1, 0));
    let expected = vec![(608, 14), (707, 17), (707, 19), (810, 21)];
    assert_eq!(losing(Kind::Sack, &[14, 17, 19, 21]), (expected, 1, 0));
}

#[test]
fn vegas_repairs_by_time_without_three_duplicates() {
    // After a repair, the next two acknowledgments look at how long the oldest packet has been out.
    assert_eq!(losing(Kind::Vegas, &[14, 15, 16]), (vec![(812, 14), (913, 15), (1014, 16)], 1, 0));
}

#[test]
fn the_last_packet_is_repaired_by_a_timeout() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack] {
        let (repairs, fast, timeouts) = losing(kind, &[39]);
        assert_eq!((repairs.len(), fast, timeouts), (1, 0, 1), "{kind:?}");
    }
}

#[test]
fn a_repair_lost_again_waits_for_ever_longer_timeouts() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack, Kind::Vegas] {
        let mut pair = pair(kind).drop(14, &[1, 2, 3, 4]);
        pair.finish();
        let times: Vec<u64> =
            pair.repairs().iter().filter(|&&(_, packet)| packet == 14).map(|&(time, _)| time).collect();
        assert_eq!(times.len(), 4, "{kind:?}");
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        // The timer restarts with each repair, and doubles.
        assert!(gaps[0] >= 200 && gaps[1].abs_diff(2 * gaps[0]) <= 1 && gaps[2].abs_diff(4 * gaps[0]) <= 1, "{gaps:?}");
        assert_eq!(pair.sender.counters().timeouts, 3);
        assert_eq!(pair.receiver.received(), 4000);
    }
}

#[test]
fn an_acknowledgment_of_what_was_sent_twice_leaves_the_timeout_doubled() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack] {
        let mut pair = pair(kind).drop(38, &[1, 2]).drop(39, &[1, 2]);
        pair.finish();
        let [(first, 38), (second, 38), (third, 39), (fourth, 39)] = pair.repairs()[..] else {
            panic!("{kind:?}: {:?}", pair.repairs())
        };
        // Two doublings before 38 arrives, and none of them undone by its acknowledgment.
        assert!((fourth - third).abs_diff(2 * (second - first)) <= 1, "{kind:?}: {:?}", pair.repairs());
    }
}

#[test]
fn newreno_recovers_again_only_beyond_the_last_recovery() {
    // 23 is the newest packet out when 14 is repaired. Duplicates that ask for 24 cover no more than that (RFC 6582,
    // section 3.2, step 2): a time-out repairs it.
    let (repairs, fast, timeouts) = losing(Kind::NewReno, &[14, 24]);
    assert_eq!((repairs[0], repairs[1].1, fast, timeouts), ((607, 14), 24, 1, 1));
    let (repairs, fast, timeouts) = losing(Kind::NewReno, &[14, 25]);
    assert_eq!((repairs[0], repairs[1].1, fast, timeouts), ((607, 14), 25, 2, 0));
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second() {
    let mut pair = pair(Kind::Sack);
    let mut out = Vec::new();
    pair.sender.start(0, &mut out); // which nobody hears
    pair.finish();
    assert_eq!(pair.sent[0], (1100, 0));
}

#[test]
fn delayed_acknowledgments_halve_the_acknowledgments_not_the_growth() {
    let sender = SenderConfig {
        mss: 100,
        transfer: Some(10_000),
        initial_window: 2.0,
        growth: sim::tcp::Growth::Packets,
        ..SenderConfig::default()
    };
    let mut pair = Pair::new(sender, ReceiverConfig { delayed_ack: Some(DELAYED_ACK), sack: true });
    pair.finish();
    let in_round = |from: u64| pair.sent.iter().filter(|&&(time, _)| (from..from + 90).contains(&time)).count();
    assert_eq!([100, 200, 300, 400].map(in_round), [2, 4, 8, 16]);
    assert_eq!(pair.repairs(), []);
}

#[test]
fn without_limited_transmit_nothing_is_sent_for_the_first_duplicates() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack] {
        let sender = SenderConfig { limited_transmit: false, ..config(kind) };
        let mut pair = Pair::new(sender, ReceiverConfig { delayed_ack: None, sack: kind == Kind::Sack }).drop(14, &[1]);
        pair.finish();
        let at = pair.sent.iter().position(|&sent| sent == (607, 14)).expect("the repair");
        assert_eq!(pair.sent[at - 1], (510, 21), "{kind:?}");
    }
}

#[test]
fn a_window_limit_holds() {
    let sender = SenderConfig { window_limit: Some(3), ..config(Kind::Sack) };
    let mut pair = Pair::new(sender, ReceiverConfig { delayed_ack: None, sack: true });
    pair.finish();
    let sent_within =
        (100..2000).map(|from| pair.sent.iter().filter(|&&(time, _)| (from..from + 100).contains(&time)).count());
    assert_eq!(sent_within.max(), Some(3));
}
