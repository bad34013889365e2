//! Exact times, metadata and order.

use link::{Limit, Link, LinkConfig, LossConfig, QueueConfig, Reason};

fn config(rate_bps: u64, delay_ns: u64, limit: Limit) -> LinkConfig {
    LinkConfig { rate_bps: Some(rate_bps), delay_ns, queue: QueueConfig::DropTail(limit), ..LinkConfig::default() }
}

/// Runs a link until nothing is left; returns (item, delivery time).
fn drain(link: &mut Link<u32>) -> Vec<(u32, u64)> {
    let mut delivered = Vec::new();
    while let Some(time) = link.next_event_time() {
        while let Some(packet) = link.dequeue(time) {
            let _ = link.transmit(time, packet.len, packet.item);
        }
        while let Some(packet) = link.deliver(time) {
            assert_eq!(packet.time_ns, time);
            delivered.push((packet.item, packet.time_ns));
        }
    }
    delivered
}

#[test]
fn serialization_and_delay_are_exact() {
    let mut link = Link::new(config(8_000_000, 5_000_000, Limit::Packets(10)), 0).unwrap();
    for item in 0..3 {
        link.offer(100, 1000, item).unwrap();
    }
    assert_eq!(link.next_event_time(), Some(100));
    assert_eq!(drain(&mut link), [(0, 6_000_100), (1, 7_000_100), (2, 8_000_100)]);
    assert_eq!(link.next_event_time(), None);
}

#[test]
fn overhead_takes_time_and_an_unlimited_rate_none() {
    let slow = LinkConfig { overhead_bytes: 24, ..config(8_000_000, 0, Limit::Packets(10)) };
    let mut link = Link::new(slow, 0).unwrap();
    link.offer(0, 976, 1).unwrap();
    assert_eq!(drain(&mut link), [(1, 1_000_000)]);
    let mut link = Link::new(LinkConfig { delay_ns: 7, ..LinkConfig::default() }, 0).unwrap();
    for item in 0..1000 {
        link.offer(3, 1500, item).unwrap(); // never full: each departs before the next arrives
    }
    assert!(drain(&mut link).iter().all(|&(_, time)| time == 10));
}

#[test]
fn queue_metadata_counts_those_that_wait() {
    let mut link = Link::new(config(8_000_000, 0, Limit::Packets(10)), 0).unwrap();
    for item in 0..4 {
        link.offer(0, 1000, item).unwrap();
    }
    let mut seen = Vec::new();
    while let Some(time) = link.next_departure() {
        let packet = link.dequeue(time).unwrap();
        seen.push((packet.enq_depth, packet.deq_timedelta_ns, packet.deq_depth));
        link.transmit(time, packet.len, packet.item).unwrap();
    }
    // The first departs at once, so the second finds an empty queue.
    assert_eq!(seen, [(0, 0, 3), (0, 1_000_000, 2), (1, 2_000_000, 1), (2, 3_000_000, 0)]);
}

#[test]
fn a_departure_comes_before_an_arrival_at_one_instant() {
    // One place: at 1 ms the waiting packet starts its transmission, and a new one takes its place.
    for departure_called_first in [true, false] {
        let mut link = Link::new(config(8_000_000, 0, Limit::Packets(1)), 0).unwrap();
        link.offer(0, 1000, 0).unwrap();
        let first = link.dequeue(0).unwrap();
        link.transmit(0, first.len, first.item).unwrap();
        link.offer(0, 1000, 1).unwrap();
        assert_eq!(link.offer(999_999, 1000, 2).unwrap_err().reason, Reason::QueueFull);
        let depart = |link: &mut Link<u32>| {
            let packet = link.dequeue(1_000_000).unwrap();
            link.transmit(1_000_000, packet.len, packet.item).unwrap();
        };
        if departure_called_first {
            depart(&mut link);
            link.offer(1_000_000, 1000, 3).unwrap();
        } else {
            link.offer(1_000_000, 1000, 3).unwrap();
            depart(&mut link);
        }
        assert_eq!(link.dequeue(2_000_000).map(|p| (p.item, p.enq_depth)), Some((3, 0)));
        assert_eq!(link.stats().max_queue_packets, 1);
    }
}

#[test]
fn byte_limits_count_bytes() {
    let mut link = Link::new(config(8_000, 0, Limit::Bytes(3000)), 0).unwrap();
    let taken: Vec<bool> = [1000, 1500, 1500, 600, 500, 0].iter().map(|&len| link.offer(0, len, 0).is_ok()).collect();
    // The first departs at once; 1,500 + 1,500 fill the queue to the byte.
    assert_eq!(taken, [true, true, true, false, false, false]);
    assert_eq!(link.stats().dropped(Reason::QueueFull), 3);
    assert_eq!(link.stats().offered_bytes, 5100);
}

#[test]
fn egress_may_drop_or_resize() {
    let mut link = Link::new(config(8_000_000, 0, Limit::Packets(10)), 0).unwrap();
    for item in 0..3 {
        link.offer(0, 1000, item).unwrap();
    }
    link.dequeue(0).unwrap(); // dropped by egress: the transmitter is still free
    assert_eq!(link.next_departure(), Some(0));
    let packet = link.dequeue(0).unwrap();
    assert_eq!(link.transmit(0, 2000, packet.item), Ok(2_000_000));
    assert_eq!(link.next_departure(), Some(2_000_000));
}

#[test]
fn lost_packets_occupy_the_transmitter() {
    let lossy = LinkConfig { loss: LossConfig::Bernoulli(1.0), ..config(8_000_000, 0, Limit::Packets(10)) };
    let mut link = Link::new(lossy, 0).unwrap();
    link.offer(0, 1000, 1).unwrap();
    link.offer(0, 1000, 2).unwrap();
    let packet = link.dequeue(0).unwrap();
    assert_eq!(link.transmit(0, packet.len, packet.item).unwrap_err().reason, Reason::Loss);
    assert_eq!(link.next_departure(), Some(1_000_000));
    assert_eq!(drain(&mut link), []);
    assert_eq!(link.stats().dropped(Reason::Loss), 2);
}

#[test]
fn a_link_that_changes_keeps_its_packets_in_order() {
    let mut link = Link::new(config(8_000_000, 10_000_000, Limit::Packets(10)), 0).unwrap();
    link.offer(0, 1000, 1).unwrap();
    link.offer(0, 1000, 2).unwrap();
    let packet = link.dequeue(0).unwrap();
    link.transmit(0, packet.len, packet.item).unwrap();
    link.set_config(config(80_000_000, 0, Limit::Packets(1))).unwrap();
    // The second leaves at 1 ms and takes 0.1 ms, but does not overtake the first.
    assert_eq!(drain(&mut link), [(1, 11_000_000), (2, 11_000_000)]);
}

#[test]
fn a_link_that_goes_down_loses_all_it_holds() {
    let mut link = Link::new(config(8_000_000, 10_000_000, Limit::Packets(10)), 0).unwrap();
    for item in 0..3 {
        link.offer(0, 1000, item).unwrap();
    }
    let packet = link.dequeue(0).unwrap();
    link.transmit(0, packet.len, packet.item).unwrap();
    link.set_up(500_000, false);
    assert_eq!(link.next_event_time(), None);
    assert_eq!(link.offer(600_000, 1000, 4).unwrap_err().reason, Reason::Down);
    assert_eq!(link.stats().dropped(Reason::Down), 4);
    link.set_up(700_000, true);
    link.offer(700_000, 1000, 5).unwrap();
    assert_eq!(drain(&mut link), [(5, 12_000_000)]); // the transmitter was busy until 1 ms
}

#[test]
fn bytes_in_flight_are_bounded() {
    let long = LinkConfig { delay_ns: 1_000_000_000, in_flight_limit_bytes: 2500, ..LinkConfig::default() };
    let mut link = Link::new(long, 0).unwrap();
    for item in 0..4 {
        link.offer(0, 1000, item).unwrap();
    }
    let sent: Vec<bool> =
        (0..4).map(|_| link.dequeue(0).is_some_and(|p| link.transmit(0, p.len, p.item).is_ok())).collect();
    assert_eq!(sent, [true, true, false, false]);
    assert_eq!(link.stats().dropped(Reason::InFlight), 2);
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |config: LinkConfig| Link::<()>::new(config, 0).unwrap_err().to_string();
    assert_eq!(error(config(0, 0, Limit::Packets(1))), "rate_bps: must be positive");
    assert_eq!(error(config(1, 0, Limit::Packets(0))), "limit: must hold at least one packet");
    let lossy = LinkConfig { loss: LossConfig::Bernoulli(1.5), ..LinkConfig::default() };
    assert_eq!(error(lossy), "loss: must lie in [0, 1]");
}
