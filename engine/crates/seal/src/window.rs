//! Which of a sender's packets have come, as far back as they may still come: RFC 4303, 3.4.3, in words that are reused
//! in turn (RFC 6479).

const WORDS: usize = 65;
/// So far behind the latest a packet may come: 46 ms at 1 Gbit/s (ours). A word less than there are, for the latest one
/// is cleared as a whole.
pub const WINDOW: u64 = 64 * (WORDS as u64 - 1);

pub struct Window {
    /// One above the highest number that has come.
    next: u64,
    seen: [u64; WORDS],
}

impl Default for Window {
    fn default() -> Self {
        Self { next: 0, seen: [0; WORDS] }
    }
}

impl Window {
    /// Whether a number may still come, and has not.
    pub fn is_new(&self, number: u32) -> bool {
        let number = u64::from(number);
        number >= self.next || (self.next - number <= WINDOW && self.seen[word(number)] & bit(number) == 0)
    }

    /// It has come; nothing, if it may not.
    pub fn take(&mut self, number: u32) {
        if !self.is_new(number) {
            return;
        }
        let number = u64::from(number);
        if number >= self.next {
            let first = self.next.div_ceil(64); // the word of the latest is in use, unless that filled it
            let last = number / 64;
            for index in (first..=last).rev().take(WORDS) {
                self.seen[index as usize % WORDS] = 0;
            }
            self.next = number + 1;
        }
        self.seen[word(number)] |= bit(number);
    }
}

fn word(number: u64) -> usize {
    (number / 64) as usize % WORDS
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::{Window, WINDOW};

    #[test]
    fn a_number_comes_once() {
        let mut window = Window::default();
        for number in [0, 5, 3, 64, 63, 4096, 4097, u32::MAX] {
            assert!(window.is_new(number), "{number}");
            window.take(number);
            assert!(!window.is_new(number), "{number}");
        }
    }

    #[test]
    fn what_is_too_far_behind_does_not_come() {
        let mut window = Window::default();
        window.take(2 * WINDOW as u32);
        assert!(window.is_new(WINDOW as u32 + 1));
        assert!(!window.is_new(WINDOW as u32));
    }

    #[test]
    fn it_agrees_with_a_set() {
        let mut window = Window::default();
        let mut seen = std::collections::HashSet::new();
        let (mut state, mut highest) = (1_u64, 0_u64);
        for _ in 0..300_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = state >> 33;
            let jump = if random & 1023 == 0 { 3 * WINDOW } else { 40 };
            let number = (highest + random % jump).saturating_sub(if random & 3 == 0 { WINDOW } else { 20 });
            let expected = !seen.contains(&number) && (number > highest || highest + 1 - number <= WINDOW);
            assert_eq!(window.is_new(number as u32), expected, "{number} after {highest}");
            if expected {
                window.take(number as u32);
                seen.insert(number);
                highest = highest.max(number);
            }
        }
    }
}
