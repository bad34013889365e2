//! Parser value sets.

use super::{find, Result};
use crate::ir::KeyLayout;
use crate::parser::MaskedValue;
use crate::value::{bytes, word_mask, words_for};
use crate::{ControlError, MatchKey, Switch};

/// Members of one set, which the parser searches one by one.
const MAX_MEMBERS: usize = 4096;

impl Switch {
    /// Names of the parser value sets.
    pub fn value_sets(&self) -> Vec<String> {
        self.program.value_sets.iter().map(|set| set.name.clone()).collect()
    }

    fn value_set(&self, name: &str) -> Result<usize> {
        find(&self.program.value_sets, "value set", name, |set| &set.name)
    }

    /// Replace the members of a value set; a member has one key a field, exact or ternary.
    pub fn value_set_write(&mut self, value_set: &str, members: &[Vec<MatchKey>]) -> Result<()> {
        let at = self.value_set(value_set)?;
        let layout = self
            .program
            .value_sets
            .get(at)
            .map(|set| &set.layout)
            .ok_or_else(|| ControlError::not_found(format!("no value set {value_set}")))?;
        if members.len() > MAX_MEMBERS {
            return Err(ControlError::exhausted(format!("a value set has at most {MAX_MEMBERS} members")));
        }
        let packed: Vec<_> = members.iter().map(|member| pack(value_set, layout, member)).collect::<Result<_>>()?;
        if let Some(state) = self.value_sets.get_mut(at) {
            state.members = packed;
        }
        Ok(())
    }
}

fn pack(name: &str, layout: &KeyLayout, member: &[MatchKey]) -> Result<MaskedValue> {
    if member.len() != layout.parts.len() {
        let message = format!("a member of {name} has {} fields, not {}", layout.parts.len(), member.len());
        return Err(ControlError::invalid(message));
    }
    let (mut value, mut mask) = (vec![0; layout.words], vec![0; layout.words]);
    for (i, (part, key)) in layout.parts.iter().zip(member).enumerate() {
        let bits = part.bits;
        let number = |bytes: &[u8]| {
            bytes::to_words(bytes, bits)
                .ok_or_else(|| ControlError::invalid(format!("a value of {name} does not fit {bits} bits")))
        };
        let full = || (0..words_for(bits)).map(|word| word_mask(bits, word)).collect::<Vec<_>>();
        let (field, field_mask) = match key {
            MatchKey::Value(field) => (number(field)?, full()),
            MatchKey::Pair(field, mask) => (number(field)?, number(mask)?),
            MatchKey::Any => (vec![0; words_for(bits) as usize], vec![0; words_for(bits) as usize]),
            MatchKey::Prefix(..) => {
                return Err(ControlError::invalid(format!("members of {name} are exact or ternary, not prefixes")))
            }
        };
        layout.put(i, &field, &mut value);
        layout.put(i, &field_mask, &mut mask);
    }
    Ok((value.into(), mask.into()))
}
