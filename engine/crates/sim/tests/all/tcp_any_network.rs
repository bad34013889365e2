//! Whatever a network does to its packets, a transfer ends with all octets, and the sender's books stay right.

use link::random::Stream;
use sim::tcp::{Growth, Kind, Receiver, ReceiverConfig, Segment, Sender, SenderConfig, DELAYED_ACK};
use sim::time::{Nanos, MILLISECOND, SECOND};

/// What happens to a segment on its way, each with its probability.
#[derive(Clone, Copy, Debug)]
struct Harm {
    loss: f64,
    duplicate: f64,
    /// Uniform between 10 ms and this.
    most_delay: Nanos,
}

struct World {
    sender: Sender,
    receiver: Receiver,
    now: Nanos,
    stream: Stream,
    harm: Harm,
    /// In flight: arrival, to the receiver, the segment.
    flying: Vec<(Nanos, bool, Segment)>,
}

impl World {
    fn fly(&mut self, to_receiver: bool, segment: Segment) {
        let copies = 1 + u32::from(self.stream.chance(self.harm.duplicate));
        for _ in 0..copies {
            let least = 10 * MILLISECOND;
            let delay = least + (self.stream.uniform() * (self.harm.most_delay - least) as f64) as Nanos;
            if !self.stream.chance(self.harm.loss) {
                self.flying.push((self.now + delay, to_receiver, segment.clone()));
            }
        }
    }

    fn step(&mut self) {
        let next =
            self.flying.iter().map(|(time, ..)| *time).chain(self.sender.wake_at()).chain(self.receiver.wake_at());
        self.now = next.min().expect("a transfer that is not finished waits for something");
        let mut out = Vec::new();
        if let Some(at) = self.flying.iter().position(|&(time, ..)| time == self.now) {
            let (_, to_receiver, segment) = self.flying.remove(at);
            if to_receiver {
                let ack = self.receiver.receive(&segment, self.now);
                ack.into_iter().for_each(|ack| self.fly(false, ack));
            } else {
                self.sender.receive(&segment, self.now, &mut out);
            }
        } else {
            let ack = self.receiver.handle_timer(self.now);
            ack.into_iter().for_each(|ack| self.fly(false, ack));
            self.sender.handle_timer(self.now, &mut out);
        }
        out.into_iter().for_each(|segment| self.fly(true, segment));
        let received = self.receiver.received();
        assert!(self.sender.acknowledged() <= received, "nothing is acknowledged that has not arrived");
        assert!(
            self.sender.cwnd() >= 1.0 && self.sender.ssthresh() >= 2.0,
            "{} {}",
            self.sender.cwnd(),
            self.sender.ssthresh()
        );
    }
}

fn transfer(kind: Kind, delayed: bool, harm: Harm, seed: u64) -> Sender {
    let octets = 150_000 + seed * 37;
    let growth = if delayed { Growth::Packets } else { Growth::Acknowledgments };
    let config = SenderConfig { kind, mss: 1000, transfer: Some(octets), growth, ..SenderConfig::default() };
    let delayed_ack = delayed.then_some(DELAYED_ACK);
    let mut world = World {
        sender: Sender::new(config),
        receiver: Receiver::new(ReceiverConfig { delayed_ack, sack: kind == Kind::Sack }),
        now: 0,
        stream: Stream::new(seed, "harm"),
        harm,
        flying: Vec::new(),
    };
    let mut out = Vec::new();
    world.sender.start(0, &mut out);
    out.into_iter().for_each(|segment| world.fly(true, segment));
    while world.sender.finished_at().is_none() {
        assert!(world.now < 10_000 * SECOND, "{kind:?} {harm:?} {seed}: {:?}", world.sender);
        world.step();
    }
    assert_eq!((world.receiver.received(), world.receiver.is_complete()), (octets, true));
    assert_eq!(world.sender.acknowledged(), octets);
    world.sender
}

const KINDS: [Kind; 4] = [Kind::Reno, Kind::NewReno, Kind::Sack, Kind::Vegas];

#[test]
fn loss_duplication_and_disorder_end_no_transfer() {
    let level = 20 * MILLISECOND;
    for harm in [
        Harm { loss: 0.0, duplicate: 0.0, most_delay: 200 * MILLISECOND },
        Harm { loss: 0.02, duplicate: 0.0, most_delay: level },
        Harm { loss: 0.1, duplicate: 0.1, most_delay: 40 * MILLISECOND },
        Harm { loss: 0.3, duplicate: 0.0, most_delay: level },
        Harm { loss: 0.2, duplicate: 0.5, most_delay: 400 * MILLISECOND },
    ] {
        for kind in KINDS {
            for seed in 0..10 {
                transfer(kind, seed % 2 == 0, harm, seed);
            }
        }
    }
}

#[test]
fn selective_acknowledgments_send_little_twice() {
    // What is sent again beyond what was lost: about one packet in a hundred without disorder.
    let harm = Harm { loss: 0.05, duplicate: 0.0, most_delay: 10 * MILLISECOND + 1 };
    let (mut sent, mut needed) = (0, 0);
    for seed in 0..20 {
        let sender = transfer(Kind::Sack, false, harm, seed);
        sent += sender.counters().packets_sent;
        needed += (150_000 + seed * 37_u64).div_ceil(1000);
    }
    let lost = 0.05 * sent as f64;
    let again = (sent - needed) as f64;
    assert!(again < 1.35 * lost + 40.0, "{again} sent again, {lost} lost");
}
