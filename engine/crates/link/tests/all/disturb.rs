//! Links that reorder, duplicate, or refuse what is too long.

use link::{Limit, Link, LinkConfig, QueueConfig, Reason, Reorder};

const MS: u64 = 1_000_000;

fn config() -> LinkConfig {
    let queue = QueueConfig::DropTail(Limit::Packets(10));
    LinkConfig { rate_bps: Some(8_000_000), delay_ns: 5 * MS, queue, ..LinkConfig::default() }
}

/// Sends a packet of 1,000 bytes each 2 ms: (item, delivery time, whether it counts for two).
fn send(link: &mut Link<u64>, packets: u64) -> Vec<(u64, u64, bool)> {
    let mut delivered = Vec::new();
    for item in 0..=packets {
        let now = if item < packets { item * 2 * MS } else { u64::MAX / 2 };
        while let Some(time) = link.next_event_time().filter(|&time| time <= now) {
            while let Some(packet) = link.dequeue(time) {
                let _ = link.transmit(time, packet.len, packet.item);
            }
            while let Some(packet) = link.deliver(time) {
                assert_eq!(packet.time_ns, time);
                delivered.push((packet.item, time, packet.is_twice));
            }
        }
        if item < packets {
            let _ = link.offer(now, 1000, item);
        }
    }
    delivered
}

#[test]
fn late_packets_are_overtaken_and_nothing_else_changes() {
    let reorder = Some(Reorder { probability: 0.1, extra_delay_ns: 7 * MS });
    let mut link = Link::new(LinkConfig { reorder, ..config() }, 3).unwrap();
    let delivered = send(&mut link, 10_000);
    assert_eq!(delivered.len(), 10_000);
    assert!(delivered.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    let late = delivered.iter().filter(|&&(item, time, _)| {
        let on_time = item * 2 * MS + 6 * MS;
        assert!(time == on_time || time == on_time + 7 * MS);
        time > on_time
    });
    let late = late.count() as u64;
    assert!((900..1100).contains(&late), "{late}");
    assert_eq!(link.stats().reordered_packets, late);
    assert!(delivered.windows(2).filter(|pair| pair[0].0 > pair[1].0).count() > 800);
}

#[test]
fn some_packets_count_for_two() {
    let mut link = Link::new(LinkConfig { duplicate: 0.05, ..config() }, 3).unwrap();
    let delivered = send(&mut link, 10_000);
    let twice = delivered.iter().filter(|&&(_, _, twice)| twice).count() as u64;
    assert!((400..600).contains(&twice), "{twice}");
    let stats = link.stats();
    assert_eq!((stats.duplicated_packets, stats.sent_packets), (twice, 10_000));
    assert_eq!((stats.delivered_packets, stats.delivered_bytes), (10_000 + twice, (10_000 + twice) * 1000));
    assert!(delivered.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn what_is_too_long_is_refused_wherever_it_comes() {
    let mut link = Link::new(LinkConfig { max_frame_bytes: 999, ..config() }, 3).unwrap();
    assert_eq!(link.offer(0, 1000, 1).unwrap_err().reason, Reason::Oversize);
    assert!(matches!(link.pass(0, 1000, 1), Ok(Err(dropped)) if dropped.reason == Reason::Oversize));
    link.offer(0, 999, 2).unwrap();
    let packet = link.dequeue(0).unwrap();
    // Egress processing has made it longer; the transmitter is still free.
    assert_eq!(link.transmit(0, 1003, packet.item).unwrap_err().reason, Reason::Oversize);
    assert_eq!(link.pass(0, 999, 3), Ok(Ok(999_000)));
    assert_eq!((link.stats().dropped(Reason::Oversize), link.stats().sent_packets), (3, 1));
}

#[test]
fn a_path_that_heals_still_delivers_what_was_late() {
    let reorder = Some(Reorder { probability: 1.0, extra_delay_ns: 100 * MS });
    let mut link = Link::new(LinkConfig { reorder, duplicate: 1.0, ..config() }, 3).unwrap();
    link.pass(0, 1000, 1).unwrap().unwrap();
    link.set_config(config()).unwrap();
    link.pass(10 * MS, 1000, 2).unwrap().unwrap();
    let times: Vec<_> = [50 * MS, 200 * MS].into_iter().filter_map(|now| link.deliver(now)).collect();
    assert_eq!(
        times.iter().map(|p| (p.item, p.time_ns, p.is_twice)).collect::<Vec<_>>(),
        [(2, 16 * MS, false), (1, 106 * MS, true)]
    );
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |config: LinkConfig| Link::<()>::new(config, 0).unwrap_err().parameter;
    assert_eq!(error(LinkConfig { duplicate: 1.5, ..config() }), "duplicate");
    let reorder = Some(Reorder { probability: -0.1, extra_delay_ns: 1 });
    assert_eq!(error(LinkConfig { reorder, ..config() }), "reorder");
    assert_eq!(error(LinkConfig { max_frame_bytes: 0, ..config() }), "mtu");
}
