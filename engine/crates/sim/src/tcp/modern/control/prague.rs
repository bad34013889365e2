//! Prague: DCTCP's response for the Internet (draft-briscoe-iccrg-prague-congestion-control; what it leaves open is as in
//! Linux's tcp_prague 0.7). Beside DCTCP's it has an additive increase by every packet that comes unmarked, while the
//! window is reduced, too; one that depends less on the round trip time below 25 ms; a pace of the window itself, in
//! bursts of 250 us at most; and Reno's response to loss.

use super::super::pacing::SLOW_START_RATIO;
use super::super::window::{Ack, Phase, Window, LEAST_THRESHOLD};
use super::alpha::Alpha;
use super::congestion_control::{CongestionControl, Trouble};
use super::reno;
use crate::time::{to_seconds, Nanos, MILLISECOND};

/// Flows of a shorter round trip time grow, and are reduced, as if it were this (section 2.4.4, and RTT_TARGET of Linux).
const REFERENCE_RTT: Nanos = 25 * MILLISECOND;
/// After so many round trips beyond slow start (DEFAULT_RTT_TRANSITION).
const TRANSITION: u32 = 4;
/// Packets that wait in the host for their time are counted as under way by Linux, which lets two of them wait
/// (tcp_small_queue_check); here they are not sent yet.
const WAITING: u64 = 2;

/// What the first mark leaves of the window; its part in what comes counts from then on (prague_alpha_mode 0).
const AT_FIRST: f64 = 0.5;
/// Packets a second, of 1,500 octets at 100 kbit/s: it is slower than a window of two, but no slower than this
/// (MINIMUM_RATE; Linux has smaller packets then).
const LEAST_RATE: f64 = 100e3 / 8.0 / 1500.0;

#[derive(Debug, Default)]
pub struct Prague {
    /// None before the first mark: there may be no queue that marks.
    alpha: Option<Alpha>,
    /// The window that is wanted, of which the sender's follows by a packet an acknowledgment.
    wanted: f64,
    /// Round trips since slow start ended.
    rounds: u32,
    round_end: u64,
    observed_at: Nanos,
    reduced_at: Nanos,
    /// Losses are repaired: it does not grow.
    is_repairing: bool,
}

impl Prague {
    fn is_rtt_independent(&self) -> bool {
        self.rounds >= TRANSITION
    }

    /// Packets that an acknowledged window adds: one in each reference round trip, of a window that is as long: the square
    /// of the ratio.
    fn step(&self, srtt: Nanos) -> f64 {
        let ratio = if self.is_rtt_independent() { (srtt as f64 / REFERENCE_RTT as f64).min(1.0) } else { 1.0 };
        ratio * ratio
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let mut acked = ack.delivered as f64 - ack.marked;
        let is_limiting = ack.window_limited || (ack.prior_in_flight + WAITING + 1) as f64 > window.cwnd;
        if acked <= 0.0 || self.is_repairing || !is_limiting {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            self.wanted = window.cwnd;
        }
        self.wanted += self.step(ack.srtt.unwrap_or(REFERENCE_RTT)) * acked / self.wanted;
    }

    fn end_round(&mut self, window: &Window, ack: &Ack) {
        let is_over = ack.first > self.round_end;
        if !is_over || self.is_rtt_independent() && ack.now < self.observed_at + REFERENCE_RTT {
            return;
        }
        (self.round_end, self.observed_at) = (ack.end, ack.now);
        self.rounds = if window.in_slow_start() { 0 } else { self.rounds.saturating_add(1) };
        if let Some(alpha) = &mut self.alpha {
            alpha.update();
        }
    }
}

impl CongestionControl for Prague {
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        self.is_repairing &= ack.phase != Phase::Open;
        if self.wanted == 0.0 {
            self.wanted = window.cwnd;
        }
        self.grow(window, ack);
        if let Some(alpha) = &mut self.alpha {
            alpha.observe(ack.delivered as f64, ack.marked);
        }
        self.end_round(window, ack);
        let goal = self.wanted.max(LEAST_THRESHOLD).ceil();
        window.cwnd += (goal - window.cwnd).clamp(-1.0, 1.0);
        if let Some(srtt) = ack.srtt {
            let ratio = if window.cwnd < window.ssthresh / 2.0 { SLOW_START_RATIO } else { 1.0 };
            let rate = self.wanted.max(ack.in_flight as f64) / to_seconds(srtt.max(1));
            window.pacing_rate = Some(ratio * rate.max(LEAST_RATE));
        }
    }

    fn congested(&mut self, window: &mut Window, trouble: Trouble, now: Nanos) {
        let is_early = self.is_rtt_independent() && now < self.reduced_at + REFERENCE_RTT;
        let remains = match trouble {
            Trouble::Marks if is_early => return,
            Trouble::Marks => {
                self.reduced_at = now;
                match &self.alpha {
                    Some(alpha) => 1.0 - alpha.value() / 2.0,
                    None => {
                        self.alpha = Some(Alpha::zero());
                        AT_FIRST
                    }
                }
            }
            Trouble::Loss => {
                self.is_repairing = true;
                reno::BETA
            }
        };
        self.wanted = (if self.wanted > 0.0 { self.wanted } else { window.cwnd }) * remains;
        window.ssthresh = self.wanted.max(LEAST_THRESHOLD);
    }

    fn timed_out(&mut self, window: &mut Window, is_reduced: bool, now: Nanos) {
        if !is_reduced {
            self.congested(window, Trouble::Loss, now);
        }
        self.is_repairing = true;
    }

    /// It grows while it is reduced.
    fn is_model_based(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SECOND;

    fn ack(now: Nanos, first: u64, marked: bool, window: &Window, rtt: Nanos) -> Ack {
        let under_way = window.cwnd as u64;
        Ack {
            now,
            delivered: 1,
            first,
            end: first + under_way,
            lost: 0,
            prior_in_flight: under_way,
            in_flight: under_way,
            rtt: Some(rtt),
            srtt: Some(rtt),
            rate: None,
            total_delivered: first,
            total_lost: 0,
            marked: f64::from(u8::from(marked)),
            phase: Phase::Open,
            may_grow: true,
            window_limited: true,
        }
    }

    /// The mean window while every `one_in`-th packet comes marked.
    fn window_at(rtt: Nanos, one_in: u64) -> f64 {
        let (mut prague, mut window) = (Prague::default(), Window::new(10.0));
        let (mut now, mut reduced_until, mut sum, mut count) = (0, 0, 0.0, 0u32);
        for packet in 1..60_000 {
            now += (rtt as f64 / window.cwnd) as Nanos;
            let marked = packet % one_in == 0;
            if marked && packet > reduced_until {
                reduced_until = packet + window.cwnd as u64;
                prague.congested(&mut window, Trouble::Marks, now);
            }
            let news = ack(now, packet, marked, &window, rtt);
            prague.acknowledged(&mut window, &news);
            if packet > 20_000 {
                (sum, count) = (sum + prague.wanted, count + 1);
            }
        }
        sum / f64::from(count)
    }

    #[test]
    fn it_keeps_its_response_function() {
        // Of a window W, or what it sends in 25 ms, a reduction takes p / 2, and comes when W packets and those before the
        // next mark, 1 / p, have added (1 - p) / W each: with x = p W, x^2 / 2 = (1 - p) (x + 1).
        for (rtt, one_in) in [(25, 4), (25, 10), (12, 5), (100, 5)] {
            let rtt = rtt * MILLISECOND;
            let p = 1.0 / one_in as f64;
            let x = 1.0 - p + libm::sqrt((1.0 - p) * (3.0 - p));
            let expected = x / p * rtt as f64 / rtt.max(REFERENCE_RTT) as f64;
            let ratio = window_at(rtt, one_in) / expected;
            assert!((0.85..1.15).contains(&ratio), "{rtt} {one_in}: {ratio}");
        }
    }

    #[test]
    fn the_first_mark_halves_and_losses_halve_and_hold() {
        let (mut prague, mut window) = (Prague::default(), Window::new(40.0));
        let news = |window: &Window, packet| ack(SECOND, packet, false, window, 25 * MILLISECOND);
        let first = news(&window, 1);
        prague.acknowledged(&mut window, &first);
        assert_eq!(window.cwnd, 41.0);
        prague.congested(&mut window, Trouble::Marks, SECOND);
        assert_eq!((prague.wanted, window.in_slow_start()), (20.5, false));
        // The window follows by a packet an acknowledgment, and an unmarked one adds to what is wanted meanwhile.
        let second = news(&window, 2);
        prague.acknowledged(&mut window, &second);
        assert_eq!(window.cwnd, 40.0);
        assert!(prague.wanted > 20.5);
        let before = prague.wanted;
        prague.congested(&mut window, Trouble::Loss, SECOND);
        let recovering = Ack { phase: Phase::Recovering { until: 99 }, ..news(&window, 3) };
        prague.acknowledged(&mut window, &recovering);
        assert_eq!(prague.wanted, before / 2.0);
    }
}
