//! What a scenario changes while the network runs.

use link::LinkConfig;

use super::{channel_index, AppId, BuildError, Kind, LinkId, Network, RunError, Way};
use crate::event::{Class, Event, Rank, What};
use crate::time::Nanos;

#[derive(Clone, Debug)]
pub enum Change {
    /// A link loses all that is under way, and whatever comes until it is up again.
    LinkDown(LinkId),
    LinkUp(LinkId),
    /// New parameters for one direction; what waits or is under way stays.
    Configure(LinkId, Way, LinkConfig),
    /// A program dies without a word to anybody.
    Kill(AppId),
    /// A program does what it knows by this number.
    Act(AppId, u64),
}

impl Network {
    /// Has a change carried out at `time` (or now, if that has passed), before anything else of that instant.
    pub fn change_at(&mut self, time: Nanos, change: Change) -> Result<(), BuildError> {
        if let Change::Configure(link, way, config) = &change {
            let channel = self.channel(*link, *way);
            config.validate().map_err(|error| {
                let (from, to) = self.channel_name(channel);
                BuildError::Link(from.to_owned(), to.to_owned(), error)
            })?;
        }
        let number = self.next_number();
        let change_number = match self.free_changes.pop() {
            Some(free) => {
                self.changes[free as usize] = Some(change);
                free
            }
            None => {
                self.changes.push(Some(change));
                self.changes.len() as u32 - 1
            }
        };
        let what = What::Change(change_number);
        self.agenda.push(Event { time: time.max(self.now), rank: Rank::new(Class::Control, number), what });
        Ok(())
    }

    pub(super) fn carry_out(&mut self, number: u32) -> Result<(), RunError> {
        let Some(change) = self.changes.get_mut(number as usize).and_then(Option::take) else { return Ok(()) };
        self.free_changes.push(number);
        let now = self.now;
        match change {
            Change::LinkDown(link) | Change::LinkUp(link) => {
                let up = matches!(change, Change::LinkUp(_));
                for way in [Way::Forth, Way::Back] {
                    self.channels[channel_index(link, way)].set_up(now, up);
                    self.reschedule(channel_index(link, way));
                }
            }
            Change::Configure(link, way, config) => {
                // Validated when it was asked for.
                let _ = self.channels[channel_index(link, way)].reconfigure(now, config);
                self.reschedule(channel_index(link, way));
            }
            Change::Kill(id) => self.kill(id),
            Change::Act(id, action) => return self.act(id, action),
        }
        Ok(())
    }

    fn reschedule(&mut self, channel: usize) {
        let channel = &mut self.channels[channel];
        let next = [channel.next_arrival(), channel.next_departure()];
        next.into_iter().flatten().for_each(|event| self.agenda.push(event));
    }

    fn kill(&mut self, id: AppId) {
        let (host, index) = self.programs[id.0 as usize];
        if let Kind::Host(host) = &mut self.kinds[host.0 as usize] {
            host.forget(index);
            host.programs[index as usize].is_dead = true;
        }
    }
}
