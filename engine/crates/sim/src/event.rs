//! The agenda: what happens next, and what happens first of what is due at one instant.
//!
//! Events at one instant are ordered by class, then by the number drawn when their cause was put in:
//!
//! 1. `Control`: a scenario changes something (a link goes down).
//! 2. `Departure`: a packet leaves a queue, which makes room there.
//! 3. `Arrival`: a packet reaches a node. So a departure comes before an arrival at the same queue; packets that arrive
//!    together are taken in the order in which they were handed to their links.
//! 4. `Timer`: a host's program acts. It has seen everything that arrived by then.
//!
//! The order never depends on addresses, hashes or the shape of the heap: a seed settles it.

use crate::time::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    Control = 0,
    Departure = 1,
    Arrival = 2,
    Timer = 3,
}

/// Two bits of class above 62 bits of number: at a billion events a second, 146 years.
const CLASS_SHIFT: u32 = 62;

/// The place of an event among those of its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    pub fn new(class: Class, number: u64) -> Self {
        Self((class as u64) << CLASS_SHIFT | number)
    }
}

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something leaves this channel's queue.
    Departure(u32),
    /// Something reaches the far end of this channel.
    Arrival(u32),
    /// This host hands a packet that it has processed to its link.
    Processed(u32),
    /// This host has processed a packet that arrived.
    Taken(u32),
    /// This program starts.
    Start(u32),
    /// This program wants to be woken.
    Wake(u32),
    /// This host repeats or answers membership reports.
    Report(u32),
    /// A change of the network, by its number.
    Change(u32),
    /// The time series take a sample.
    Sample,
}

#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub time: Nanos,
    pub rank: Rank,
    pub what: What,
}

impl Event {
    fn key(&self) -> (Nanos, Rank) {
        (self.time, self.rank)
    }
}

/// A heap of four children a node: less deep than a binary one, and a node's children share a cache line or two.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: Vec<Event>,
}

const ARITY: usize = 4;

impl Agenda {
    pub fn peek(&self) -> Option<&Event> {
        self.heap.first()
    }

    pub fn push(&mut self, event: Event) {
        let mut at = self.heap.len();
        self.heap.push(event);
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].key() <= event.key() {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = event;
    }

    pub fn pop(&mut self) -> Option<Event> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else { return Some(last) };
        self.sink(last);
        Some(first)
    }

    /// Puts `event` where the first one was: cheaper than a pop and a push.
    pub fn replace_first(&mut self, event: Event) {
        match self.heap.is_empty() {
            true => self.heap.push(event),
            false => self.sink(event),
        }
    }

    /// Places `event` from the root downwards, over whatever is there.
    fn sink(&mut self, event: Event) {
        let mut at = 0;
        loop {
            let first_child = at * ARITY + 1;
            let children = self.heap.len().min(first_child + ARITY);
            let Some(least) = (first_child..children).min_by_key(|&child| self.heap[child].key()) else { break };
            if event.key() <= self.heap[least].key() {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: Nanos, class: Class, number: u64) -> Event {
        Event { time, rank: Rank::new(class, number), what: What::Sample }
    }

    #[test]
    fn comes_out_in_order_of_time_class_and_number() {
        let mut agenda = Agenda::default();
        let mut keys = Vec::new();
        // A fixed scatter of many ties.
        for i in 0..1000u64 {
            let class = [Class::Control, Class::Departure, Class::Arrival, Class::Timer][(i * 7 % 4) as usize];
            let event = event(i * 31 % 50, class, i);
            keys.push(event.key());
            agenda.push(event);
        }
        keys.sort();
        let popped: Vec<_> = std::iter::from_fn(|| agenda.pop()).map(|event| event.key()).collect();
        assert_eq!(popped, keys);
    }

    #[test]
    fn replacing_the_first_is_a_pop_and_a_push() {
        let (mut one, mut other) = (Agenda::default(), Agenda::default());
        for i in 0..100u64 {
            let event = event(i * 37 % 101, Class::Arrival, i);
            one.push(event);
            other.push(event);
        }
        for i in 100..200u64 {
            let next = event(i * 53 % 211, Class::Arrival, i);
            one.replace_first(next);
            other.pop();
            other.push(next);
            assert_eq!(one.peek().map(Event::key), other.peek().map(Event::key));
        }
    }

    #[test]
    fn a_departure_precedes_an_arrival_put_in_before_it() {
        assert!(Rank::new(Class::Departure, 9) < Rank::new(Class::Arrival, 1));
        assert!(Rank::new(Class::Arrival, 1) < Rank::new(Class::Arrival, 2));
    }
}
