//! In which order a WEBRC sender's channels send (hosts/protocols/webrc/schedule.py): earliest deadline first, on a ring
//! of one time slot's ticks. A fast session's slot has a million of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pyo3::exceptions::{PyAssertionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Times around the ring after which the order repeats itself at the latest; 2 in practice.
const MOST_ROUNDS: usize = 8;
/// In place of a wave's age: the base channel.
const BASE: i32 = -1;

/// Channel, slot index and number in the channel of a packet (RFC 3738, 5.1).
pub type Place = (u32, u32, u32);

/// One kind of channel: its fluid in each slot that it lasts (at the end of each tick, and what to multiply that with),
/// its packets, by how many of them a volume that should be whole may be off, and what a packet is of the fluid.
type Channel<'py> = (Vec<(Bound<'py, PyBytes>, f64)>, usize, f64, f64);

/// Numbers in the machine's own format, 64 bits each.
#[derive(Clone, Copy)]
struct Fluid<'a>(&'a [[u8; 8]]);

impl Fluid<'_> {
    fn at(self, place: usize) -> f64 {
        f64::from_ne_bytes(self.0[place])
    }
}

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
fn windows(ring: usize, channels: &[Channel<'_>]) -> PyResult<Vec<Window>> {
    let mut windows = Vec::new();
    for (slots, packets, slack, whole) in channels {
        let slots = slots.iter().map(|(fluid, scale)| (Fluid(fluid.as_bytes().as_chunks().0), *scale));
        let slots: Vec<_> = slots.collect();
        if ring == 0 || slots.is_empty() || slots.iter().any(|(fluid, _)| fluid.0.len() != ring) {
            return Err(PyValueError::new_err("a fluid is known at each tick"));
        }
        let first = windows.len();
        let begins = (0..*packets).map(|number| (number as f64 + slack) / whole);
        ticks(&slots, begins, true, |release| windows.push(Window { release, deadline: 0 }));
        let mut rest = windows[first..].iter_mut();
        let ends = (0..*packets).map(|number| ((number + 1) as f64 - slack) / whole);
        ticks(&slots, ends, false, |deadline| rest.next().into_iter().for_each(|window| window.deadline = deadline));
    }
    Ok(windows)
}

/// What each tick of every slot sends.
#[pyclass(frozen, module = "canopy_engine")]
pub struct SlotOrder {
    /// Of the wave, in the slot in which the packet goes; or `BASE`.
    ages: Vec<i32>,
    /// The packet's, from the wave's (on the base channel: the slot's) first.
    numbers: Vec<u32>,
}

#[pymethods]
impl SlotOrder {
    /// `ring`: ticks. The first of the channels are the waves, of which all are alike, the other one is the base channel.
    #[new]
    fn new(ring: usize, channels: Vec<Channel<'_>>) -> PyResult<Self> {
        let windows = windows(ring, &channels)?;
        let waved = channels.first().map_or(0, |channel| channel.1);
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
        Err(PyAssertionError::new_err("the order does not repeat itself"))
    }

    fn __len__(&self) -> usize {
        self.ages.len()
    }

    /// Channel, slot index and number in the channel of packets that follow each other, counted from the session's first.
    /// `channels`: T; `youngest`: N - 1; `base`: the base channel's packets in a slot, and its numbers; `psn`: a wave's
    /// first.
    fn places(&self, first: u64, count: usize, channels: u64, youngest: u64, base: (u64, u64), psn: u64) -> Vec<Place> {
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
