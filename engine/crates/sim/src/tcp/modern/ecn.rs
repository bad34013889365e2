//! ECN at both ends: one echo until the sender has answered (RFC 3168), or counts of what was marked (a model of AccECN,
//! draft-ietf-tcpm-accurate-ecn: the option's count of octets that came marked).

use crate::tcp::segment::{EcnFlags, Segment};
use link::ecn::{CONGESTION_EXPERIENCED, ECN_MASK, ECT_0, ECT_1};

/// What a connection does with marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Packets are not ECN capable.
    #[default]
    Off,
    /// ECT(0), and one congestion event for each round trip with marks (RFC 3168).
    Classic,
    /// ECT(0), and how much was marked (RFC 8257, with AccECN's counts in place of its echo).
    Accurate,
    /// ECT(1), and how much was marked (RFC 9331).
    Scalable,
}

/// AccECN's counters have 24 bits.
const COUNTER_MASK: u32 = 0x00ff_ffff;

impl Ecn {
    /// The IP header's codepoint of a packet of data. RFC 3168, section 6.1.5, has none on retransmissions.
    pub fn codepoint(self, is_retransmission: bool) -> u8 {
        match self {
            Ecn::Off => 0,
            Ecn::Classic if is_retransmission => 0,
            Ecn::Classic | Ecn::Accurate => ECT_0,
            Ecn::Scalable => ECT_1,
        }
    }

    /// The flags of the SYN that asks for it.
    pub fn syn_flags(self) -> EcnFlags {
        match self {
            Ecn::Off => EcnFlags::default(),
            Ecn::Classic => EcnFlags { ece: true, cwr: true, ae: false },
            Ecn::Accurate | Ecn::Scalable => EcnFlags { ece: true, cwr: true, ae: true },
        }
    }
}

/// The sender's side.
#[derive(Debug, Default)]
pub struct EcnSender {
    pub mode: Ecn,
    /// The next new packet says that the window was reduced.
    answers: bool,
    marked: u32,
}

impl EcnSender {
    pub fn new(mode: Ecn) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Octets that an acknowledgment reports as marked for the first time; with one echo a congestion event counts as
    /// one octet.
    pub fn hear(&mut self, ack: &Segment) -> u32 {
        match (self.mode, ack.marked_octets) {
            (Ecn::Off, _) => 0,
            (Ecn::Classic, _) => u32::from(ack.ecn.ece),
            (_, Some(count)) => {
                // A count that lies behind came out of order.
                let news = count.wrapping_sub(self.marked) & COUNTER_MASK;
                let news = if news > COUNTER_MASK / 2 { 0 } else { news };
                self.marked = self.marked.wrapping_add(news) & COUNTER_MASK;
                news
            }
            (_, None) => 0,
        }
    }

    /// The window is reduced: the receiver is to be told (RFC 3168, section 6.1.2).
    pub fn reduce(&mut self) {
        self.answers = self.mode == Ecn::Classic;
    }

    /// The flags of a packet of data.
    pub fn flags(&mut self, is_retransmission: bool) -> EcnFlags {
        let cwr = !is_retransmission && std::mem::take(&mut self.answers);
        EcnFlags { cwr, ..EcnFlags::default() }
    }
}

/// The receiver's side.
#[derive(Debug, Default)]
pub struct EcnReceiver {
    mode: Ecn,
    echoes: bool,
    last_was_marked: bool,
    marked: u32,
}

impl EcnReceiver {
    /// A SYN says what its sender does.
    pub fn open(syn: &Segment) -> Self {
        let mode = match syn.ecn {
            EcnFlags { ece: true, cwr: true, ae: true } => Ecn::Accurate,
            EcnFlags { ece: true, cwr: true, ae: false } => Ecn::Classic,
            _ => Ecn::Off,
        };
        Self { mode, ..Self::default() }
    }

    /// A packet of data comes with this codepoint: whether it must be acknowledged at once, for marks begin or end
    /// (RFC 8257, section 3.2; AccECN's change-triggered acknowledgments).
    pub fn receive(&mut self, segment: &Segment, codepoint: u8) -> bool {
        let is_marked = codepoint & ECN_MASK == CONGESTION_EXPERIENCED && self.mode != Ecn::Off;
        // CWR ends the echo, and a mark on the same packet begins another.
        self.echoes = (self.echoes && !segment.ecn.cwr) || is_marked;
        if is_marked {
            self.marked = self.marked.wrapping_add(segment.len) & COUNTER_MASK;
        }
        std::mem::replace(&mut self.last_was_marked, is_marked) != is_marked
    }

    /// Puts on an acknowledgment what it has to report.
    pub fn report(&self, ack: &mut Segment) {
        match self.mode {
            Ecn::Off => {}
            Ecn::Classic => ack.ecn.ece = self.echoes,
            Ecn::Accurate | Ecn::Scalable => ack.marked_octets = Some(self.marked),
        }
        if ack.syn {
            // The SYN's answer agrees (RFC 3168, section 6.1.1).
            ack.ecn = EcnFlags { ece: self.mode != Ecn::Off, cwr: false, ae: self.mode == Ecn::Accurate };
            ack.marked_octets = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CE: u8 = CONGESTION_EXPERIENCED;

    fn opened(mode: Ecn) -> (EcnSender, EcnReceiver) {
        let syn = Segment { syn: true, ecn: mode.syn_flags(), ..Segment::default() };
        (EcnSender::new(mode), EcnReceiver::open(&syn))
    }

    fn ack(receiver: &EcnReceiver) -> Segment {
        let mut ack = Segment::default();
        receiver.report(&mut ack);
        ack
    }

    fn data(ecn: EcnFlags) -> Segment {
        Segment { len: 1448, ecn, ..Segment::default() }
    }

    #[test]
    fn a_mark_is_echoed_until_the_window_was_reduced() {
        let (mut sender, mut receiver) = opened(Ecn::Classic);
        assert!(receiver.receive(&data(EcnFlags::default()), CE));
        for _ in 0..3 {
            assert_eq!(sender.hear(&ack(&receiver)), 1);
            receiver.receive(&data(EcnFlags::default()), ECT_0);
        }
        sender.reduce();
        assert!(!sender.flags(true).cwr); // not on a retransmission
        let first = sender.flags(false);
        assert!(first.cwr && !sender.flags(false).cwr);
        receiver.receive(&data(first), ECT_0);
        assert_eq!(sender.hear(&ack(&receiver)), 0);
        // A mark on the packet with CWR starts the echo again.
        receiver.receive(&data(EcnFlags { cwr: true, ..EcnFlags::default() }), CE);
        assert_eq!(sender.hear(&ack(&receiver)), 1);
    }

    #[test]
    fn counts_survive_lost_and_late_acknowledgments_and_their_wrap() {
        let (mut sender, mut receiver) = opened(Ecn::Scalable);
        let mut heard = 0u64;
        let mut late = ack(&receiver);
        for packet in 0..40_000u64 {
            receiver.receive(&data(EcnFlags::default()), if packet % 2 == 0 { CE } else { ECT_1 });
            if packet % 7 == 0 {
                heard += u64::from(sender.hear(&ack(&receiver)));
                heard += u64::from(sender.hear(&late));
                late = ack(&receiver);
            }
        }
        heard += u64::from(sender.hear(&ack(&receiver)));
        assert_eq!(heard, 20_000 * 1448);
    }

    #[test]
    fn marks_of_who_did_not_ask_are_not_reported() {
        let (mut sender, mut receiver) = opened(Ecn::Off);
        assert!(!receiver.receive(&data(EcnFlags::default()), CE));
        assert_eq!((ack(&receiver), sender.hear(&ack(&receiver))), (Segment::default(), 0));
    }
}
