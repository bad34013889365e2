//! TCP over simulated links: utilisation, fairness, and the response to random loss.

use crate::dumbbell::{goodputs, jain, Dumbbell, MSS, PACKET};
use link::LossConfig;
use sim::tcp::{Growth, Kind, ReceiverConfig, SenderConfig, DELAYED_ACK};
use sim::time::{to_seconds, MILLISECOND, SECOND};
use sim::Way;

const KINDS: [Kind; 4] = [Kind::Reno, Kind::NewReno, Kind::Sack, Kind::Vegas];

fn flow(kind: Kind) -> (SenderConfig, ReceiverConfig) {
    let receiver = ReceiverConfig { delayed_ack: None, sack: kind == Kind::Sack };
    (SenderConfig { kind, ..SenderConfig::default() }, receiver)
}

fn delayed(kind: Kind) -> (SenderConfig, ReceiverConfig) {
    let (sender, receiver) = flow(kind);
    let receiver = ReceiverConfig { delayed_ack: Some(DELAYED_ACK), ..receiver };
    (SenderConfig { growth: Growth::Packets, ..sender }, receiver)
}

/// The bottleneck's rate in octets of payload a second.
fn capacity(dumbbell: &Dumbbell) -> f64 {
    dumbbell.rate_bps as f64 / 8.0 * MSS / PACKET
}

#[test]
fn alone_it_fills_the_link() {
    for kind in KINDS {
        for flow in [flow(kind), delayed(kind)] {
            let dumbbell = Dumbbell::default();
            let (mut network, flows, _) = dumbbell.build(&[flow]);
            let share = goodputs(&mut network, &flows, 5 * SECOND, 65 * SECOND)[0] / capacity(&dumbbell);
            assert!((0.99..1.001).contains(&share), "{kind:?}: {share}");
        }
    }
}

#[test]
fn its_window_is_a_sawtooth_between_the_pipe_and_twice_the_pipe() {
    let dumbbell = Dumbbell::default(); // 50 packets in the pipe, 50 in the queue
    let (mut network, flows, _) = dumbbell.build(&[flow(Kind::NewReno)]);
    network.run(5 * SECOND).unwrap();
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for step in 0..4_000 {
        network.run(5 * SECOND + step * 10 * MILLISECOND).unwrap();
        let cwnd = network.app_value(flows[0].source, "cwnd_packets").unwrap();
        (least, most) = (least.min(cwnd), most.max(cwnd));
    }
    // It halves when 50 + 50 + the one in transmission are out, and the loss shows a round trip later.
    assert!((49.0..52.5).contains(&least) && (101.0..104.5).contains(&most), "{least} {most}");
}

#[test]
fn flows_share_fairly() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack] {
        for count in [2, 4, 8, 16] {
            let dumbbell = Dumbbell::default();
            let (mut network, flows, _) = dumbbell.build(&vec![flow(kind); count]);
            let shares = goodputs(&mut network, &flows, 20 * SECOND, 120 * SECOND);
            assert!(jain(&shares) > 0.95, "{kind:?}, {count} flows: {shares:?}");
            let used = shares.iter().sum::<f64>() / capacity(&dumbbell);
            assert!(used > 0.98, "{kind:?}, {count} flows: {used}");
        }
    }
}

#[test]
fn processing_time_leaves_fairness_and_use_as_they_are() {
    let service = 800_000; // 1,000 octets at 10 Mbit/s
    let dumbbell = Dumbbell { processing: service, ..Dumbbell::default() };
    let (mut network, flows, _) = dumbbell.build(&[Kind::Sack; 8].map(flow));
    let shares = goodputs(&mut network, &flows, 20 * SECOND, 120 * SECOND);
    assert!(jain(&shares) > 0.99, "{shares:?}");
    assert!(shares.iter().sum::<f64>() / capacity(&dumbbell) > 0.98);
}

#[test]
fn vegas_keeps_its_few_packets_in_the_queue_and_loses_none() {
    let dumbbell = Dumbbell::default();
    let (mut network, flows, bottleneck) = dumbbell.build(&[flow(Kind::Vegas)]);
    network.run(20 * SECOND).unwrap();
    let mut queued = Vec::new();
    for step in 0..1_000 {
        network.run(20 * SECOND + step * 10 * MILLISECOND).unwrap();
        queued.push(network.link_report(bottleneck, Way::Forth).queue_packets as f64);
    }
    let mean = queued.iter().sum::<f64>() / queued.len() as f64;
    assert!((1.0..=4.0).contains(&mean), "{mean}"); // alpha 1, beta 3, and the rounding of a window
    assert_eq!(network.app_value(flows[0].source, "retransmissions"), Some(0.0));
    assert_eq!(network.link_report(bottleneck, Way::Forth).stats.dropped_total(), 0);
}

/// Padhye et al. as the TFMCC paper's Eq. (1) has it: octets a second at loss rate `p`, with b = 1 and RTO = 4 RTT.
fn padhye(packet: f64, rtt: f64, p: f64) -> f64 {
    packet / (rtt * ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)))
}

fn assert_random_loss_sets_the_rate_of(kind: Kind) {
    let rtt = 50 * MILLISECOND; // the least time-out of 0.2 s is four of these
    for p in [0.001, 0.003, 0.01, 0.03, 0.05] {
        let goodput = |seed| {
            let loss = LossConfig::Bernoulli(p);
            let dumbbell = Dumbbell { rate_bps: 1_000_000_000, rtt, loss, seed, ..Dumbbell::default() };
            let (mut network, flows, _) = dumbbell.build(&[flow(kind)]);
            goodputs(&mut network, &flows, 10 * SECOND, 210 * SECOND)[0]
        };
        let ratio = (1..=3).map(goodput).sum::<f64>() / 3.0 / padhye(MSS, to_seconds(rtt), p);
        assert!((0.8..1.2).contains(&ratio), "{kind:?} at {p}: {ratio}");
    }
}

#[test]
fn random_loss_sets_the_rate_of_reno() {
    assert_random_loss_sets_the_rate_of(Kind::Reno);
}

#[test]
fn random_loss_sets_the_rate_of_newreno() {
    assert_random_loss_sets_the_rate_of(Kind::NewReno);
}

#[test]
fn random_loss_sets_the_rate_of_sack() {
    assert_random_loss_sets_the_rate_of(Kind::Sack);
}

#[test]
fn the_trace_shows_each_change_of_the_window() {
    let dumbbell = Dumbbell { loss: LossConfig::Bernoulli(0.01), traced: true, ..Dumbbell::default() };
    let (mut network, flows, _) = dumbbell.build(&[flow(Kind::Reno)]);
    network.run(3 * SECOND).unwrap();
    let text = String::from_utf8(network.take_series()).unwrap();
    let first: Vec<&str> = text.lines().take(3).collect();
    let windows = ["\"cwnd_packets\":2,", "\"cwnd_packets\":3,", "\"cwnd_packets\":4,"];
    for (line, window) in first.iter().zip(windows) {
        assert!(line.starts_with("{\"time_s\":0.") && line.contains(window), "{line}");
    }
    let retransmissions = network.app_value(flows[0].source, "retransmissions").unwrap();
    assert!(retransmissions > 0.0 && text.contains(&format!("\"retransmissions\":{retransmissions},")));
}
