//! PRR: during a recovery the window falls in proportion to what is delivered (RFC 6937, with the slow start reduction
//! bound only while nothing more is lost, as Linux has it).

/// A reduction that goes on.
#[derive(Debug)]
pub struct Prr {
    /// FlightSize at its start: RecoverFS.
    flight: u64,
    /// Packets delivered and sent since.
    delivered: u64,
    sent: u64,
}

impl Prr {
    /// `flight` packets are outstanding.
    pub fn new(flight: u64) -> Self {
        Self { flight: flight.max(1), delivered: 0, sent: 0 }
    }

    pub fn send(&mut self) {
        self.sent += 1;
    }

    /// The window, in packets, after an acknowledgment of `delivered` more packets with `in_flight` left; `advances`
    /// when it is of the oldest packets and tells of no further loss.
    pub fn window(&mut self, delivered: u64, in_flight: u64, ssthresh: f64, advances: bool) -> f64 {
        self.delivered += delivered;
        let target = ssthresh.max(1.0) as u64;
        let allowed = if in_flight > target {
            (self.delivered * target).div_ceil(self.flight).saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(delivered) + u64::from(advances);
            limit.min(target - in_flight)
        };
        // The first repair always leaves.
        (in_flight + allowed.max(u64::from(self.sent == 0))) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledgments of one packet each while the window allows; what leaves on each.
    fn course(flight: u64, mut in_flight: u64, ssthresh: f64, acknowledgments: usize) -> Vec<u64> {
        let mut prr = Prr::new(flight);
        (0..acknowledgments)
            .map(|_| {
                in_flight = in_flight.saturating_sub(1);
                let window = prr.window(1, in_flight, ssthresh, true) as u64;
                let sends = window - in_flight;
                (0..sends).for_each(|_| prr.send());
                in_flight += sends;
                sends
            })
            .collect()
    }

    #[test]
    fn a_single_loss_halves_over_a_round_trip() {
        // RFC 6937, section 4, its first example: FlightSize 20, one loss, ssthresh 10. 19 acknowledgments come; every
        // other one releases a packet, the first at once.
        let sends = course(20, 19, 10.0, 19);
        assert_eq!(sends.iter().sum::<u64>(), 10);
        assert_eq!(sends[..6], [1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn seven_tenths_leave_for_cubic() {
        let sends = course(100, 99, 70.0, 99);
        assert_eq!(sends.iter().sum::<u64>(), 70);
        assert!(sends.iter().all(|&sends| sends <= 1));
    }

    #[test]
    fn after_heavy_loss_it_grows_to_the_threshold_as_slow_start_does() {
        // RFC 6937, section 4, its second example: 15 of 20 packets lost; 4 acknowledgments. With the bound two packets
        // leave for each.
        let sends = course(20, 4, 10.0, 4);
        assert_eq!(sends, [2, 2, 2, 2]);
    }
}
