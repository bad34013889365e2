//! The sending end of a connection: when it sends what, and its timers. What acknowledgments do is in `acknowledgment`.

mod acknowledgment;
mod config;

use link::random::Stream;

use super::control::{CongestionControl, Lost, Trouble};
use super::ecn::{Ecn, EcnSender};
use super::pacing::{window_rate, Pacer};
use super::probe::TailProbe;
use super::prr::Prr;
use super::rack::{Rack, RoundTrips};
use super::rate::RateSampler;
use super::scoreboard::{Scoreboard, Sent};
use super::transfer::Transfer;
use super::window::{Phase, Usage, Window};
use crate::tcp::rto::RtoEstimator;
use crate::tcp::segment::{Segment, Timestamps};
use crate::time::{Nanos, MICROSECOND, SECOND};

pub use config::{Counters, SenderConfig};

/// No window is larger than what RFC 7323, section 2.3, can announce: 2^30 octets.
const MOST_OUTSTANDING: u64 = 1 << 30;
/// The time-out when data begin to flow after a SYN had to be repeated (RFC 6298, rule 5.7).
const AFTER_LOST_SYN: Nanos = 3 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    SynSent { at: Nanos, times: u32 },
    Open,
    Finished { at: Nanos },
}

/// A sender of one transfer. `start` it, hand it each acknowledgment, and call `handle_timer` at `wake_at`. What it
/// sends is pushed with the codepoint for its IP header.
#[derive(Debug)]
pub struct Sender {
    stage: Stage,
    transfer: Transfer,
    window: Window,
    window_limit: u64,
    usage: Usage,
    control: Box<dyn CongestionControl>,
    board: Scoreboard,
    rack: Rack,
    tail: TailProbe,
    phase: Phase,
    prr: Prr,
    rates: RateSampler,
    pacer: Pacer,
    paces: bool,
    ecn: EcnSender,
    rto: RtoEstimator,
    min_rto: Nanos,
    min_rtt: Option<Nanos>,
    latest_rtt: Option<Nanos>,
    /// The value of the newest timestamp heard, to echo.
    echo: u32,
    retransmit_at: Option<Nanos>,
    reorder_at: Option<Nanos>,
    /// Packets wait for the pacer alone.
    pace_at: Option<Nanos>,
    counters: Counters,
}

impl Sender {
    pub fn new(config: SenderConfig) -> Self {
        let mut window = Window::new(config.initial_window.max(1.0));
        let stream = Stream::new(config.seed, "congestion control");
        let control = config.congestion_control.build(&mut window, stream);
        let most = (MOST_OUTSTANDING / u64::from(config.mss.max(1))).max(2);
        Self {
            stage: Stage::Closed,
            transfer: Transfer::new(config.mss, config.transfer),
            window_limit: config.window_limit.map_or(most, u64::from).min(most),
            usage: Usage::default(),
            board: Scoreboard::default(),
            rack: Rack::default(),
            tail: TailProbe::default(),
            phase: Phase::Open,
            prr: Prr::new(1),
            rates: RateSampler::default(),
            pacer: Pacer::new(config.congestion_control.burst()),
            paces: config.pacing || control.is_model_based(),
            ecn: EcnSender::new(config.ecn.unwrap_or(config.congestion_control.ecn())),
            // Linux bounds the variation, not the sum: a steady path keeps its distance from spurious time-outs.
            rto: RtoEstimator::new(config.min_rto, config.min_rto),
            min_rto: config.min_rto,
            min_rtt: None,
            latest_rtt: None,
            echo: 0,
            retransmit_at: None,
            reorder_at: None,
            pace_at: None,
            counters: Counters::default(),
            window,
            control,
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        if self.stage == Stage::Closed {
            self.send_syn(now, 1, out);
        }
    }

    /// An acknowledgment arrives; what it allows to be sent is pushed on `out`.
    pub fn receive(&mut self, segment: &Segment, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        match self.stage {
            Stage::SynSent { at, times } if segment.syn => {
                self.stage = Stage::Open;
                self.retransmit_at = None;
                if times == 1 {
                    self.sample_rtt(now - at);
                } else {
                    self.rto = RtoEstimator::starting_with(AFTER_LOST_SYN, self.min_rto, self.min_rto);
                }
                if !segment.ecn.ece {
                    self.ecn.mode = Ecn::Off;
                }
                self.finish_if_acknowledged(now);
            }
            Stage::Open if !segment.syn => self.handle_ack(segment, now),
            _ => return,
        }
        self.send_allowed(now, out);
    }

    /// Handles the timers that have expired.
    pub fn handle_timer(&mut self, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        let is_due = |at: Option<Nanos>| at.is_some_and(|at| at <= now);
        match self.stage {
            Stage::SynSent { times, .. } if is_due(self.retransmit_at) => {
                self.counters.timeouts += 1;
                self.rto.back_off();
                return self.send_syn(now, times + 1, out);
            }
            Stage::Open => {}
            _ => return,
        }
        if is_due(self.reorder_at) {
            self.find_losses(now);
        }
        // The later of the two is the graver; a probe at the time-out's own time comes before it.
        if is_due(self.tail.wake_at()) {
            self.send_probe(now, out);
        } else if is_due(self.retransmit_at) {
            self.time_out(now);
        }
        self.send_allowed(now, out);
    }

    pub fn wake_at(&self) -> Option<Nanos> {
        [self.retransmit_at, self.reorder_at, self.tail.wake_at(), self.pace_at].into_iter().flatten().min()
    }

    /// Congestion window in packets.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    /// Slow start threshold in packets.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    /// Packets a second at which it paces; infinite when it does not.
    pub fn pacing_rate(&self) -> f64 {
        self.pacer.rate()
    }

    pub fn srtt(&self) -> Option<Nanos> {
        self.rto.srtt()
    }

    pub fn latest_rtt(&self) -> Option<Nanos> {
        self.latest_rtt
    }

    /// The retransmission time-out in force.
    pub fn rto(&self) -> Nanos {
        self.rto.timeout()
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Octets acknowledged cumulatively.
    pub fn acknowledged(&self) -> u64 {
        self.transfer.octets_below(self.board.first())
    }

    /// When the last octet of the transfer was acknowledged.
    pub fn finished_at(&self) -> Option<Nanos> {
        match self.stage {
            Stage::Finished { at } => Some(at),
            _ => None,
        }
    }

    fn send_syn(&mut self, now: Nanos, times: u32, out: &mut Vec<(Segment, u8)>) {
        self.stage = Stage::SynSent { at: now, times };
        self.retransmit_at = Some(now + self.rto.timeout());
        out.push((Segment { syn: true, ecn: self.ecn.mode.syn_flags(), ..Segment::default() }, 0));
    }

    fn finish_if_acknowledged(&mut self, now: Nanos) {
        if self.board.first() >= self.transfer.packets() {
            self.stage = Stage::Finished { at: now };
            (self.retransmit_at, self.reorder_at, self.pace_at) = (None, None, None);
            self.tail.cancel();
        }
    }

    fn sample_rtt(&mut self, rtt: Nanos) {
        self.latest_rtt = Some(rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.rto.sample(rtt);
        self.rto.clear_backoff();
    }

    fn round_trips(&self) -> RoundTrips {
        let least = self.min_rtt.unwrap_or(0);
        RoundTrips { smoothed: self.rto.srtt().unwrap_or(least), least }
    }

    /// Packets that wait to be sent, whatever the windows say.
    fn next_packet(&self) -> Option<u64> {
        let is_allowed = self.board.outstanding() < self.window_limit && self.board.end() < self.transfer.packets();
        self.board.next_lost().or_else(|| is_allowed.then_some(self.board.end()))
    }

    fn send_allowed(&mut self, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        self.pace_at = None;
        if self.stage != Stage::Open {
            return;
        }
        self.set_pace();
        let (allowance, mut sent) = (self.pacer.allowance(now), 0);
        let end = self.board.end();
        while self.board.in_flight() < self.window.cwnd as u64 {
            let Some(packet) = self.next_packet() else { break };
            if sent == allowance {
                break;
            }
            self.send_packet(packet, now, out);
            sent += 1;
        }
        self.pacer.send(now, sent);
        let has_more = self.next_packet().is_some();
        if has_more && self.board.in_flight() < self.window.cwnd as u64 {
            self.pace_at = Some(self.pacer.next_at());
        }
        if !has_more && self.board.end() >= self.transfer.packets() || self.control.holds_back() {
            self.rates.limit_by_application(self.board.in_flight());
        }
        self.usage.note(&self.window, self.board.in_flight(), self.board.first(), self.board.end());
        if self.board.end() > end {
            self.schedule_probe(now);
        }
    }

    fn set_pace(&mut self) {
        if let (true, Some(srtt)) = (self.paces, self.rto.srtt()) {
            let of_window = || window_rate(self.window.cwnd, self.window.ssthresh, srtt);
            self.pacer.set_rate(self.window.pacing_rate.unwrap_or_else(of_window).max(f64::MIN_POSITIVE));
        }
    }

    fn send_packet(&mut self, packet: u64, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        let in_flight = self.board.in_flight();
        let snapshot = self.rates.send(now, in_flight);
        if in_flight == 0 {
            self.control.restarted(&mut self.window, now, snapshot.is_app_limited);
        }
        let again = self.board.send(packet, now, snapshot);
        self.counters.packets_sent += 1;
        self.counters.retransmissions += u64::from(again);
        self.prr.send();
        if self.retransmit_at.is_none() || again && packet == self.board.first() {
            self.retransmit_at = Some(now + self.rto.timeout());
        }
        let timestamps = Some(Timestamps { value: (now / MICROSECOND) as u32, echo: self.echo });
        let ecn = self.ecn.flags(again);
        out.push((Segment { timestamps, ecn, ..self.transfer.segment(packet) }, self.ecn.mode.codepoint(again)));
    }

    /// Only where nothing else tells of losses (RFC 8985, section 7.2).
    fn schedule_probe(&mut self, now: Nanos) {
        if self.phase == Phase::Open && self.board.sacked() == 0 {
            self.tail.schedule(now, self.rto.srtt(), self.board.outstanding(), self.retransmit_at);
        } else {
            self.tail.cancel();
        }
    }

    /// A new packet, or the newest one again (RFC 8985, section 7.3).
    fn send_probe(&mut self, now: Nanos, out: &mut Vec<(Segment, u8)>) {
        let new = self.next_packet().filter(|&packet| packet == self.board.end());
        let packet = new.unwrap_or(self.board.end().saturating_sub(1));
        self.tail.send(packet + 1, new.is_none());
        self.counters.tail_probes += 1;
        self.send_packet(packet, now, out);
        self.retransmit_at = Some(now + self.rto.timeout());
    }

    fn time_out(&mut self, now: Nanos) {
        self.counters.timeouts += 1;
        self.rto.back_off();
        self.retransmit_at = None;
        self.tail.forget();
        // One reduction for a window: recovery has made its own (Linux's tcp_enter_loss), and a packet that the timer has
        // sent again makes none (RFC 5681, section 3.1).
        let is_reduced = match self.phase {
            Phase::Open => false,
            Phase::Reducing { .. } | Phase::Recovering { .. } => true,
            Phase::TimedOut { oldest, .. } => oldest == self.board.first(),
        };
        self.control.timed_out(&mut self.window, is_reduced, now);
        let times = self.round_trips();
        let Self { rack, board, control, window, rates, .. } = self;
        rack.time_out(board, now, times, |_, sent| tell_lost(control, window, rates, sent, now));
        self.reorder_at = None;
        // The oldest leaves at once (RFC 5681, section 3.1), beside what may still be in flight.
        self.window.cwnd = self.board.in_flight() as f64 + 1.0;
        self.phase = Phase::TimedOut { until: self.board.end(), oldest: self.board.first() };
        self.ecn.reduce();
    }

    /// Deems packets lost that are overdue; how many.
    fn find_losses(&mut self, now: Nanos) -> u64 {
        let is_recovering = matches!(self.phase, Phase::Recovering { .. } | Phase::TimedOut { .. });
        let times = self.round_trips();
        let mut count = 0;
        let Self { rack, board, control, window, rates, .. } = self;
        self.reorder_at = rack.detect(board, now, is_recovering, times, |_, sent| {
            count += 1;
            tell_lost(control, window, rates, sent, now);
        });
        if count > 0 && !is_recovering {
            self.counters.fast_retransmits += 1;
            self.reduce(Trouble::Loss, now);
            self.phase = Phase::Recovering { until: self.board.end() };
            self.tail.forget();
            if !self.control.is_model_based() {
                self.window.cwnd = self.prr.window(0, self.board.in_flight(), self.window.ssthresh, false);
            }
        }
        count
    }

    /// A congestion event begins; the window falls while acknowledgments come.
    fn reduce(&mut self, trouble: Trouble, now: Nanos) {
        // A reduction that goes on has cut the window already, perhaps not to its threshold yet.
        if matches!(self.phase, Phase::Reducing { .. }) && !self.control.is_model_based() {
            self.window.cwnd = self.window.ssthresh;
        }
        self.control.congested(&mut self.window, trouble, now);
        self.prr = Prr::new(self.board.outstanding());
        self.phase = Phase::Reducing { until: self.board.end() };
        self.ecn.reduce();
    }
}

fn tell_lost(
    control: &mut Box<dyn CongestionControl>,
    window: &mut Window,
    rates: &mut RateSampler,
    sent: &Sent,
    now: Nanos,
) {
    rates.lose();
    let (total_delivered, total_lost) = (rates.delivered(), rates.lost());
    control.lost(window, &Lost { now, snapshot: sent.snapshot, total_delivered, total_lost });
}
