//! In which order a WEBRC sender's channels send (hosts/protocols/webrc/schedule.py): earliest deadline first, on a ring
//! of one time slot's ticks. A fast session's slot has a million of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use crate::Place;

/// Times around the ring after which the order repeats itself at the latest; 2 in practice.
const MOST_ROUNDS: usize = 8;
/// In place of a wave's age: the base channel.
const BASE: i32 = -1;

/// A channel's fluid in a slot, in packets, at the end of each tick: numbers in the machine's own format, 64 bits each.
#[derive(Clone, Copy, Debug)]
pub struct Fluid<'a>(&'a [[u8; 8]]);

impl<'a> Fluid<'a> {
    /// What is left of eight bytes each is passed over.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.as_chunks().0)
    }

    fn at(self, place: usize) -> f64 {
        f64::from_ne_bytes(self.0[place])
    }
}

/// One kind of channel.
#[derive(Clone, Debug)]
pub struct Channel<'a> {
    /// Its fluid in each slot that it lasts, and what to multiply that with.
    pub slots: Vec<(Fluid<'a>, f64)>,
    pub packets: usize,
    /// Packets by which a volume that should be whole may be off.
    pub slack: f64,
    /// Packets of a unit of the fluid.
    pub whole: f64,
}

/// Why there is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderError {
    /// A fluid is not known at each tick of the ring, or a channel has none.
    Fluid,
    /// The order does not repeat itself: the fluids are more than the ticks.
    Endless,
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fluid => "a fluid is known at each tick",
            Self::Endless => "the order does not repeat itself",
        })
    }
}

impl std::error::Error for OrderError {}

/// When a packet may go, and by when it must have gone: ticks, from its channel's first slot on.
struct Window {
    release: i64,
    deadline: i64,
}

/// Python's bisect: the first place from `low` on before which nothing stops the search.
fn place(fluid: Fluid<'_>, mut low: usize, is_before: impl Fn(f64) -> bool) -> usize {
    let mut high = fluid.0.len();
    while low < high {
        let middle = (low + high) / 2;
        if is_before(fluid.at(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The ticks in which a channel's fluid reaches these volumes, which grow; `is_after`: it has to exceed them.
fn ticks(slots: &[(Fluid<'_>, f64)], volumes: impl Iterator<Item = f64>, is_after: bool, mut found: impl FnMut(i64)) {
    let (mut slot, mut at, mut before) = (0, 0, 0.0);
    let all = |(fluid, scale): (Fluid<'_>, f64)| fluid.at(fluid.0.len() - 1) * scale;
    for volume in volumes {
        while volume - before > all(slots[slot]) && slot + 1 < slots.len() {
            before += all(slots[slot]);
            (slot, at) = (slot + 1, 0);
        }
        let (fluid, scale) = slots[slot];
        let wanted = (volume - before) / scale;
        at = place(fluid, at, |had| had < wanted || (is_after && had == wanted));
        found((slot * fluid.0.len() + at) as i64);
    }
}

/// The windows of all packets: of one wave, and then of a slot's base channel.
fn windows(ring: usize, channels: &[Channel<'_>]) -> Result<Vec<Window>, OrderError> {
    let mut windows = Vec::new();
    for Channel { slots, packets, slack, whole } in channels {
        if ring == 0 || slots.is_empty() || slots.iter().any(|(fluid, _)| fluid.0.len() != ring) {
            return Err(OrderError::Fluid);
        }
        let first = windows.len();
        let begins = (0..*packets).map(|number| (number as f64 + slack) / whole);
        ticks(slots, begins, true, |release| windows.push(Window { release, deadline: 0 }));
        let mut rest = windows[first..].iter_mut();
        let ends = (0..*packets).map(|number| ((number + 1) as f64 - slack) / whole);
        ticks(slots, ends, false, |deadline| rest.next().into_iter().for_each(|window| window.deadline = deadline));
    }
    Ok(windows)
}

/// What each tick of every slot sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotOrder {
    /// Of the wave, in the slot in which the packet goes; or `BASE`.
    ages: Vec<i32>,
    /// The packet's, from the wave's (on the base channel: the slot's) first.
    numbers: Vec<u32>,
}

impl SlotOrder {
    /// `ring`: ticks. The first of the channels are the waves, of which all are alike, the other one is the base channel.
    pub fn new(ring: usize, channels: &[Channel<'_>]) -> Result<Self, OrderError> {
        let windows = windows(ring, channels)?;
        let waved = channels.first().map_or(0, |channel| channel.packets);
        let turn = ring as i64;
        let place = |window: &Window| (window.release % turn) as usize;
        let mut ends = vec![0; ring + 1]; // of the packets that may go from each tick on
        windows.iter().for_each(|window| ends[place(window) + 1] += 1);
        (0..ring).for_each(|tick| ends[tick + 1] += ends[tick]);
        let (mut released, mut next) = (vec![0; windows.len()], ends.clone());
        for (job, window) in windows.iter().enumerate() {
            released[next[place(window)]] = job;
            next[place(window)] += 1;
        }
        // Deadline, job and the tick of its release, counted from this turn's first.
        let mut queue: BinaryHeap<Reverse<(i64, usize, i64)>> = BinaryHeap::new();
        let mut waiting = None;
        for _ in 0..MOST_ROUNDS {
            let mut order = Self { ages: Vec::with_capacity(ring), numbers: Vec::with_capacity(ring) };
            for tick in 0..turn {
                for &job in &released[ends[tick as usize]..ends[tick as usize + 1]] {
                    let window = &windows[job];
                    queue.push(Reverse((tick + window.deadline - window.release, job, tick)));
                }
                if let Some(Reverse((_, job, since))) = queue.pop() {
                    let is_waved = job < waved;
                    order.ages.push(if is_waved {
                        ((windows[job].release + tick - since) / turn) as i32
                    } else {
                        BASE
                    });
                    order.numbers.push(if is_waved { job } else { job - waved } as u32);
                }
            }
            let rest = queue.into_sorted_vec().into_iter().rev();
            let rest = rest.map(|Reverse((deadline, job, since))| (deadline - turn, job, since - turn));
            let rest: Vec<_> = rest.collect();
            queue = rest.iter().copied().map(Reverse).collect();
            if waiting.as_ref() == Some(&rest) {
                return Ok(order);
            }
            waiting = Some(rest);
        }
        Err(OrderError::Endless)
    }

    /// Packets of a slot.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.ages.len()
    }

    /// Channel, slot index and number in the channel of packets that follow each other, counted from the session's first.
    /// `channels`: T; `youngest`: N - 1; `base`: the base channel's packets in a slot, and its numbers; `psn`: a wave's
    /// first.
    pub fn places(
        &self,
        first: u64,
        count: usize,
        channels: u64,
        youngest: u64,
        base: (u64, u64),
        psn: u64,
    ) -> Vec<Place> {
        let ticks = self.ages.len() as u64;
        if ticks == 0 || channels == 0 || base.1 == 0 {
            return Vec::new();
        }
        let place = |packet: u64| {
            let (slot, tick) = (packet / ticks, (packet % ticks) as usize);
            let number = u64::from(self.numbers[tick]);
            let (channel, number) = match u64::try_from(self.ages[tick]) {
                Ok(age) => ((slot + youngest - age) % channels, psn + number),
                Err(_) => (channels, (slot * base.0 + number) % base.1),
            };
            (channel as u32, (slot % channels) as u32, number as u32)
        };
        (first..first.saturating_add(count as u64)).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(fluid: &[f64]) -> Vec<u8> {
        fluid.iter().flat_map(|volume| volume.to_ne_bytes()).collect()
    }

    fn channel<'a>(slots: &[(&'a [u8], f64)], packets: usize) -> Channel<'a> {
        let slots = slots.iter().map(|(fluid, scale)| (Fluid::new(fluid), *scale)).collect();
        Channel { slots, packets, slack: 1e-9, whole: 1.0 }
    }

    /// A slot of four ticks: a wave that has two packets in its first slot, one in its second one, and a base channel of
    /// one packet.
    fn order() -> SlotOrder {
        let wave = bytes(&[0.5, 1.0, 1.5, 2.0]);
        let base = bytes(&[0.25, 0.5, 0.75, 1.0]);
        SlotOrder::new(4, &[channel(&[(&wave, 1.0), (&wave, 0.5)], 3), channel(&[(&base, 1.0)], 1)]).unwrap()
    }

    #[test]
    fn the_earliest_deadline_goes_first() {
        // Worked out by hand: what must go by ticks 1 and 3 of its slot, then what has the whole slot for it.
        let SlotOrder { ages, numbers } = order();
        assert_eq!((ages, numbers), (vec![0, 1, 0, -1], vec![0, 2, 1, 0]));
    }

    #[test]
    fn each_packet_goes_once_a_slot_within_its_window() {
        let order = order();
        let mut sent: Vec<_> = order.ages.iter().map(|age| *age == BASE).zip(order.numbers.iter().copied()).collect();
        sent.sort_unstable();
        assert_eq!(sent, [(false, 0), (false, 1), (false, 2), (true, 0)]);
        assert_eq!(order.len(), 4);
    }

    #[test]
    fn places_go_on_from_slot_to_slot() {
        // Three waves and the base channel, of which each slot has one packet and there are two numbers.
        let order = order();
        let all = order.places(0, 12, 3, 1, (1, 2), 100);
        let first = [(1, 0, 100), (0, 0, 102), (1, 0, 101), (3, 0, 0)];
        let second = [(2, 1, 100), (1, 1, 102), (2, 1, 101), (3, 1, 1)];
        let third = [(0, 2, 100), (2, 2, 102), (0, 2, 101), (3, 2, 0)];
        assert_eq!(all, [first, second, third].concat());
        assert_eq!(order.places(5, 3, 3, 1, (1, 2), 100), all[5..8]);
        assert_eq!(order.places(0, 3, 0, 1, (1, 2), 100), []);
    }

    #[test]
    fn what_is_no_fluid_has_no_order() {
        let short = bytes(&[1.0]);
        let found = [(4, channel(&[(&short, 1.0)], 1)), (0, channel(&[(&[], 1.0)], 0)), (1, channel(&[], 0))]
            .map(|(ring, channel)| SlotOrder::new(ring, &[channel]));
        assert_eq!(found, [(); 3].map(|()| Err(OrderError::Fluid)));
        let much = bytes(&[2.0, 4.0]);
        assert_eq!(SlotOrder::new(2, &[channel(&[(&much, 1.0)], 4)]), Err(OrderError::Endless));
    }
}
