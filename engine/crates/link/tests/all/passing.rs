//! `pass` is `offer`, `dequeue` and `transmit` in one, and `enter` the first two, to the last count.

use link::{Limit, Link, LinkConfig, LossConfig, QueueConfig};

fn link(limit: Limit) -> Link<u64> {
    let config = LinkConfig {
        rate_bps: Some(8_000_000), // a microsecond a byte
        delay_ns: 5_000,
        queue: QueueConfig::DropTail(limit),
        loss: LossConfig::Bernoulli(0.2),
        ..LinkConfig::default()
    };
    Link::new(config, 7).expect("a valid link")
}

/// Departures as they are due, up to `now`.
fn depart(link: &mut Link<u64>, now: u64) {
    while let Some(due) = link.next_departure().filter(|&due| due <= now) {
        let packet = link.dequeue(due).expect("it is due");
        let _ = link.transmit(due, packet.len, packet.item);
    }
}

#[test]
fn passing_changes_nothing_but_the_way() {
    for limit in [Limit::Packets(2), Limit::Bytes(2_000)] {
        let (mut plain, mut passing) = (link(limit), link(limit));
        let mut now = 0;
        for number in 0..5_000u64 {
            now += number * 7_919 % 1_900 * 1_000; // a fixed scatter of gaps about the service times
            let len = 100 + (number * 31 % 1_100) as u32;
            depart(&mut plain, now);
            let _ = plain.offer(now, len, number);
            depart(&mut plain, now);
            depart(&mut passing, now);
            if let Err(item) = passing.pass(now, len, number) {
                let _ = passing.offer(now, len, item);
                depart(&mut passing, now);
            }
            loop {
                let (one, other) = (plain.deliver(now), passing.deliver(now));
                assert_eq!(one, other);
                if one.is_none() {
                    break;
                }
            }
        }
        assert!(plain.stats().dropped_total() > 100);
        // The queue's integral is taken at other moments, but over the same queue.
        for (one, other) in [
            (plain.stats().offered_bytes, passing.stats().offered_bytes),
            (plain.stats().sent_bytes, passing.stats().sent_bytes),
            (plain.stats().delivered_packets, passing.stats().delivered_packets),
            (plain.stats().dropped_total(), passing.stats().dropped_total()),
            (plain.stats().max_queue_packets, passing.stats().max_queue_packets),
        ] {
            assert_eq!(one, other);
        }
    }
}

#[test]
fn entering_is_an_offer_and_its_departure() {
    for limit in [Limit::Packets(2), Limit::Bytes(2_000)] {
        let (mut plain, mut entering) = (link(limit), link(limit));
        let (mut now, mut entered) = (0, 0);
        for number in 0..5_000u64 {
            now += number * 7_919 % 1_900 * 1_000;
            let len = 100 + (number * 31 % 1_100) as u32;
            // What the driver does with the packet: some are dropped, others change their length.
            let sent = (number % 7 != 0).then_some(len - 20);
            depart(&mut plain, now);
            depart(&mut entering, now);
            let enters = entering.enter(now, len);
            if enters {
                entered += 1;
                sent.map(|len| entering.transmit(now, len, number));
            } else {
                let _ = entering.offer(now, len, number);
            }
            let taken = plain.offer(now, len, number).is_ok();
            assert_eq!(enters, taken && plain.next_departure() == Some(now));
            if enters {
                assert_eq!(plain.dequeue(now).map(|packet| packet.item), Some(number));
                sent.map(|len| plain.transmit(now, len, number));
            }
            while let Some(packet) = plain.deliver(now) {
                assert_eq!(entering.deliver(now), Some(packet));
            }
            assert_eq!(entering.deliver(now), None);
            assert_eq!(entering.stats(), plain.stats());
        }
        assert!((1_000..4_000).contains(&entered), "{entered}");
    }
}

#[test]
fn a_packet_larger_than_the_queue_is_refused_as_ever() {
    let mut link = link(Limit::Bytes(500));
    assert!(link.pass(0, 501, 1).is_err());
    assert!(link.offer(0, 501, 1).is_err());
    assert!(link.pass(0, 500, 2).is_ok());
    assert!(link.pass(0, 100, 3).is_err());
}
