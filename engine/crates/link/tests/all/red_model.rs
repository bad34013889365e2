//! The RED queue against a plain model of ns-2's rules, and determinism.

use link::random::Stream;
use link::{Limit, Link, LinkConfig, LossConfig, QueueConfig, Reason, RedConfig};

const RATE_BPS: u64 = 10_000_000;
const BYTES: u32 = 1000;
const SERVICE_NS: u64 = 800_000;

/// Queue length and average as section 4 of the RED paper writes them, one arrival after another.
struct Model {
    average: f64,
    departures: Vec<u64>,
    weight: f64,
    mean_packet_ns: f64,
}

impl Model {
    /// The average that a packet arriving at `now` finds.
    fn arrive(&mut self, now: u64) -> f64 {
        let waiting = self.departures.iter().filter(|&&start| start > now).count() as f64;
        let idle_since = self.departures.last().map_or(0, |start| start + SERVICE_NS);
        if now > idle_since {
            let missed = ((now - idle_since) as f64 / self.mean_packet_ns).floor() as u32;
            for _ in 0..missed {
                self.average *= 1.0 - self.weight;
            }
        }
        self.average += self.weight * (waiting - self.average);
        self.average
    }

    fn accept(&mut self, now: u64) {
        let free = self.departures.last().map_or(0, |start| start + SERVICE_NS);
        self.departures.push(now.max(free));
        let keep = self.departures.len().saturating_sub(200);
        self.departures.drain(..keep);
    }
}

fn red_link(seed: u64, weight: f64) -> Link<u32> {
    let red = RedConfig { weight, ..RedConfig::new(Limit::Packets(60), 5.0, 15.0) };
    let config = LinkConfig {
        rate_bps: Some(RATE_BPS),
        queue: QueueConfig::Red(red),
        loss: LossConfig::Bernoulli(0.05),
        ..LinkConfig::default()
    };
    Link::new(config, seed).unwrap()
}

/// On-off Poisson arrivals that overload the link and leave it idle by turns; calls `check` after each.
fn drive(link: &mut Link<u32>, arrivals: u32, mut check: impl FnMut(&Link<u32>, u64, bool)) -> Vec<(u32, u64)> {
    let mut stream = Stream::new(9, "arrivals");
    let (mut now, mut delivered) = (0u64, Vec::new());
    for item in 0..arrivals {
        let gap = if item % 400 < 300 { 0.6 } else { 3.0 };
        now += (-(1.0 - stream.uniform()).ln() * gap * SERVICE_NS as f64) as u64;
        while let Some(time) = link.next_event_time().filter(|&time| time <= now) {
            while let Some(packet) = link.dequeue(time) {
                let _ = link.transmit(time, packet.len, packet.item);
            }
            while let Some(packet) = link.deliver(time) {
                delivered.push((packet.item, packet.time_ns));
            }
        }
        let accepted = link.offer(now, BYTES, item).is_ok();
        check(link, now, accepted);
    }
    delivered
}

#[test]
fn average_follows_the_model() {
    for weight in [0.002, 0.02, 0.3] {
        let mut link = red_link(4, weight);
        let mean_packet_ns = 500.0 * 8e9 / RATE_BPS as f64;
        let mut model = Model { average: 0.0, departures: Vec::new(), weight, mean_packet_ns };
        drive(&mut link, 50_000, |link, now, accepted| {
            let expected = model.arrive(now);
            let observed = link.red_average().unwrap();
            assert!((observed - expected).abs() < 1e-6, "at {now}: {observed}, the model says {expected}");
            if accepted {
                model.accept(now);
            }
        });
        assert!(link.stats().dropped(Reason::RedEarly) > 100);
    }
}

#[test]
fn a_seed_fixes_every_choice() {
    let run = |seed| {
        let mut link = red_link(seed, 0.02);
        let delivered = drive(&mut link, 20_000, |_, _, _| ());
        (delivered, link.stats().clone())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn byte_mode_spares_small_packets() {
    let red = RedConfig { weight: 0.02, ..RedConfig::new(Limit::Bytes(60_000), 5_000.0, 15_000.0) };
    let config = LinkConfig { rate_bps: Some(RATE_BPS), queue: QueueConfig::Red(red), ..LinkConfig::default() };
    let mut link = Link::new(config, 3).unwrap();
    let mut drops = [0u32; 2];
    for n in 0..200_000u64 {
        let now = n * 400_000; // 1,000 and 40 bytes by turns: 104 % of the rate
        while let Some(time) = link.next_event_time().filter(|&time| time <= now) {
            while let Some(packet) = link.dequeue(time) {
                let _ = link.transmit(time, packet.len, packet.item);
            }
            while link.deliver(time).is_some() {}
        }
        let small = n % 2 == 1;
        let refused = link.offer(now, if small { 40 } else { BYTES }, 0).is_err();
        drops[usize::from(small)] += u32::from(refused);
    }
    assert!(drops[0] > 1000, "{drops:?}");
    assert!(drops[1] * 10 < drops[0], "{drops:?}");
}
