//! An endpoint's sealed packets, both ways.

use std::collections::HashMap;

use ring::aead::{Aad, LessSafeKey};
use ring::hkdf::Prk;

use crate::key;
use crate::who::{known_of, Endpoint, Who, WHO};
use crate::window::Window;

/// The first octet; packets with the common header begin with 1, those of LCT with 0x10 to 0x1f.
const VERSION: u8 = 2;
/// The common header's.
const OPEN_VERSION: u8 = 1;
/// The same of a packet whose head stays open.
const HEADED_VERSION: u8 = 5;
const HEADER: usize = 20;
const TAG: usize = 16;
/// What a packet is longer by.
pub const GROWTH: usize = HEADER + TAG;
/// Of the tag of feedback that is readable as a whole: 64 bits, which SP 800-38D, appendix C, has for packets below 2 KiB
/// of which no more than 2^32 are tried under a key.
const SHORT_TAG: usize = 8;
/// What such feedback is longer by.
pub const FEEDBACK_GROWTH: usize = 1 + WHO + SHORT_TAG;
/// Kerberos' bound on how wrong clocks may be, seconds (RFC 4120, 1.6): a sender that is heard for the first time must
/// have sealed its packet so lately, and so those before it that come later.
pub const FRESH_S: u32 = 300;
/// Senders that are remembered, 1.2 KB each; only members can make them more (ours).
pub const MOST_SENDERS: usize = 16_384;

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
    /// A member's, as the first that is heard of it or from before that, from another time.
    Stale,
    /// This endpoint's own.
    Own,
    /// More senders than are remembered.
    Crowded,
}

struct Sender {
    key: LessSafeKey,
    window: Window,
    /// Of the packet that was heard first; those before it may be as old as any.
    first: u32,
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

    /// Packets that may be sealed before it has to go on as another sender.
    pub fn left(&self) -> u32 {
        u32::MAX - self.counter
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
        if self.left() == 0 || sealed.len() != packet.len() + GROWTH {
            return false;
        }
        let (protocol, kind) = match packet {
            [OPEN_VERSION, protocol, kind, ..] => (*protocol, *kind),
            _ => (0, 0),
        };
        let (header, rest) = sealed.split_at_mut(HEADER);
        let (body, end) = rest.split_at_mut(packet.len());
        let who = self.who(time_s);
        header[..4].copy_from_slice(&[VERSION, protocol, kind, who.epoch]);
        who.write(&mut header[4..]);
        body.copy_from_slice(packet);
        self.shut(header, source, destination, body, end)
    }

    /// Seal a run of packets of `size` bytes each, of which the last may be shorter, into one of sealed packets. Whether
    /// it was: not when there are too few numbers left for all of them, or a length is wrong.
    pub fn seal_run(
        &mut self,
        packets: &[u8],
        size: usize,
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        sealed: &mut [u8],
    ) -> bool {
        let count = packets.len().div_ceil(size.max(1));
        if size == 0 || count > self.left() as usize || sealed.len() != packets.len() + count * GROWTH {
            return false;
        }
        packets
            .chunks(size)
            .zip(sealed.chunks_mut(size + GROWTH))
            .all(|(packet, sealed)| self.seal(packet, source, destination, time_s, sealed))
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
        if self.left() == 0 || sealed.len() != packet.len() + GROWTH || !is_packet {
            return false;
        }
        let (known, rest) = sealed.split_at_mut(head + HEADER);
        let (body, end) = rest.split_at_mut(packet.len() - head);
        known[..head].copy_from_slice(&packet[..head]);
        known[0] = HEADED_VERSION;
        let who = self.who(time_s);
        known[head..head + 4].copy_from_slice(&[who.epoch, 0, 0, 0]);
        who.write(&mut known[head + 4..]);
        body.copy_from_slice(&packet[head..]);
        self.shut(known, source, destination, body, end)
    }

    /// Likewise of feedback that stays readable as a whole: longer by `FEEDBACK_GROWTH`, with a short tag.
    pub fn seal_feedback(
        &mut self,
        packet: &[u8],
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        sealed: &mut [u8],
    ) -> bool {
        if self.left() == 0 || sealed.len() != packet.len() + FEEDBACK_GROWTH || packet.first() != Some(&OPEN_VERSION) {
            return false;
        }
        let (known, end) = sealed.split_at_mut(packet.len() + 1 + WHO);
        known[..packet.len()].copy_from_slice(packet);
        known[0] = HEADED_VERSION;
        let who = self.who(time_s);
        known[packet.len()] = who.epoch;
        who.write(&mut known[packet.len() + 1..]);
        self.shut(known, source, destination, &mut [], end)
    }

    /// Encrypt a body, and put as much of its tag as there is room for into `end`. Whether it was.
    fn shut(
        &mut self,
        header: &[u8],
        source: Endpoint,
        destination: Endpoint,
        body: &mut [u8],
        end: &mut [u8],
    ) -> bool {
        let known = known_of(header, source, destination);
        let Ok(tag) = self.key.seal_in_place_separate_tag(key::nonce(self.counter), Aad::from(&known[..]), body) else {
            return false;
        };
        end.copy_from_slice(&tag.as_ref()[..end.len()]);
        self.counter += 1;
        true
    }

    fn who(&self, time_s: u32) -> Who {
        let (epoch, sender) = self.own[self.own.len() - 1];
        Who { epoch, sender, counter: self.counter, sealed_s: time_s }
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
        let known = known_of(header, source, destination);
        self.take(&Who::read(header[3], &header[4..]), time_s, |key, counter| open(key, counter, &known, tag, packet))
    }

    /// Open a run of packets of `size` bytes each, of which the last may be shorter, into `packets`: each at the place of
    /// one that is shorter by `GROWTH` (`opened_bytes` in all). Which of them are refused, and why; theirs is no packet's.
    pub fn open_run(
        &mut self,
        sealed: &[u8],
        size: usize,
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        mut packets: &mut [u8],
    ) -> Vec<(usize, Refused)> {
        let mut refused = Vec::new();
        for (place, sealed) in sealed.chunks(size).enumerate() {
            let (packet, rest) = packets.split_at_mut(sealed.len().saturating_sub(GROWTH));
            packets = rest;
            if let Err(why) = self.open(sealed, source, destination, time_s, packet) {
                refused.push((place, why));
            }
        }
        refused
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
        let who = Who::read(header[head], &header[head + 4..]);
        self.take(&who, time_s, |key, counter| open(key, counter, &known, tag, &mut packet[head..]))
    }

    /// Likewise of what `seal_feedback` made.
    pub fn open_feedback(
        &mut self,
        sealed: &[u8],
        source: Endpoint,
        destination: Endpoint,
        time_s: u32,
        packet: &mut [u8],
    ) -> Result<(), Refused> {
        if sealed.first() != Some(&HEADED_VERSION) {
            return Err(Refused::Open);
        }
        if sealed.len() <= FEEDBACK_GROWTH || packet.len() != sealed.len() - FEEDBACK_GROWTH {
            return Err(Refused::Forged);
        }
        let (header, tag) = sealed.split_at(packet.len() + 1 + WHO);
        packet.copy_from_slice(&header[..packet.len()]);
        packet[0] = OPEN_VERSION;
        let known = known_of(header, source, destination);
        let who = Who::read(header[packet.len()], &header[packet.len() + 1..]);
        // Compared as numbers, so that the time it takes says nothing of where they differ.
        let tag = u64::from_ne_bytes(tag.try_into().map_err(|_| Refused::Forged)?);
        self.take(&who, time_s, |key, counter| match u64::from_ne_bytes(short_tag(key, counter, &known)?) == tag {
            true => Ok(()),
            false => Err(Refused::Forged),
        })
    }

    /// Have a packet checked with the key of who is named, and note that it came.
    fn take(
        &mut self,
        who: &Who,
        time_s: u32,
        check: impl FnOnce(&LessSafeKey, u32) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let &Who { epoch: number, sender, counter, sealed_s } = who;
        let epoch = &self.epochs.iter().find(|(known, _)| *known == number).ok_or(Refused::Epoch)?.1;
        let is_fresh = time_s.wrapping_sub(sealed_s).min(sealed_s.wrapping_sub(time_s)) <= FRESH_S;
        if let Some(sender) = self.senders.get_mut(&(number, sender)) {
            if !sender.window.is_new(counter) {
                return Err(Refused::Replayed);
            }
            check(&sender.key, counter)?;
            if counter < sender.first && !is_fresh {
                return Err(Refused::Stale);
            }
            sender.window.take(counter);
            return Ok(());
        }
        if self.own.contains(&(number, sender)) {
            return Err(Refused::Own);
        }
        let key = key::of_sender(epoch, sender);
        check(&key, counter)?;
        if !is_fresh {
            return Err(Refused::Stale);
        }
        if self.senders.len() >= self.most {
            return Err(Refused::Crowded);
        }
        let mut window = Window::default();
        window.take(counter);
        self.senders.insert((number, sender), Box::new(Sender { key, window, first: counter }));
        Ok(())
    }
}

fn open(key: &LessSafeKey, counter: u32, known: &[u8], tag: &[u8], packet: &mut [u8]) -> Result<(), Refused> {
    let tag = tag.try_into().map_err(|_| Refused::Forged)?;
    key.open_in_place_separate_tag(key::nonce(counter), Aad::from(known), tag, packet, 0..)
        .map(|_| ())
        .map_err(|_| Refused::Forged)
}

/// Of what is known and nothing else: the first half of what AES-GCM makes of no text.
fn short_tag(key: &LessSafeKey, counter: u32, known: &[u8]) -> Result<[u8; SHORT_TAG], Refused> {
    let tag =
        key.seal_in_place_separate_tag(key::nonce(counter), Aad::from(known), &mut []).map_err(|_| Refused::Forged)?;
    Ok(tag.as_ref()[..SHORT_TAG].try_into().expect("8 of 16 bytes"))
}

/// Bytes of what is in a run of sealed packets.
pub fn opened_bytes(sealed: usize, size: usize) -> usize {
    sealed / size * size.saturating_sub(GROWTH) + (sealed % size).saturating_sub(GROWTH)
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
