//! TCP as it is now over simulated links: links filled, shares, marks.

use crate::dumbbell::{goodputs, Dumbbell};
use link::{Limit, QueueConfig};
use sim::tcp::modern::{CongestionControlName as Name, ReceiverConfig, SenderConfig};
use sim::time::{Nanos, MILLISECOND, SECOND};

/// Payload of a full frame.
const MSS: f64 = 1448.0;
const FRAME: f64 = 1514.0;

pub fn flow(congestion_control: Name) -> (SenderConfig, ReceiverConfig) {
    (SenderConfig { congestion_control, ..SenderConfig::default() }, ReceiverConfig::default())
}

/// Frames of 1,514 octets in a round trip.
pub fn product(rate_bps: u64, rtt: Nanos) -> f64 {
    rate_bps as f64 * (rtt as f64 / 1e9) / 8.0 / FRAME
}

/// What headers leave of a rate, in octets of payload a second.
pub fn room(rate_bps: u64) -> f64 {
    rate_bps as f64 / 8.0 * MSS / FRAME
}

fn queue(packets: f64) -> QueueConfig {
    QueueConfig::DropTail(Limit::Packets(packets.ceil() as u32))
}

#[test]
fn alone_they_fill_links_of_all_rates() {
    for (rate_bps, rtt) in [
        (1_000_000, 20 * MILLISECOND),
        (10_000_000, 10 * MILLISECOND),
        (10_000_000, 100 * MILLISECOND),
        (100_000_000, 40 * MILLISECOND),
        (1_000_000_000, 10 * MILLISECOND),
    ] {
        for name in [Name::Reno, Name::Cubic, Name::Bbr, Name::Bbr3, Name::Dctcp, Name::Prague] {
            let packets = product(rate_bps, rtt).max(16.0);
            let dumbbell = Dumbbell { rate_bps, rtt, queue: queue(packets), ..Dumbbell::default() };
            let (mut network, flows, _) = dumbbell.build(&[flow(name)]);
            let (from, to) = if rate_bps >= 1_000_000_000 { (4, 10) } else { (10, 30) };
            let share = goodputs(&mut network, &flows, from * SECOND, to * SECOND)[0] / room(rate_bps);
            eprintln!(
                "{name:?} {rate_bps} {rtt}: {share:.4} {:?}",
                network.app_value(flows[0].source, "retransmissions")
            );
            assert!((0.95..1.001).contains(&share), "{name:?} at {rate_bps}, {rtt}: {share}");
        }
    }
}
