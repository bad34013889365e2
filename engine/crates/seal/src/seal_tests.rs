//! Tests of seal.rs.

use super::{opened_bytes, Endpoint, Refused, Seal, FEEDBACK_GROWTH, FRESH_S, GROWTH};

const SECRET: [u8; 32] = [7; 32];
const NOW: u32 = 1_800_000_000;

fn at(number: u8) -> Endpoint {
    Endpoint::new([10, 0, 0, number].into(), 5000)
}

fn of(sender: u64) -> Seal {
    Seal::new(&[(1, &SECRET)], sender).unwrap()
}

fn sealed(seal: &mut Seal, packet: &[u8]) -> Vec<u8> {
    let mut out = vec![0; packet.len() + GROWTH];
    assert!(seal.seal(packet, at(1), at(2), NOW, &mut out));
    out
}

fn opened(seal: &mut Seal, sealed: &[u8], source: Endpoint, to: Endpoint, now: u32) -> Result<Vec<u8>, Refused> {
    let mut out = vec![0; sealed.len().saturating_sub(GROWTH)];
    seal.open(sealed, source, to, now, &mut out).map(|()| out)
}

#[test]
fn a_packet_comes_back_once_and_only_as_it_was() {
    let (mut one, mut two) = (of(1), of(2));
    let packet = sealed(&mut one, b"\x01\x05\x06 and more");
    assert_eq!(&packet[..4], b"\x02\x05\x06\x01");
    for place in 1..packet.len() {
        let mut changed = packet.clone();
        changed[place] ^= 0x10;
        let expected = if place == 3 { Refused::Epoch } else { Refused::Forged };
        assert_eq!(opened(&mut two, &changed, at(1), at(2), NOW), Err(expected), "{place}");
    }
    for length in 1..packet.len() {
        assert_eq!(opened(&mut two, &packet[..length], at(1), at(2), NOW), Err(Refused::Forged));
    }
    assert_eq!(opened(&mut two, &packet, at(3), at(2), NOW), Err(Refused::Forged));
    assert_eq!(opened(&mut two, &packet, at(1), at(3), NOW), Err(Refused::Forged));
    assert_eq!(opened(&mut two, &packet, at(1), at(2), NOW).unwrap(), b"\x01\x05\x06 and more");
    assert_eq!(opened(&mut two, &packet, at(1), at(2), NOW), Err(Refused::Replayed));
    assert_eq!(opened(&mut one, &packet, at(1), at(2), NOW), Err(Refused::Own));
    assert_eq!(opened(&mut two, b"\x01\x05\x06", at(1), at(2), NOW), Err(Refused::Open));
    assert_eq!(opened(&mut two, b"", at(1), at(2), NOW), Err(Refused::Open));
}

/// `head` bytes of it are open.
fn headed(seal: &mut Seal, packet: &[u8], head: usize) -> Vec<u8> {
    let mut out = vec![0; packet.len() + GROWTH];
    assert!(seal.seal_headed(packet, head, at(1), at(2), NOW, &mut out));
    out
}

fn opened_headed(seal: &mut Seal, sealed: &[u8], head: usize) -> Result<Vec<u8>, Refused> {
    let mut out = vec![0; sealed.len().saturating_sub(GROWTH)];
    seal.open_headed(sealed, head, at(1), at(2), NOW, &mut out).map(|()| out)
}

#[test]
fn an_open_head_is_readable_and_nobody_elses() {
    let packet = b"\x01\x05\x06 and more";
    for head in 1..=packet.len() {
        let (mut one, mut two) = (of(1), of(2));
        let sealed = headed(&mut one, packet, head);
        assert_eq!((sealed[0], &sealed[1..head]), (5, &packet[1..head]));
        if head < packet.len() {
            assert_ne!(sealed[head + 20..packet.len() + 20], packet[head..]);
        }
        for place in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[place] ^= 0x10;
            let expected = match place {
                0 => Refused::Open,
                _ if place == head => Refused::Epoch,
                _ => Refused::Forged,
            };
            assert_eq!(opened_headed(&mut two, &changed, head), Err(expected), "{head} {place}");
        }
        for length in 1..sealed.len() {
            assert!(opened_headed(&mut two, &sealed[..length], head).is_err());
        }
        assert_eq!(opened_headed(&mut two, &sealed, head).unwrap(), packet);
        assert_eq!(opened_headed(&mut two, &sealed, head), Err(Refused::Replayed));
        assert_eq!(opened_headed(&mut one, &sealed, head), Err(Refused::Own));
    }
}

#[test]
fn only_packets_have_open_heads_within_them() {
    let (mut one, mut two) = (of(1), of(2));
    for (packet, head) in [(&b"\x01\x05"[..], 0), (b"\x01\x05", 3), (b"\x02\x05", 1), (b"", 0), (b"", 1)] {
        let mut out = vec![0; packet.len() + GROWTH];
        assert!(!one.seal_headed(packet, head, at(1), at(2), NOW, &mut out));
        out[..1].fill(5);
        assert!(opened_headed(&mut two, &out, head).is_err());
    }
    let sealed = sealed(&mut one, b"\x01\x05");
    assert_eq!(opened_headed(&mut two, &sealed, 1), Err(Refused::Open));
}

fn opened_feedback(seal: &mut Seal, sealed: &[u8], to: Endpoint, now: u32) -> Result<Vec<u8>, Refused> {
    let mut out = vec![0; sealed.len().saturating_sub(FEEDBACK_GROWTH)];
    seal.open_feedback(sealed, at(1), to, now, &mut out).map(|()| out)
}

#[test]
fn feedback_is_readable_as_a_whole_and_nobody_elses() {
    let (mut one, mut two) = (of(1), of(2));
    let packet = b"\x01\x05\x06 and more";
    let mut feedback = vec![0; packet.len() + FEEDBACK_GROWTH];
    assert!(one.seal_feedback(packet, at(1), at(2), NOW, &mut feedback));
    assert_eq!((feedback[0], &feedback[1..packet.len()]), (5, &packet[1..]));
    for place in 0..feedback.len() {
        let mut changed = feedback.clone();
        changed[place] ^= 0x10;
        let expected = match place {
            0 => Refused::Open,
            _ if place == packet.len() => Refused::Epoch,
            _ => Refused::Forged,
        };
        assert_eq!(opened_feedback(&mut two, &changed, at(2), NOW), Err(expected), "{place}");
    }
    for length in 1..feedback.len() {
        assert!(opened_feedback(&mut two, &feedback[..length], at(2), NOW).is_err());
    }
    assert_eq!(opened_feedback(&mut two, &feedback, at(3), NOW), Err(Refused::Forged));
    assert_eq!(opened_feedback(&mut two, &feedback, at(2), NOW + FRESH_S + 1), Err(Refused::Stale));
    assert_eq!(opened_headed(&mut two, &feedback, packet.len() - 3), Err(Refused::Forged), "with another tag's bytes");
    assert_eq!(opened_feedback(&mut two, &feedback, at(2), NOW).unwrap(), packet);
    assert_eq!(opened_feedback(&mut two, &feedback, at(2), NOW), Err(Refused::Replayed));
    assert_eq!(opened_feedback(&mut one, &feedback, at(2), NOW), Err(Refused::Own));
    let other = sealed(&mut one, packet);
    assert_eq!(opened(&mut two, &other, at(1), at(2), NOW).unwrap(), packet, "they share a count");
    for wrong in [&b"\x02\x05"[..], b""] {
        assert!(!one.seal_feedback(wrong, at(1), at(2), NOW, &mut vec![0; wrong.len() + FEEDBACK_GROWTH]));
    }
    assert!(!one.seal_feedback(packet, at(1), at(2), NOW, &mut vec![0; packet.len() + FEEDBACK_GROWTH - 1]));
}

#[test]
fn nothing_forged_makes_a_sender_that_is_remembered() {
    let mut two = of(2);
    for sender in 10..1000 {
        let packet = sealed(&mut Seal::new(&[(1, &[8; 32])], sender).unwrap(), b"other secret");
        assert_eq!(opened(&mut two, &packet, at(1), at(2), NOW), Err(Refused::Forged));
    }
    assert!(two.senders.is_empty());
}

#[test]
fn members_beyond_what_is_remembered_are_refused() {
    let mut two = of(2);
    two.most = 3;
    for sender in 10..14 {
        let packet = sealed(&mut of(sender), b"");
        let expected = if sender < 13 { Ok(vec![]) } else { Err(Refused::Crowded) };
        assert_eq!(opened(&mut two, &packet, at(1), at(2), NOW), expected);
    }
}

#[test]
fn a_recording_is_of_another_time() {
    for (now, expected) in [(FRESH_S, true), (FRESH_S + 1, false), (0_u32.wrapping_sub(FRESH_S), true)] {
        let packet = sealed(&mut of(1), b"");
        assert_eq!(opened(&mut of(2), &packet, at(1), at(2), NOW.wrapping_add(now)).is_ok(), expected);
    }
    let (mut one, mut two) = (of(1), of(2));
    let packets = [sealed(&mut one, b""), sealed(&mut one, b"")];
    assert!(opened(&mut two, &packets[0], at(1), at(2), NOW).is_ok());
    assert!(opened(&mut two, &packets[1], at(1), at(2), NOW + 10 * FRESH_S).is_ok(), "who is known may be late");
    let mut three = of(3);
    let later = NOW + FRESH_S + 1;
    let before = [sealed(&mut one, b"old"), sealed(&mut one, b"new")];
    let mut first = [0; GROWTH];
    assert!(one.seal(b"", at(1), at(2), later, &mut first));
    assert!(opened(&mut three, &first, at(1), at(2), later).is_ok());
    assert_eq!(opened(&mut three, &before[0], at(1), at(2), later), Err(Refused::Stale), "a recording from before");
    assert!(opened(&mut three, &before[1], at(1), at(2), later - 1).is_ok(), "what was overtaken");
}

#[test]
fn the_newest_epoch_seals_and_those_that_are_known_open() {
    let mut new = Seal::new(&[(1, &SECRET), (2, &[9; 32])], 1).unwrap();
    let packet = sealed(&mut new, b"new");
    assert_eq!(opened(&mut of(2), &packet, at(1), at(2), NOW), Err(Refused::Epoch));
    let packet = sealed(&mut of(3), b"old");
    assert_eq!(opened(&mut new, &packet, at(1), at(2), NOW).unwrap(), b"old");
    assert!(Seal::new(&[], 1).is_none());
}

#[test]
fn epochs_change_and_nothing_comes_twice() {
    let (mut one, mut two) = (of(1), of(2));
    let first = sealed(&mut one, b"first");
    assert_eq!(opened(&mut two, &first, at(1), at(2), NOW).unwrap(), b"first");
    let both: [(u8, &[u8]); 2] = [(1, &SECRET), (2, &[9; 32])];
    assert!(one.change(&both, 3) && two.change(&[both[1], both[0]], 4));
    let second = sealed(&mut one, b"second");
    assert_eq!((second[3], sealed(&mut two, b"")[3]), (2, 1));
    assert_eq!(opened(&mut two, &second, at(1), at(2), NOW).unwrap(), b"second");
    for packet in [&first, &second] {
        assert_eq!(opened(&mut two, packet, at(1), at(2), NOW), Err(Refused::Replayed));
        assert_eq!(opened(&mut one, packet, at(1), at(2), NOW), Err(Refused::Own));
    }
    assert!(two.change(&both[1..], 5));
    assert_eq!(opened(&mut two, &first, at(1), at(2), NOW), Err(Refused::Epoch));
    assert_eq!((two.senders.len(), two.own.len()), (1, 1));
    assert!(!two.change(&[], 6));
    assert_eq!(sealed(&mut two, b"")[3], 2);
}

#[test]
fn without_numbers_left_it_goes_on_as_another_sender() {
    let (mut one, mut two) = (of(1), of(2));
    let first = sealed(&mut one, b"first");
    one.counter = u32::MAX;
    assert!(!one.seal(b"", at(1), at(2), NOW, &mut [0; GROWTH]));
    one.renew(5);
    let second = sealed(&mut one, b"first");
    assert_ne!(first[20..], second[20..]);
    for packet in [&first, &second] {
        assert!(opened(&mut two, packet, at(1), at(2), NOW).is_ok());
        assert_eq!(opened(&mut one, packet, at(1), at(2), NOW), Err(Refused::Own));
    }
}

/// The test vector of docs/security.md.
#[test]
fn the_format_stays() {
    let packet = sealed(&mut of(0x0102_0304_0506_0708), b"\x01\x05\x06\x00canopy");
    let text: String = packet.iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(&text[..40], "020506010102030405060708000000006b49d200");
    assert_eq!(text.len(), 2 * (10 + GROWTH));
    assert_eq!(&text[40..], "0becca3aa704f23a69e6c27ebcc936fa33ebed803c1af7b3f077");
}

#[test]
fn a_run_is_its_packets_one_after_the_other() {
    let (mut one, mut alone, mut two) = (of(1), of(1), of(2));
    let packets = b"\x01\x05\x06 first\x01\x05\x06second\x01\x05";
    let mut run = vec![0; packets.len() + 3 * GROWTH];
    assert!(one.seal_run(packets, 9, at(1), at(2), NOW, &mut run));
    let each: Vec<u8> = packets.chunks(9).flat_map(|packet| sealed(&mut alone, packet)).collect();
    assert_eq!(run, each);
    assert_eq!(opened_bytes(run.len(), 9 + GROWTH), packets.len());
    let mut out = vec![0; packets.len()];
    assert_eq!(two.open_run(&run, 9 + GROWTH, at(1), at(2), NOW, &mut out), []);
    assert_eq!(out, packets);
    let again = [0, 1, 2].map(|place| (place, Refused::Replayed));
    assert_eq!(two.open_run(&run, 9 + GROWTH, at(1), at(2), NOW, &mut out), again);
}

#[test]
fn what_is_wrong_in_a_run_is_refused_alone() {
    let (mut one, mut two) = (of(1), of(2));
    let mut run = vec![0; 30 + 3 * GROWTH];
    assert!(one.seal_run(&[7; 30], 10, at(1), at(2), NOW, &mut run));
    run[10 + GROWTH] = 1;
    run.truncate(2 * (10 + GROWTH) + 30);
    let mut out = vec![0; opened_bytes(run.len(), 10 + GROWTH)];
    let refused = two.open_run(&run, 10 + GROWTH, at(1), at(2), NOW, &mut out);
    assert_eq!(refused, [(1, Refused::Open), (2, Refused::Forged)]);
    assert_eq!(out[..10], [7; 10]);
    for size in 1..GROWTH + 10 {
        let mut out = vec![0; opened_bytes(run.len(), size)];
        assert_eq!(two.open_run(&run, size, at(1), at(2), NOW, &mut out).len(), run.len().div_ceil(size));
    }
}

#[test]
fn a_run_for_which_too_few_numbers_are_left_is_not_sealed() {
    let mut one = of(1);
    one.counter = u32::MAX - 2;
    let mut run = vec![0; 30 + 3 * GROWTH];
    assert!(!one.seal_run(&[7; 30], 10, at(1), at(2), NOW, &mut run));
    assert!(!one.seal_run(&[7; 20], 0, at(1), at(2), NOW, &mut run[..20 + 2 * GROWTH]));
    assert!(!one.seal_run(&[7; 20], 10, at(1), at(2), NOW, &mut run));
    assert!(one.seal_run(&[7; 20], 10, at(1), at(2), NOW, &mut run[..20 + 2 * GROWTH]));
    assert_eq!(one.left(), 0);
}
