//! CoDel, FQ-CoDel, PIE and DualPI2 behind a link, at loads that are known.

use link::random::Stream;
use link::{
    Arrival, CodelConfig, DualPi2Config, Ecn, FqCodelConfig, Limit, Link, LinkConfig, PieConfig, QueueConfig, Reason,
};

const RATE_BPS: u64 = 10_000_000;
const BYTES: u32 = 1250; // 1 ms at this rate
const MS: u64 = 1_000_000;
const LIMIT: Limit = Limit::Packets(10_240);

fn codel() -> QueueConfig {
    QueueConfig::Codel(CodelConfig::new(LIMIT))
}

fn fq_codel() -> QueueConfig {
    QueueConfig::FqCodel(FqCodelConfig::new(LIMIT))
}

fn pie() -> QueueConfig {
    QueueConfig::Pie(PieConfig::new(LIMIT))
}

fn dualpi2() -> QueueConfig {
    QueueConfig::DualPi2(DualPi2Config::new(LIMIT))
}

/// What a packet was told on its way: its flow, its time in the queue and whether it was marked.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    flow: u32,
    time_ns: u64,
    wait_ns: u64,
    marked: bool,
}

struct Run {
    link: Link<u32>,
    seen: Vec<Seen>,
}

impl Run {
    fn new(queue: QueueConfig, seed: u64) -> Self {
        let config = LinkConfig { rate_bps: Some(RATE_BPS), queue, ..LinkConfig::default() };
        Self { link: Link::new(config, seed).unwrap(), seen: Vec::new() }
    }

    fn advance(&mut self, now: u64) {
        while let Some(time) = self.link.next_event_time().filter(|&time| time <= now) {
            while let Some(packet) = self.link.dequeue(time) {
                let (flow, marked, wait_ns) = (packet.item, packet.marked, packet.deq_timedelta_ns);
                assert_eq!(wait_ns, time - packet.enq_time_ns);
                self.seen.push(Seen { flow, time_ns: time, wait_ns, marked });
                self.link.transmit(time, packet.len, packet.item).unwrap();
            }
            while self.link.deliver(time).is_some() {}
        }
    }

    fn offer(&mut self, now: u64, flow: u32, len: u32, ecn: Ecn) -> bool {
        self.advance(now);
        self.link.offer(now, Arrival { len, ecn, flow }, flow).is_ok()
    }

    /// Waits of a flow's packets that left from `from_ns` on, in their order.
    fn waits(&self, flow: u32, from_ns: u64) -> Vec<u64> {
        self.seen.iter().filter(|seen| seen.flow == flow && seen.time_ns >= from_ns).map(|seen| seen.wait_ns).collect()
    }
}

fn mean_ms(waits: &[u64]) -> f64 {
    waits.iter().map(|&wait| wait as f64).sum::<f64>() / waits.len().max(1) as f64 / MS as f64
}

/// Poisson arrivals at `load` of the rate for `seconds`.
fn poisson(run: &mut Run, load: f64, seconds: u64, ecn: Ecn) {
    let (mut stream, mut now) = (Stream::new(9, "arrivals"), 0);
    while now < seconds * 1000 * MS {
        now += (-(1.0 - stream.uniform()).ln() / load * MS as f64) as u64;
        run.offer(now, 1, BYTES, ecn);
    }
    run.advance(now);
}

/// A sender that reacts as Reno does: packets a round trip of 40 ms, one more each round without congestion, half after
/// one with it. The congestion signal comes back a round later.
fn reno(run: &mut Run, seconds: u64, ecn: Ecn) {
    const ROUND: u64 = 40 * MS;
    let (mut window, mut start) = (10u64, 0);
    while start < seconds * 1000 * MS {
        let before = congestion(&run.link);
        for n in 0..window {
            run.offer(start + n * ROUND / window, 1, BYTES, ecn);
        }
        start += ROUND;
        run.advance(start);
        window = if congestion(&run.link) > before { (window / 2).max(2) } else { window + 1 };
    }
}

fn congestion(link: &Link<u32>) -> u64 {
    link.stats().dropped_total() + link.stats().marked_packets
}

#[test]
fn below_the_rate_nothing_is_dropped_or_marked() {
    for queue in [codel(), fq_codel(), pie(), dualpi2()] {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut run = Run::new(queue.clone(), 1);
            for n in 0..20_000 {
                assert!(run.offer(n * MS * 10 / 9, 1, BYTES, ecn)); // a load of 0.9, evenly
            }
            assert_eq!(congestion(&run.link), 0);
        }
    }
}

#[test]
fn what_reacts_finds_a_standing_delay_about_the_target() {
    // DropTail's would be what its limit allows: seconds.
    for (queue, bound_ms) in [(codel(), 10.0), (fq_codel(), 10.0), (pie(), 20.0), (dualpi2(), 20.0)] {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut run = Run::new(queue.clone(), 1);
            reno(&mut run, 60, ecn);
            let waits = run.waits(1, 10_000 * MS);
            let mean = mean_ms(&waits);
            assert!(mean < bound_ms, "{queue:?}, {ecn:?}: {mean} ms");
            // Three quarters of the rate are what Reno's sawtooth uses without any queue.
            assert!(waits.len() > 35_000, "{queue:?}, {ecn:?}: {} of 50,000", waits.len());
            let stats = run.link.stats();
            let (dropped, marked) = (stats.dropped(Reason::Aqm), stats.marked_packets);
            assert!(
                if ecn == Ecn::NotEct { marked == 0 && dropped > 10 } else { marked > 10 },
                "{queue:?}: {dropped} {marked}"
            );
            assert_eq!(stats.dropped(Reason::QueueFull), 0);
        }
    }
}

#[test]
fn pie_and_dualpi2_hold_their_target_against_what_does_not_react() {
    // A load of 1.2 needs a drop rate of a sixth.
    for queue in [pie(), dualpi2()] {
        let mut run = Run::new(queue.clone(), 1);
        poisson(&mut run, 1.2, 120, Ecn::NotEct);
        let waits = run.waits(1, 60_000 * MS);
        assert!((12.0..18.0).contains(&mean_ms(&waits)), "{queue:?}: {} ms", mean_ms(&waits));
        let stats = run.link.stats();
        let rate = stats.dropped(Reason::Aqm) as f64 / stats.offered_packets as f64;
        assert!((rate - 1.0 / 6.0).abs() < 0.015, "{queue:?}: {rate}");
        let p = run.link.probability().unwrap();
        let p = if matches!(queue, QueueConfig::DualPi2(_)) { p * p } else { p };
        assert!((p - 1.0 / 6.0).abs() < 0.1, "{queue:?}: {p}");
    }
}

#[test]
fn codel_drops_ever_faster_until_the_delay_is_gone() {
    let mut run = Run::new(codel(), 1);
    poisson(&mut run, 1.2, 120, Ecn::NotEct);
    let stats = run.link.stats();
    // The n-th drop comes 0.1 s / sqrt(n) after the one before: what 200 drops a second need is there after 4 s, when
    // some 400 packets wait. Over and over, for this source knows no congestion.
    let rate = stats.dropped(Reason::Aqm) as f64 / stats.offered_packets as f64;
    assert!((0.12..0.18).contains(&rate), "{rate}");
    assert!(mean_ms(&run.waits(1, 60_000 * MS)) < 250.0, "{} ms", mean_ms(&run.waits(1, 60_000 * MS)));
}

#[test]
fn a_flood_leaves_a_sparse_flow_of_fq_codel_alone() {
    let mixed = |queue: QueueConfig| {
        let mut run = Run::new(queue, 1);
        let mut refused = 0;
        for n in 0..50_000u64 {
            run.offer(n * MS / 5, 1, BYTES, Ecn::NotEct); // five times the rate
            if n % 100 == 0 {
                refused += u64::from(!run.offer(n * MS / 5, 2, 200, Ecn::NotEct));
                // 80 kbit/s
            }
        }
        (run, refused)
    };
    let (fair, refused) = mixed(fq_codel());
    let waits = fair.waits(2, 0);
    assert_eq!((waits.len() as u64 + refused, refused), (500, 0));
    // Behind the packet that is being sent, and one that is a new flow's.
    assert!(waits.iter().all(|&wait| wait <= 2 * MS), "{:?}", waits.iter().max());
    assert!(mean_ms(&fair.waits(1, 5_000 * MS)) > 100.0);
    let (alike, _) = mixed(codel());
    assert!(mean_ms(&alike.waits(2, 0)) > 100.0);
}

#[test]
fn backlogged_flows_of_fq_codel_share_by_bytes() {
    let mut run = Run::new(fq_codel(), 1);
    for n in 0..20_000u64 {
        for (flow, len) in [(1, 1500), (2, 500), (3, 1000)] {
            run.offer(n * MS / 2, flow, len, Ecn::NotEct);
        }
    }
    let bytes = |flow, len: usize| (run.waits(flow, 1000 * MS).len() * len) as f64;
    let shares = [bytes(1, 1500), bytes(2, 500), bytes(3, 1000)];
    let mean = shares.iter().sum::<f64>() / 3.0;
    assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.02), "{shares:?}");
}

#[test]
fn dualpi2_couples_its_queues_and_keeps_l4s_short() {
    // Classic packets at 1.1 times the rate beside L4S ones at a tenth of it, which are too sparse for the ramp.
    let mut run = Run::new(dualpi2(), 1);
    let (mut squares, mut coupled, mut classic, mut l4s) = (0.0, 0.0, 0.0, 0.0);
    let mut stream = Stream::new(4, "arrivals");
    let mut now = 0;
    for n in 0..400_000u64 {
        now += (-(1.0 - stream.uniform()).ln() / 1.2 * MS as f64) as u64;
        let is_l4s = stream.chance(1.0 / 12.0);
        run.offer(now, u32::from(is_l4s), BYTES, if is_l4s { Ecn::Ect1 } else { Ecn::Ect0 });
        if n > 50_000 {
            let p = run.link.probability().unwrap();
            squares += p * p * f64::from(u8::from(!is_l4s));
            coupled += 2.0 * p * f64::from(u8::from(is_l4s));
            classic += f64::from(u8::from(!is_l4s));
            l4s += f64::from(u8::from(is_l4s));
        }
    }
    let from = 50_000 * MS;
    let share = |flow| {
        let of: Vec<bool> = run.seen.iter().filter(|s| s.flow == flow && s.time_ns >= from).map(|s| s.marked).collect();
        of.iter().filter(|&&marked| marked).count() as f64 / of.len() as f64
    };
    // Marks do not slow this source down: only where p_C reaches 1/4 do drops hold the queue.
    let (p_classic, p_coupled) = (squares / classic, coupled / l4s);
    assert!(p_coupled > 0.5, "{p_coupled}");
    assert!((share(1) / p_coupled - 1.0).abs() < 0.05, "{} of L4S, not {p_coupled}", share(1));
    let dropped = run.link.stats().dropped(Reason::Aqm) as f64 / run.link.stats().offered_packets as f64;
    assert!(share(0) + dropped > 0.9 * p_classic, "{} of classic, not {p_classic}", share(0));
    assert!(mean_ms(&run.waits(1, from)) < 2.0, "{} ms", mean_ms(&run.waits(1, from)));
    assert!(mean_ms(&run.waits(0, from)) > 5.0);
}

#[test]
fn a_step_marks_l4s_that_fill_the_link_alone() {
    let mut run = Run::new(dualpi2(), 1);
    reno(&mut run, 30, Ecn::Ect1);
    let waits = run.waits(1, 5_000 * MS);
    assert!(run.link.stats().marked_packets > 100);
    assert_eq!(run.link.stats().dropped_total(), 0);
    assert!(mean_ms(&waits) < 2.0, "{} ms", mean_ms(&waits));
}

#[test]
fn limits_bound_every_kind_in_packets_and_bytes() {
    let bounded = |limit| {
        [
            QueueConfig::Codel(CodelConfig::new(limit)),
            QueueConfig::FqCodel(FqCodelConfig::new(limit)),
            QueueConfig::Pie(PieConfig::new(limit)),
            QueueConfig::DualPi2(DualPi2Config::new(limit)),
        ]
    };
    for limit in [Limit::Packets(20), Limit::Bytes(20_000)] {
        for queue in bounded(limit) {
            let mut run = Run::new(queue, 1);
            for n in 0..5_000u64 {
                let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][(n % 4) as usize];
                run.offer(n * MS / 8, (n % 7) as u32, 1000, ecn);
                assert!(run.link.queue_packets() <= 21 && run.link.queue_bytes() <= 21_000);
            }
            let stats = run.link.stats();
            assert!(stats.max_queue_packets <= 20 && stats.dropped(Reason::QueueFull) > 0);
            // Every packet is somewhere: sent, dropped, or waiting.
            let sent = run.link.stats().sent_packets;
            assert_eq!(sent + stats.dropped_total() + run.link.queue_packets(), stats.offered_packets);
        }
    }
}

#[test]
fn a_seed_fixes_every_choice() {
    for queue in [codel(), fq_codel(), pie(), dualpi2()] {
        let run = |seed| {
            let mut run = Run::new(queue.clone(), seed);
            poisson(&mut run, 1.3, 20, Ecn::Ect0);
            (run.seen, run.link.stats().clone())
        };
        assert_eq!(run(1), run(1));
    }
    let pie = |seed| {
        let mut run = Run::new(pie(), seed);
        poisson(&mut run, 1.3, 20, Ecn::NotEct);
        run.seen
    };
    assert_ne!(pie(1), pie(2));
}

#[test]
fn another_kind_takes_over_what_waits() {
    let kinds = [QueueConfig::DropTail(LIMIT), codel(), fq_codel(), pie(), dualpi2()];
    for from in &kinds {
        for to in &kinds {
            let mut run = Run::new(from.clone(), 1);
            for n in 0..100 {
                run.offer(0, n % 3, BYTES, Ecn::NotEct);
            }
            let config = LinkConfig { queue: to.clone(), ..run.link.config().clone() };
            run.link.set_config(config).unwrap();
            run.advance(1000 * MS);
            assert_eq!(run.seen.len() as u64 + run.link.stats().dropped_total(), 100);
            assert!(run.seen.len() > 80, "{from:?} to {to:?}: {}", run.seen.len());
            run.offer(1000 * MS, 0, BYTES, Ecn::NotEct);
            run.link.set_up(1001 * MS, false);
            assert_eq!((run.link.queue_packets(), run.link.queue_bytes()), (0, 0));
        }
    }
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |queue| {
        let config = LinkConfig { queue, ..LinkConfig::default() };
        Link::<()>::new(config, 0).unwrap_err().parameter
    };
    let codel = CodelConfig::new(LIMIT);
    assert_eq!(error(QueueConfig::Codel(CodelConfig { target_ns: 0, ..codel.clone() })), "target");
    assert_eq!(error(QueueConfig::Codel(CodelConfig { interval_ns: u64::MAX, ..codel })), "interval");
    let fq = FqCodelConfig::new(LIMIT);
    assert_eq!(error(QueueConfig::FqCodel(FqCodelConfig { flows: 0, ..fq.clone() })), "flows");
    assert_eq!(error(QueueConfig::FqCodel(FqCodelConfig { quantum: 1, ..fq })), "quantum");
    let mut pie = PieConfig::new(LIMIT);
    pie.pi.update_ns = 1;
    assert_eq!(error(QueueConfig::Pie(pie.clone())), "update");
    pie.pi.update_ns = MS;
    pie.pi.alpha = f64::NAN;
    assert_eq!(error(QueueConfig::Pie(pie)), "alpha");
    let dual = DualPi2Config::new(Limit::Packets(0));
    assert_eq!(error(QueueConfig::DualPi2(dual)), "limit");
    let dual = DualPi2Config { coupling: 0.0, ..DualPi2Config::new(LIMIT) };
    assert_eq!(error(QueueConfig::DualPi2(dual)), "coupling");
}
