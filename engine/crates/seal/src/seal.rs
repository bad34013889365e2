//! An endpoint's sealed packets, both ways.

use std::collections::HashMap;
use std::net::SocketAddrV4;

use ring::aead::{Aad, LessSafeKey};
use ring::hkdf::Prk;

use crate::key;
use crate::window::Window;

/// The first octet; packets with the common header begin with 1, those of LCT with 0x10 to 0x1f.
const VERSION: u8 = 2;
/// The common header's.
const OPEN_VERSION: u8 = 1;
/// The same of a packet whose head stays open.
const HEADED_VERSION: u8 = 5;
const HEADER: usize = 20;
const TAG: usize = 16;
const ADDRESSES: usize = 12;
/// What a packet is longer by.
pub const GROWTH: usize = HEADER + TAG;
/// Kerberos' bound on how wrong clocks may be, seconds (RFC 4120, 1.6): a sender that is heard for the first time must
/// have sealed its packet so lately.
pub const FRESH_S: u32 = 300;
/// Senders that are remembered, 1.2 KB each; only members can make them more (ours).
pub const MOST_SENDERS: usize = 16_384;

/// An address and port, as the wire has them.
pub type Endpoint = SocketAddrV4;

/// Why a packet was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not sealed at all.
    Open,
    /// Sealed in an epoch that is not known.
    Epoch,
    /// Not made by a member, or not for here, or changed on its way.
    Forged,
    /// It came before, or comes too late to know.
    Replayed,
    /// A member's, as the first that is heard of it, from another time.
    Stale,
    /// This endpoint's own.
    Own,
    /// More senders than are remembered.
    Crowded,
}

struct Sender {
    key: LessSafeKey,
    window: Window,
}

/// Seals what one endpoint sends, and opens what comes to it.
pub struct Seal {
    epochs: Vec<(u8, Prk)>,
    senders: HashMap<(u8, u64), Box<Sender>>,
    /// Numbers that it has sealed under, with their epochs.
    own: Vec<(u8, u64)>,
    key: LessSafeKey,
    counter: u32,
    most: usize,
}

impl Seal {
    /// `epochs`: number and secret of each that is opened, of which the last one seals. `sender`: random. None: there is
    /// no epoch.
    pub fn new(epochs: &[(u8, &[u8])], sender: u64) -> Option<Self> {
        let epochs: Vec<_> = epochs.iter().map(|(number, secret)| (*number, key::extract(secret))).collect();
        let (number, last) = epochs.last()?;
        let (key, own) = (key::of_sender(last, sender), vec![(*number, sender)]);
        Some(Self { epochs, senders: HashMap::new(), own, key, counter: 0, most: MOST_SENDERS })
    }

    /// Go on with these epochs, as another sender: nonces count from 0 again. What was heard of senders in epochs that
    /// stay is remembered, the others are forgotten. Whether it was: not without an epoch.
    pub fn change(&mut self, epochs: &[(u8, &[u8])], sender: u64) -> bool {
        let Some(mut next) = Self::new(epochs, sender) else {
            return false;
        };
        let stays = |number: u8| epochs.iter().any(|(one, _)| *one == number);
        next.senders = std::mem::take(&mut self.senders);
        next.senders.retain(|(number, _), _| stays(*number));
        self.own.retain(|(number, _)| stays(*number));
        next.own.splice(..0, self.own.drain(..));
        next.most = self.most;
        *self = next;
        true
    }

    /// Go on as another sender, for this one has no numbers left.
    pub fn renew(&mut self, sender: u64) {
        let (number, last) = &self.epochs[self.epochs.len() - 1];
        self.own.push((*number, sender));
        self.key = key::of_sender(last, sender);
        self.counter = 0;
    }

    /// Whether `seal` needs another sender first.
    pub fn is_exhausted(&self) -> bool {
        self.counter == u32::MAX
    }

    /// Seal a packet into `sealed`, which is longer by `GROWTH`. `time_s` is Unix time, modulo 2^32. Whether it was.
    pub fn seal(
        &mut self,
        packet: &[u8],
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        sealed: &mut [u8],
    ) -> bool {
        if self.is_exhausted() || sealed.len() != packet.len() + GROWTH {
            return false;
        }
        let (protocol, kind) = match packet {
            [OPEN_VERSION, protocol, kind, ..] => (*protocol, *kind),
            _ => (0, 0),
        };
        let (header, rest) = sealed.split_at_mut(HEADER);
        let (body, end) = rest.split_at_mut(packet.len());
        header[..4].copy_from_slice(&[VERSION, protocol, kind, self.epochs[self.epochs.len() - 1].0]);
        header[4..12].copy_from_slice(&self.own[self.own.len() - 1].1.to_be_bytes());
        header[12..16].copy_from_slice(&self.counter.to_be_bytes());
        header[16..].copy_from_slice(&time_s.to_be_bytes());
        body.copy_from_slice(packet);
        let known = known_of(header, source, destination);
        let Ok(tag) = self.key.seal_in_place_separate_tag(key::nonce(self.counter), Aad::from(&known[..]), body) else {
            return false;
        };
        end.copy_from_slice(tag.as_ref());
        self.counter += 1;
        true
    }

    /// Likewise, with the packet's first `head` bytes, which have a common header, as they are but for the version: what
    /// says who sealed it stands behind them.
    pub fn seal_headed(
        &mut self,
        packet: &[u8],
        head: usize,
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        sealed: &mut [u8],
    ) -> bool {
        let is_packet = packet.first() == Some(&OPEN_VERSION) && (1..=packet.len()).contains(&head);
        if self.is_exhausted() || sealed.len() != packet.len() + GROWTH || !is_packet {
            return false;
        }
        let (known, rest) = sealed.split_at_mut(head + HEADER);
        let (body, end) = rest.split_at_mut(packet.len() - head);
        known[..head].copy_from_slice(&packet[..head]);
        known[0] = HEADED_VERSION;
        let who = &mut known[head..];
        who[..4].copy_from_slice(&[self.epochs[self.epochs.len() - 1].0, 0, 0, 0]);
        who[4..12].copy_from_slice(&self.own[self.own.len() - 1].1.to_be_bytes());
        who[12..16].copy_from_slice(&self.counter.to_be_bytes());
        who[16..].copy_from_slice(&time_s.to_be_bytes());
        body.copy_from_slice(&packet[head..]);
        let known = known_of(known, source, destination);
        let Ok(tag) = self.key.seal_in_place_separate_tag(key::nonce(self.counter), Aad::from(&known[..]), body) else {
            return false;
        };
        end.copy_from_slice(tag.as_ref());
        self.counter += 1;
        true
    }

    /// Open what came into `packet`, which is shorter by `GROWTH`.
    pub fn open(
        &mut self,
        sealed: &[u8],
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        packet: &mut [u8],
    ) -> Result<(), Refused> {
        if sealed.first() != Some(&VERSION) {
            return Err(Refused::Open);
        }
        if sealed.len() < GROWTH || packet.len() != sealed.len() - GROWTH {
            return Err(Refused::Forged);
        }
        let (header, rest) = sealed.split_at(HEADER);
        let (body, tag) = rest.split_at(packet.len());
        packet.copy_from_slice(body);
        self.take(header, header[3], &known_of(header, source, destination), tag, time_s, packet)
    }

    /// Likewise of what `seal_headed` made.
    pub fn open_headed(
        &mut self,
        sealed: &[u8],
        head: usize,
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        packet: &mut [u8],
    ) -> Result<(), Refused> {
        if sealed.first() != Some(&HEADED_VERSION) {
            return Err(Refused::Open);
        }
        if sealed.len() < GROWTH || packet.len() != sealed.len() - GROWTH || !(1..=packet.len()).contains(&head) {
            return Err(Refused::Forged);
        }
        let (header, rest) = sealed.split_at(head + HEADER);
        let (body, tag) = rest.split_at(packet.len() - head);
        packet[..head].copy_from_slice(&header[..head]);
        packet[0] = OPEN_VERSION;
        packet[head..].copy_from_slice(body);
        let known = known_of(header, source, destination);
        self.take(&header[head..], header[head], &known, tag, time_s, &mut packet[head..])
    }

    /// Decrypt a body of who is named in `header`, and note that it came.
    fn take(
        &mut self,
        header: &[u8],
        number: u8,
        known: &[u8],
        tag: &[u8],
        time_s: u32,
        body: &mut [u8],
    ) -> Result<(), Refused> {
        let sender = u64::from_be_bytes(header[4..12].try_into().expect("8 bytes"));
        let counter = u32::from_be_bytes(header[12..16].try_into().expect("4 bytes"));
        let epoch = &self.epochs.iter().find(|(known, _)| *known == number).ok_or(Refused::Epoch)?.1;
        if let Some(sender) = self.senders.get_mut(&(number, sender)) {
            if !sender.window.is_new(counter) {
                return Err(Refused::Replayed);
            }
            open(&sender.key, counter, known, tag, body)?;
            sender.window.take(counter);
            return Ok(());
        }
        if self.own.contains(&(number, sender)) {
            return Err(Refused::Own);
        }
        let key = key::of_sender(epoch, sender);
        open(&key, counter, known, tag, body)?;
        let sealed_s = u32::from_be_bytes(header[16..20].try_into().expect("4 bytes"));
        if time_s.wrapping_sub(sealed_s).min(sealed_s.wrapping_sub(time_s)) > FRESH_S {
            return Err(Refused::Stale);
        }
        if self.senders.len() >= self.most {
            return Err(Refused::Crowded);
        }
        let mut window = Window::default();
        window.take(counter);
        self.senders.insert((number, sender), Box::new(Sender { key, window }));
        Ok(())
    }
}

fn open(key: &LessSafeKey, counter: u32, known: &[u8], tag: &[u8], packet: &mut [u8]) -> Result<(), Refused> {
    let tag = tag.try_into().map_err(|_| Refused::Forged)?;
    key.open_in_place_separate_tag(key::nonce(counter), Aad::from(known), tag, packet, 0..)
        .map(|_| ())
        .map_err(|_| Refused::Forged)
}

/// What is authenticated beside the packet.
fn known_of(header: &[u8], source: Endpoint, destination: Endpoint) -> Vec<u8> {
    let mut known = Vec::with_capacity(header.len() + ADDRESSES);
    known.extend_from_slice(header);
    for address in [source, destination] {
        known.extend_from_slice(&address.ip().octets());
        known.extend_from_slice(&address.port().to_be_bytes());
    }
    known
}

#[cfg(test)]
mod tests {
    use super::{Endpoint, Refused, Seal, FRESH_S, GROWTH};

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
}
