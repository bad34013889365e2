//! TCP as it is now over simulated links, against what theory and the RFCs expect.

use crate::dumbbell::{faster, goodputs, Dumbbell};
use link::{DualPi2Config, Limit, LossConfig, QueueConfig, Reason, RedConfig};
use sim::tcp::modern::{CongestionControlName as Name, Ecn, ReceiverConfig, SenderConfig};
use sim::time::{to_seconds, Nanos, MILLISECOND, SECOND};
use sim::Way;

/// Payload of a full frame, and its length.
const MSS: f64 = 1448.0;
const FRAME: f64 = 1514.0;
const ALL: [Name; 6] = [Name::Reno, Name::Cubic, Name::Bbr, Name::Bbr3, Name::Dctcp, Name::Prague];

fn flow(congestion_control: Name) -> (SenderConfig, ReceiverConfig) {
    (SenderConfig { congestion_control, ..SenderConfig::default() }, ReceiverConfig::default())
}

/// Full frames in a round trip.
fn product(rate_bps: u64, rtt: Nanos) -> f64 {
    rate_bps as f64 * to_seconds(rtt) / 8.0 / FRAME
}

/// What headers leave of a rate, in octets of payload a second.
fn room(rate_bps: u64) -> f64 {
    rate_bps as f64 / 8.0 * MSS / FRAME
}

/// A dumbbell with a queue of so many bandwidth-delay products.
fn dumbbell(rate_bps: u64, rtt: Nanos, products: f64) -> Dumbbell {
    let packets = (product(rate_bps, rtt) * products).max(16.0);
    let queue = QueueConfig::DropTail(Limit::Packets(packets.ceil() as u32));
    Dumbbell { rate_bps, rtt, queue, access: faster(), ..Dumbbell::default() }
}

#[test]
fn alone_they_fill_links_of_all_rates() {
    for (rate_bps, rtt, from, to) in [
        (1_000_000, 20 * MILLISECOND, 10, 40),
        (10_000_000, 10 * MILLISECOND, 10, 30),
        (10_000_000, 100 * MILLISECOND, 10, 40),
        (100_000_000, 40 * MILLISECOND, 5, 15),
        (1_000_000_000, 10 * MILLISECOND, 2, 4),
    ] {
        for name in ALL {
            let (mut network, flows, _) = dumbbell(rate_bps, rtt, 1.0).build(&[flow(name)]);
            let share = goodputs(&mut network, &flows, from * SECOND, to * SECOND)[0] / room(rate_bps);
            // After a loss Prague's pace is of the round trip time that the full queue had.
            let least = if name == Name::Prague { 0.93 } else { 0.95 };
            assert!((least..1.002).contains(&share), "{name:?} at {rate_bps}, {rtt}: {share}");
        }
    }
}

#[test]
fn a_window_of_sixteen_thousand_packets_is_filled() {
    let rtt = 200 * MILLISECOND;
    for (name, from) in [(Name::Bbr, 4), (Name::Bbr3, 4)] {
        let (mut network, flows, _) = dumbbell(1_000_000_000, rtt, 1.0).build(&[flow(name)]);
        let share = goodputs(&mut network, &flows, from * SECOND, (from + 2) * SECOND)[0] / room(1_000_000_000);
        assert!(share > 0.95, "{name:?}: {share}");
    }
}

#[test]
fn two_of_a_kind_share() {
    for (name, least) in [(Name::Reno, 0.8), (Name::Cubic, 0.8), (Name::Bbr, 0.7), (Name::Bbr3, 0.7)] {
        let dumbbell = Dumbbell { processing: 300_000, ..dumbbell(20_000_000, 40 * MILLISECOND, 1.0) };
        let (mut network, flows, _) = dumbbell.build(&[flow(name), flow(name)]);
        let shares = goodputs(&mut network, &flows, 20 * SECOND, 140 * SECOND);
        let ratio = shares[0].min(shares[1]) / shares[0].max(shares[1]);
        assert!(ratio > least, "{name:?}: {shares:?}");
    }
}

/// Mean window in packets at random loss, by what arrives; paths that are neither full nor queue.
fn window_at_loss(name: Name, rtt: Nanos, loss: f64, seconds: u64) -> f64 {
    let rate = |seed| {
        let dumbbell = Dumbbell {
            rate_bps: 1_000_000_000,
            rtt,
            loss: LossConfig::Bernoulli(loss),
            queue: QueueConfig::DropTail(Limit::Packets(100_000)),
            access: faster(),
            seed,
            ..Dumbbell::default()
        };
        // Each packet is acknowledged, as the equations assume.
        let (sender, _) = flow(name);
        let (mut network, flows, _) = dumbbell.build(&[(sender, ReceiverConfig { delayed_ack: None })]);
        goodputs(&mut network, &flows, 20 * SECOND, (20 + seconds) * SECOND)[0]
    };
    (1..=2).map(rate).sum::<f64>() / 2.0 / MSS * to_seconds(rtt)
}

#[test]
fn cubic_keeps_its_response_function() {
    // RFC 9438, section 5, equation 5: the mean window is (C (3 + beta) / (4 (1 - beta)))^(1/4) RTT^(3/4) / p^(3/4) with
    // losses at even distances. The same curve with fast convergence, integrated over exponential distances, has 1.15
    // times that.
    let expected = |rtt: f64, p: f64| 1.15 * libm::pow(0.4 * 3.7 / 1.2, 0.25) * libm::pow(rtt / p, 0.75);
    for (rtt, loss) in [(200 * MILLISECOND, 3e-4), (200 * MILLISECOND, 1e-3), (100 * MILLISECOND, 3e-4)] {
        let ratio = window_at_loss(Name::Cubic, rtt, loss, 200) / expected(to_seconds(rtt), loss);
        assert!((0.85..1.15).contains(&ratio), "{rtt} {loss}: {ratio}");
    }
}

#[test]
fn cubic_is_no_slower_than_reno_where_reno_is_faster() {
    // The Reno-friendly region (RFC 9438, section 4.3): short round trips and much loss.
    for loss in [0.002, 0.01] {
        let [cubic, reno] = [Name::Cubic, Name::Reno].map(|name| window_at_loss(name, 20 * MILLISECOND, loss, 60));
        assert!((0.85..1.35).contains(&(cubic / reno)), "{loss}: {cubic} {reno}");
    }
}

#[test]
fn reno_keeps_the_square_root_law() {
    // Mathis et al. 1997: sqrt(3 / 2p) packets when each is acknowledged; 0.1 % and less leaves time-outs out.
    for loss in [1e-4, 3e-4, 1e-3] {
        let ratio = window_at_loss(Name::Reno, 50 * MILLISECOND, loss, 200) / (1.5 / loss).sqrt();
        assert!((0.85..1.15).contains(&ratio), "{loss}: {ratio}");
    }
}

#[test]
fn reno_keeps_padhyes_equation_under_heavy_loss() {
    // Padhye et al. 1998, b = 1, with the least time-out of a round trip and 200 ms.
    let rtt = 0.05;
    for loss in [0.005, 0.01, 0.02] {
        let timeouts = 3.0 * (3.0 * loss / 8.0f64).sqrt() * loss * (1.0 + 32.0 * loss * loss);
        let expected = rtt / (rtt * (2.0 * loss / 3.0f64).sqrt() + (rtt + 0.2) * timeouts);
        let ratio = window_at_loss(Name::Reno, 50 * MILLISECOND, loss, 100) / expected;
        assert!((0.8..1.3).contains(&ratio), "{loss}: {ratio}");
    }
}

#[test]
fn bbr_holds_its_rate_at_one_percent_loss_where_cubic_does_not() {
    let share = |name| {
        let base = dumbbell(50_000_000, 50 * MILLISECOND, 1.0);
        let (mut network, flows, _) = Dumbbell { loss: LossConfig::Bernoulli(0.01), ..base }.build(&[flow(name)]);
        goodputs(&mut network, &flows, 10 * SECOND, 40 * SECOND)[0] / room(50_000_000)
    };
    let [bbr, bbr3, cubic] = [Name::Bbr, Name::Bbr3, Name::Cubic].map(share);
    assert!(bbr > 0.9 && bbr3 > 0.75 && cubic < 0.3, "{bbr} {bbr3} {cubic}");
}

/// Packets in the bottleneck's queue, in bandwidth-delay products, each 10 ms of the second half.
fn queues(name: Name, products: f64, seconds: u64) -> Vec<f64> {
    let (rate_bps, rtt) = (50_000_000, 40 * MILLISECOND);
    let (mut network, _, bottleneck) = dumbbell(rate_bps, rtt, products).build(&[flow(name)]);
    (seconds * 50..seconds * 100)
        .map(|step| {
            network.run(step * 10 * MILLISECOND).unwrap();
            network.link_report(bottleneck, Way::Forth).queue_packets as f64 / product(rate_bps, rtt)
        })
        .collect()
}

#[test]
fn bbr_keeps_its_queue_within_a_product_where_cubic_fills_the_buffer() {
    let mean = |queues: &[f64]| queues.iter().sum::<f64>() / queues.len() as f64;
    let most = |queues: &[f64]| queues.iter().copied().fold(0.0, f64::max);
    for name in [Name::Bbr, Name::Bbr3] {
        let queues = queues(name, 8.0, 30);
        assert!(mean(&queues) < 0.5 && most(&queues) < 1.3, "{name:?}: {} {}", mean(&queues), most(&queues));
    }
    assert!(mean(&queues(Name::Cubic, 8.0, 60)) > 3.0);
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    // The rise shows a round trip after the queue begins to grow, and five rounds of conservative slow start make the
    // window three times (1.25^5) what it was then: ten products hold that, but not Reno's doubling.
    let path = |products| dumbbell(100_000_000, 100 * MILLISECOND, products);
    let dropped = |network: &sim::Network, link| network.link_report(link, Way::Forth).stats.dropped_total();
    let (mut network, flows, bottleneck) = path(10.0).build(&[flow(Name::Cubic)]);
    let ssthresh = |network: &sim::Network| network.app_value(flows[0].source, "ssthresh_packets").unwrap();
    let mut now = 0;
    while ssthresh(&network).is_infinite() {
        now += 10 * MILLISECOND;
        network.run(now).unwrap();
        assert!(now < 10 * SECOND);
    }
    assert_eq!(dropped(&network, bottleneck), 0);
    let in_pipe = ssthresh(&network) / product(100_000_000, 100 * MILLISECOND);
    assert!((1.0..11.0).contains(&in_pipe), "{in_pipe}");
    // What overflows a shorter queue is a fraction of what doubling loses.
    let losses = |name, products| {
        let (mut network, _, bottleneck) = path(products).build(&[flow(name)]);
        network.run(now).unwrap();
        dropped(&network, bottleneck)
    };
    assert!(losses(Name::Reno, 10.0) > 0);
    let [cubic, reno] = [Name::Cubic, Name::Reno].map(|name| losses(name, 2.0));
    assert!(3 * cubic < reno, "{cubic} {reno}");
}

/// A queue that marks ever more of what comes between 5 and 150 packets, by its length now.
fn marking() -> QueueConfig {
    let ramp = RedConfig::new(Limit::Packets(1_000), 5.0, 150.0);
    QueueConfig::Red(RedConfig { weight: 1.0, max_p: 1.0, wait: false, ecn: true, ..ramp })
}

#[test]
fn marks_keep_the_queue_short_and_lose_nothing() {
    let (rate_bps, rtt) = (100_000_000, 10 * MILLISECOND);
    for (name, ecn) in
        [(Name::Dctcp, None), (Name::Prague, None), (Name::Cubic, Some(Ecn::Classic)), (Name::Reno, Some(Ecn::Classic))]
    {
        let base = dumbbell(rate_bps, rtt, 1.0);
        let (sender, receiver) = flow(name);
        let sender = SenderConfig { ecn, ..sender };
        let (mut network, flows, bottleneck) = Dumbbell { queue: marking(), ..base }.build(&[(sender, receiver)]);
        let share = goodputs(&mut network, &flows, 5 * SECOND, 15 * SECOND)[0] / room(rate_bps);
        let value = |key| network.app_value(flows[0].source, key).unwrap();
        let least = if ecn.is_none() { 0.95 } else { 0.7 }; // half a window is more than the queue holds
        assert!(share > least, "{name:?}: {share}");
        assert!(value("mark_responses") > 5.0, "{name:?}");
        assert_eq!(value("retransmissions"), 0.0, "{name:?}");
        assert!(network.link_report(bottleneck, Way::Forth).stats.marked_packets > 0, "{name:?}");
    }
}

#[test]
fn flows_of_dctcp_share_a_marking_queue() {
    let base = dumbbell(100_000_000, 10 * MILLISECOND, 1.0);
    let (mut network, flows, _) = Dumbbell { queue: marking(), ..base }.build(&vec![flow(Name::Dctcp); 4]);
    let shares = goodputs(&mut network, &flows, 10 * SECOND, 40 * SECOND);
    let (least, most) = shares.iter().fold((f64::INFINITY, 0.0f64), |(l, m), &s| (l.min(s), m.max(s)));
    assert!(least / most > 0.7, "{shares:?}");
}

/// An L4S queue (RFC 9332).
fn dual(rate_bps: u64, rtt: Nanos) -> Dumbbell {
    let queue = QueueConfig::DualPi2(DualPi2Config::new(Limit::Packets(1_000)));
    // A source's time for a packet is up to the bottleneck's.
    let processing = (FRAME * 8e9 / rate_bps as f64) as Nanos;
    Dumbbell { queue, processing, ..dumbbell(rate_bps, rtt, 1.0) }
}

#[test]
fn flows_of_prague_share_an_l4s_queue() {
    for (rate_bps, rtt) in [(6_000_000, 20), (20_000_000, 30), (20_000_000, 10), (100_000_000, 20)] {
        let (mut network, flows, bottleneck) = dual(rate_bps, rtt * MILLISECOND).build(&vec![flow(Name::Prague); 2]);
        let shares = goodputs(&mut network, &flows, 20 * SECOND, 80 * SECOND);
        let ratio = shares[0].min(shares[1]) / shares[0].max(shares[1]);
        assert!(ratio > 0.8, "{rate_bps} {rtt}: {shares:?}");
        let filled = (shares[0] + shares[1]) / room(rate_bps);
        assert!(filled > 0.9, "{rate_bps} {rtt}: {filled}");
        assert_eq!(network.link_report(bottleneck, Way::Forth).stats.dropped(Reason::Aqm), 0);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let base = dumbbell(20_000_000, 30 * MILLISECOND, 0.5);
        let dumbbell = Dumbbell { loss: LossConfig::Bernoulli(0.001), traced: true, seed, ..base };
        let (mut network, _, _) = dumbbell.build(&ALL.map(flow));
        network.run(10 * SECOND).unwrap();
        network.take_series()
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}
