//! What each kind of sender does about lost packets, as exact traces.

mod common;

use common::Pair;
use sim::tcp::{Kind, ReceiverConfig, SenderConfig};

fn pair(kind: Kind) -> Pair {
    let sender = SenderConfig {
        kind,
        mss: 100,
        transfer: Some(40 * 100),
        initial_window: 1.0,
        initial_ssthresh: 8.0,
        ..SenderConfig::default()
    };
    Pair::new(sender, ReceiverConfig { delayed_ack: None, sack: kind == Kind::Sack })
}

#[test]
fn look() {
    for kind in [Kind::Reno, Kind::NewReno, Kind::Sack, Kind::Vegas] {
        for losses in [&[14u64][..], &[14, 16], &[14, 15, 16], &[14, 17, 19, 21]] {
            let mut pair = losses.iter().fold(pair(kind), |p, &l| p.drop(l, &[1]));
            pair.start();
            println!("{kind:?} {losses:?}");
            let mut n = 0;
            while pair.sender.finished_at().is_none() {
                pair.step();
                if pair.sent.len() > n {
                    println!(
                        "  {} {:?} cwnd {:.2} ssthresh {:.2}",
                        pair.now / 1_000_000,
                        &pair.sent[n..].iter().map(|x| x.1).collect::<Vec<_>>(),
                        pair.sender.cwnd(),
                        pair.sender.ssthresh()
                    );
                    n = pair.sent.len();
                }
            }
            println!("  {:?} {:?} {}", pair.repairs(), pair.sender.counters(), pair.now / 1_000_000);
        }
    }
}
