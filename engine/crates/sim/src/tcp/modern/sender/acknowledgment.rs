//! What an acknowledgment does: what has arrived, what is lost, and what that means for the window.

use super::super::control::Trouble;
use super::super::probe::Heard;
use super::super::window::{Ack, Phase};
use super::Sender;
use crate::tcp::segment::Segment;
use crate::time::{Nanos, MICROSECOND};

/// What an acknowledgment brings news of.
#[derive(Debug, Default)]
struct News {
    /// Packets that have arrived.
    delivered: u64,
    /// Packets that it acknowledges cumulatively.
    advanced: u64,
    /// When the oldest and the newest of those were sent that were sent once, and are acknowledged cumulatively; and
    /// the newest of all.
    oldest: Option<Nanos>,
    newest: Option<Nanos>,
    /// The first block names a packet that had arrived before.
    is_duplicate: bool,
}

impl Sender {
    pub(super) fn handle_ack(&mut self, segment: &Segment, now: Nanos) {
        let first = self.board.first();
        let end = self.transfer.packets_below(segment.ack, first).min(self.board.end());
        if end < first {
            return;
        }
        if let Some(stamps) = segment.timestamps {
            self.echo = stamps.value;
        }
        let prior_in_flight = self.board.in_flight();
        let window_limited = self.usage.is_limiting(&self.window);
        let news = self.take_in(segment, end, now);
        self.measure(&news, segment, now);
        if news.is_duplicate {
            self.rack.hear_duplicate(self.board.first(), self.board.end());
        }
        let heard = Heard {
            first: self.board.first(),
            is_duplicate: news.is_duplicate,
            is_bare_repeat: news.advanced == 0 && segment.sack.as_slice().is_empty(),
        };
        let tail_was_lost = self.tail.acknowledged(heard);
        let marked = self.ecn.hear(segment);
        self.end_phase();
        let lost = self.find_losses(now);
        if self.phase == Phase::Open && (tail_was_lost || marked > 0) {
            let trouble = if marked > 0 { Trouble::Marks } else { Trouble::Loss };
            self.counters.mark_responses += u64::from(marked > 0);
            self.reduce(trouble, now);
        }
        let may_grow = matches!(self.phase, Phase::Open | Phase::TimedOut { .. }) && window_limited;
        let ack = Ack {
            now,
            delivered: news.delivered,
            first: self.board.first(),
            end: self.board.end(),
            lost,
            prior_in_flight,
            in_flight: self.board.in_flight(),
            rtt: news.newest.map(|at| now - at),
            srtt: self.rto.srtt(),
            rate: self.rates.sample(self.min_rtt.unwrap_or(0)),
            total_delivered: self.rates.delivered(),
            total_lost: self.rates.lost(),
            marked: f64::from(marked) / self.transfer.mss() as f64,
            phase: self.phase,
            may_grow: may_grow && news.delivered > 0,
            window_limited,
        };
        self.control.acknowledged(&mut self.window, &ack);
        let is_reducing = matches!(self.phase, Phase::Reducing { .. } | Phase::Recovering { .. });
        if is_reducing && news.delivered > 0 && !self.control.is_model_based() {
            let advances = news.advanced > 0 && lost == 0;
            self.window.cwnd = self.prr.window(news.delivered, ack.in_flight, self.window.ssthresh, advances);
        }
        self.window.cwnd = self.window.cwnd.min(self.window_limit as f64).max(1.0);
        self.set_timers(&news, now);
        self.finish_if_acknowledged(now);
    }

    fn take_in(&mut self, segment: &Segment, end: u64, now: Nanos) -> News {
        let mut news = News { advanced: end - self.board.first(), ..News::default() };
        let (old_first, blocks) = (self.board.first(), segment.sack.as_slice());
        let least = self.min_rtt.unwrap_or(0);
        let Self { board, rack, rates, transfer, .. } = self;
        let below = |wire| transfer.packets_below(wire, end);
        // RFC 2883, section 4: below the acknowledgment, or within the second block.
        news.is_duplicate = blocks.first().is_some_and(|&(start, stop)| {
            let (start, stop) = (below(start), below(stop));
            let inside = blocks.get(1).is_some_and(|&(low, high)| below(low) <= start && stop <= below(high));
            stop <= end && start < stop || inside
        });
        board.acknowledge(end, |packet, sent| {
            news.delivered += 1;
            rack.deliver(packet, sent, now, least);
            rates.deliver(sent, now);
            if sent.times == 1 {
                news.oldest.get_or_insert(sent.at);
                news.newest = Some(sent.at);
            }
        });
        for &(start, stop) in blocks {
            let (start, stop) = (below(start), below(stop));
            if stop <= old_first {
                continue;
            }
            board.sack(start, stop, |packet, sent| {
                news.delivered += 1;
                rack.deliver(packet, sent, now, least);
                rates.deliver(sent, now);
                if sent.times == 1 {
                    news.newest = news.newest.max(Some(sent.at));
                }
            });
        }
        news
    }

    /// A round trip time: of a packet that was sent once (Karn's rule), or by the echo of a timestamp (RFC 7323,
    /// section 4.1). Either ends the back-off of the time-out.
    fn measure(&mut self, news: &News, segment: &Segment, now: Nanos) {
        if let Some(newest) = news.newest {
            let rtt = now - newest;
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        match (news.oldest, segment.timestamps) {
            (Some(oldest), _) => self.sample_rtt(now - oldest),
            (None, Some(stamps)) if news.advanced > 0 && stamps.echo != 0 => {
                let elapsed = ((now / MICROSECOND) as u32).wrapping_sub(stamps.echo);
                self.sample_rtt(Nanos::from(elapsed) * MICROSECOND);
            }
            _ => {}
        }
    }

    /// Repair and reduction end when all has arrived that was out when they began.
    fn end_phase(&mut self) {
        let first = self.board.first();
        match self.phase {
            // A reduction lasts until something is acknowledged that was sent after it began: the first such packet tells
            // the receiver of it, and ends its echo.
            Phase::Reducing { until } if first > until => {
                if !self.control.is_model_based() {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.phase = Phase::Open;
            }
            Phase::Recovering { until } if first >= until => {
                self.rack.recovered();
                if !self.control.is_model_based() {
                    self.window.cwnd = self.window.ssthresh;
                }
                self.phase = Phase::Open;
            }
            Phase::TimedOut { until, .. } if first >= until => {
                self.rack.recovered();
                self.phase = Phase::Open;
            }
            _ => {}
        }
    }

    fn set_timers(&mut self, news: &News, now: Nanos) {
        if self.board.outstanding() == 0 {
            self.retransmit_at = None;
            self.reorder_at = None;
            self.tail.cancel();
        } else if news.advanced > 0 || self.retransmit_at.is_none() {
            self.retransmit_at = Some(now + self.rto.timeout());
        }
        if news.delivered > 0 {
            self.schedule_probe(now);
        }
    }
}
