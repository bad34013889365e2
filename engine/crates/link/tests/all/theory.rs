//! Queueing theory: the link agrees with M/D/1 and M/M/1/K within 2 %.

use link::random::Stream;
use link::{Limit, Link, LinkConfig, QueueConfig, Reason};

const RATE_BPS: u64 = 8_000_000;
const MEAN_BYTES: f64 = 1000.0; // 1 ms at this rate
const MEAN_SERVICE_NS: f64 = 1e6;

fn exponential(stream: &mut Stream, mean: f64) -> f64 {
    -(1.0 - stream.uniform()).ln() * mean
}

/// Carries out all departures and deliveries up to `now`, each at its own time, and returns the waiting times.
fn advance(link: &mut Link<()>, now: u64, waits: &mut Vec<u64>) {
    while let Some(time) = link.next_event_time().filter(|&time| time <= now) {
        while let Some(packet) = link.dequeue(time) {
            waits.push(packet.deq_timedelta_ns);
            link.transmit(time, packet.len, ()).unwrap();
        }
        while link.deliver(time).is_some() {}
    }
}

/// Offers Poisson arrivals at `load` with lengths from `length`; returns the link and all waiting times.
fn run(packets: usize, load: f64, limit: Limit, mut length: impl FnMut(&mut Stream) -> u32) -> (Link<()>, Vec<u64>) {
    let config = LinkConfig { rate_bps: Some(RATE_BPS), queue: QueueConfig::DropTail(limit), ..LinkConfig::default() };
    let mut link = Link::new(config, 1).unwrap();
    let (mut arrivals, mut lengths) = (Stream::new(5, "arrivals"), Stream::new(5, "lengths"));
    let (mut clock, mut waits) = (0.0, Vec::new());
    for _ in 0..packets {
        clock += exponential(&mut arrivals, MEAN_SERVICE_NS / load);
        let now = clock as u64;
        advance(&mut link, now, &mut waits);
        let _ = link.offer(now, length(&mut lengths), ());
    }
    (link, waits)
}

fn assert_near(observed: f64, expected: f64) {
    assert!((observed / expected - 1.0).abs() < 0.02, "observed {observed}, theory says {expected}");
}

fn mean(values: &[u64]) -> f64 {
    values.iter().map(|&v| v as f64).sum::<f64>() / values.len() as f64
}

#[test]
fn md1_waiting_time_and_queue() {
    for load in [0.3, 0.6, 0.8] {
        let (link, waits) = run(2_000_000, load, Limit::Packets(u32::MAX), |_| MEAN_BYTES as u32);
        // Pollaczek-Khinchine with constant service; Little's law for the queue.
        let expected = load / (2.0 * (1.0 - load)) * MEAN_SERVICE_NS;
        assert_near(mean(&waits), expected);
        assert_near(link.stats().mean_queue_packets(), load * expected / MEAN_SERVICE_NS);
    }
}

#[test]
fn mm1k_loss_and_waiting_time() {
    // K in the system: one in transmission and K - 1 waiting.
    for (load, k) in [(0.7f64, 5u32), (0.9, 11), (1.2, 8)] {
        let packets = 2_000_000;
        let (link, waits) =
            run(packets, load, Limit::Packets(k - 1), |s| exponential(s, MEAN_BYTES).round().max(1.0) as u32);
        let p = |n: u32| (1.0 - load) * load.powi(n as i32) / (1.0 - load.powi(k as i32 + 1));
        assert_near(link.stats().dropped(Reason::QueueFull) as f64 / packets as f64, p(k));
        let waiting: f64 = (1..=k).map(|n| f64::from(n - 1) * p(n)).sum();
        assert_near(link.stats().mean_queue_packets(), waiting);
        assert_near(mean(&waits), waiting / (load * (1.0 - p(k))) * MEAN_SERVICE_NS);
    }
}
