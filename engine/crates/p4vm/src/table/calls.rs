//! The calls of a table's entries, each once: entries of most tables do few different things, and a packet that hits one
//! of a hundred thousand should not wait for that one's memory.

use ahash::AHashMap;

use crate::ir::Call;

#[derive(Debug, Default)]
pub(crate) struct Calls {
    calls: Vec<Call>,
    /// How many entries have each.
    users: Vec<u32>,
    free: Vec<u32>,
    ids: AHashMap<Call, u32>,
}

impl Calls {
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&Call> {
        self.calls.get(id as usize)
    }

    /// One more entry has the call.
    pub(crate) fn take(&mut self, call: Call) -> u32 {
        let id = match self.ids.get(&call) {
            Some(&id) => id,
            None => {
                let id = self.free.pop().unwrap_or(self.calls.len() as u32);
                self.ids.insert(call.clone(), id);
                match self.calls.get_mut(id as usize) {
                    Some(place) => *place = call,
                    None => {
                        self.calls.push(call);
                        self.users.push(0);
                    }
                }
                id
            }
        };
        if let Some(users) = self.users.get_mut(id as usize) {
            *users += 1;
        }
        id
    }

    /// One entry less.
    pub(crate) fn give(&mut self, id: u32) {
        let Some(users) = self.users.get_mut(id as usize).filter(|users| **users > 0) else { return };
        *users -= 1;
        if *users == 0 {
            if let Some(call) = self.calls.get(id as usize) {
                self.ids.remove(call);
            }
            self.free.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(slot: u32) -> Call {
        Call { slot, args: vec![1, 2, 3].into_boxed_slice().into() }
    }

    #[test]
    fn equal_calls_are_kept_once_and_their_place_is_used_again() {
        let mut calls = Calls::default();
        assert_eq!([calls.take(call(1)), calls.take(call(1)), calls.take(call(2))], [0, 0, 1]);
        calls.give(0);
        assert_eq!(calls.take(call(3)), 2);
        calls.give(0);
        assert_eq!([calls.take(call(4)), calls.take(call(1))], [0, 3]);
        assert_eq!(calls.get(0), Some(&call(4)));
        assert_eq!(calls.get(9), None);
    }
}
