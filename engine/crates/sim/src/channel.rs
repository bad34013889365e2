//! One direction of a link between two ports, and its place on the agenda.
//!
//! Only the head of what is under way is on the agenda. On a channel out of a plain node, departures from the queue are
//! not on it either: the moment of each is settled when the one before it is sent, so they are carried out when
//! somebody next looks, as of the time at which they were due. A P4 switch does work at a departure (its egress
//! pipeline), so its channels put departures on the agenda too.

use link::{Arrival, Link, LinkConfig};
use p4vm::PacketCopy;

use crate::event::{Class, Event, Rank, What};
use crate::load::Load;
use crate::time::Nanos;

/// What waits in a queue or is under way.
#[derive(Debug)]
pub enum Cargo {
    Load(Load),
    /// A copy in a P4 switch, between ingress and egress, and what a queue wants to know of the frame that came in.
    Copy(PacketCopy, Arrival),
}

impl Cargo {
    fn arrival(&self, with_flow: bool) -> Arrival {
        match self {
            Cargo::Load(load) => load.arrival(with_flow),
            Cargo::Copy(copy, arrival) => Arrival { len: copy.len() as u32, ..*arrival },
        }
    }
}

/// Cargo with the number that ranks its arrival, drawn when it was handed to the channel.
#[derive(Debug)]
pub struct Flight {
    pub number: u64,
    pub cargo: Cargo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub node: u32,
    pub port: u32,
}

#[derive(Debug)]
pub struct Channel {
    pub index: u32,
    pub from: End,
    pub to: End,
    pub link: Link<Flight>,
    /// Departures are events: a P4 switch stands at the near end.
    eager: bool,
    /// What the agenda holds for this channel.
    arrival_at: Option<Nanos>,
    departure_at: Option<Nanos>,
}

impl Channel {
    pub fn new(index: u32, from: End, to: End, link: Link<Flight>, eager: bool) -> Self {
        Self { index, from, to, link, eager, arrival_at: None, departure_at: None }
    }

    /// Hands a packet to the queue. One that finds no room is counted there, and comes back.
    pub fn offer(&mut self, now: Nanos, number: u64, cargo: Cargo) -> Result<(), Cargo> {
        let len = match &cargo {
            Cargo::Load(load) => load.len(),
            Cargo::Copy(copy, _) => copy.len() as u32,
        };
        let flight = Flight { number, cargo };
        if self.eager {
            return self.queue(now, flight);
        }
        self.catch_up(now);
        match self.link.pass(now, len, flight) {
            // What is lost on the wire is counted by the link.
            Ok(_) => Ok(()),
            Err(flight) => {
                let taken = self.queue(now, flight);
                self.catch_up(now);
                taken
            }
        }
    }

    /// A P4 switch's packet is on its way out, with nobody before it: the switch transmits it, or drops it. Otherwise
    /// false, and nothing happened.
    pub fn enters(&mut self, now: Nanos, len: u32) -> bool {
        self.eager && self.link.enter(now, len)
    }

    fn queue(&mut self, now: Nanos, flight: Flight) -> Result<(), Cargo> {
        let arrival = flight.cargo.arrival(self.link.sorts_by_flow());
        self.link.offer(now, arrival, flight).map_err(|dropped| dropped.item.cargo)
    }

    /// Carries out all departures that are due, each at its time.
    fn catch_up(&mut self, now: Nanos) {
        while let Some(due) = self.link.next_departure().filter(|&due| due <= now) {
            let Some(mut packet) = self.link.dequeue(due) else { break };
            if let (true, Cargo::Load(load)) = (packet.marked, &mut packet.item.cargo) {
                load.mark();
            }
            let _ = self.link.transmit(due, packet.len, packet.item);
        }
    }

    /// The packet that arrives by this event, if the event still holds, and whether it arrives twice.
    pub fn arrive(&mut self, event: &Event) -> Option<(Cargo, bool)> {
        if self.arrival_at != Some(event.time) {
            return None;
        }
        self.arrival_at = None;
        if !self.eager {
            self.catch_up(event.time);
        }
        self.link.deliver(event.time).map(|packet| (packet.item.cargo, packet.is_twice))
    }

    /// Whether the departure of this event still holds; it is off the agenda then.
    pub fn takes_departure(&mut self, event: &Event) -> bool {
        let holds = self.departure_at == Some(event.time);
        if holds {
            self.departure_at = None;
            if !self.eager {
                self.catch_up(event.time);
            }
        }
        holds
    }

    /// The next arrival, if the agenda does not hold it. Where packets overtake others, what the agenda held is void.
    pub fn next_arrival(&mut self) -> Option<Event> {
        if self.arrival_at.is_some() && !self.link.reorders() {
            return None;
        }
        let head = self.link.head_in_flight()?;
        if self.arrival_at.is_some_and(|held| held <= head.time_ns) {
            return None;
        }
        self.arrival_at = Some(head.time_ns);
        let rank = Rank::new(Class::Arrival, head.item.number);
        Some(Event { time: head.time_ns, rank, what: What::Arrival(self.index) })
    }

    /// The next departure, if it must be on the agenda and is not.
    pub fn next_departure(&mut self) -> Option<Event> {
        // Behind a packet under way, all departures are looked after when it arrives; unless they may overtake it.
        if !self.eager && self.arrival_at.is_some() && !self.link.reorders() {
            return None;
        }
        let time = self.link.next_departure()?;
        if self.departure_at == Some(time) {
            return None;
        }
        self.departure_at = Some(time);
        // Two departures of one instant lie on different channels: the channel's number ranks them.
        Some(Event {
            time,
            rank: Rank::new(Class::Departure, u64::from(self.index)),
            what: What::Departure(self.index),
        })
    }

    /// Changes the link's parameters; what the agenda holds for it is void.
    pub fn reconfigure(&mut self, now: Nanos, config: LinkConfig) -> Result<(), link::ConfigError> {
        self.settle(now);
        self.link.set_config(config)
    }

    /// Takes the link down or up; what the agenda holds for it is void.
    pub fn set_up(&mut self, now: Nanos, up: bool) {
        self.settle(now);
        self.link.set_up(now, up);
    }

    fn settle(&mut self, now: Nanos) {
        if !self.eager {
            self.catch_up(now);
        }
        self.arrival_at = None;
        self.departure_at = None;
    }
}
