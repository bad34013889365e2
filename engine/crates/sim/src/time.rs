//! Virtual time: nanoseconds since the start of the run, in a `u64` (584 years).
//!
//! Integers keep the order of events exact: a sum of delays is the same whichever way it is added up.

/// Nanoseconds, as a point in time (since the start of the run) or a duration.
pub type Nanos = u64;

pub const MICROSECOND: Nanos = 1_000;
pub const MILLISECOND: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// Seconds to nanoseconds, to the nearest; negative and NaN become 0, too large saturates.
pub fn from_seconds(seconds: f64) -> Nanos {
    (seconds * SECOND as f64).round() as Nanos
}

pub fn to_seconds(time: Nanos) -> f64 {
    time as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_is_exact_for_nanoseconds_within_months() {
        for time in [0, 1, 999_999_999, 3_000 * SECOND + 1, 4_000_000 * SECOND + 7] {
            assert_eq!(from_seconds(to_seconds(time)), time);
        }
    }

    #[test]
    fn impossible_times_saturate() {
        assert_eq!(from_seconds(-1.0), 0);
        assert_eq!(from_seconds(f64::NAN), 0);
        assert_eq!(from_seconds(f64::INFINITY), Nanos::MAX);
    }
}
