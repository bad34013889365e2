//! What an entry asks of a packed key.

use crate::ir::{KeyField, KeyLayout, Part};
use crate::value::{bytes, mask64, word_mask, words_for};
use crate::{ControlError, MatchKey, MatchKind};

/// A range that one field must lie in, both ends included; words most significant first, so that they compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeKey {
    part: Part,
    low: Box<[u64]>,
    high: Box<[u64]>,
}

impl RangeKey {
    pub(crate) fn contains(&self, key: &[u64]) -> bool {
        let start = self.part.word as usize;
        if self.part.bits <= 64 {
            let word = key.get(start).copied().unwrap_or(0);
            let value = word >> self.part.shift & mask64(self.part.bits);
            return self.low.first().is_some_and(|&low| low <= value)
                && self.high.first().is_some_and(|&high| value <= high);
        }
        let Some(words) = key.get(start..start + words_for(self.part.bits) as usize) else { return false };
        // Another field may share the last word.
        let value = || words.iter().enumerate().map(|(i, word)| word & word_mask(self.part.bits, i as u32)).rev();
        value().ge(self.low.iter().copied()) && value().le(self.high.iter().copied())
    }
}

/// What an entry asks of a packed key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EntryKey {
    /// Zero outside the mask.
    pub value: Box<[u64]>,
    pub mask: Box<[u64]>,
    /// Length of the lpm field's prefix.
    pub prefix: u32,
    pub ranges: Box<[RangeKey]>,
}

/// The mask of a prefix of `length` of `bits` bits.
fn prefix_mask(length: u32, bits: u32) -> Vec<u64> {
    let clear = bits.saturating_sub(length);
    (0..words_for(bits)).map(|i| word_mask(bits, i) & !word_mask(clear, i)).collect()
}

fn full_mask(bits: u32) -> Vec<u64> {
    prefix_mask(bits, bits)
}

impl EntryKey {
    /// Check a key of the control plane and bring it into the form that is stored: also returns the key as it is read
    /// back, every value of its field's width and zero outside its mask.
    pub(crate) fn new(
        fields: &[KeyField],
        layout: &KeyLayout,
        key: &[MatchKey],
    ) -> Result<(Self, Vec<MatchKey>), ControlError> {
        if key.len() != fields.len() {
            let message = format!("the key has {} fields, not {}", fields.len(), key.len());
            return Err(ControlError::invalid(message));
        }
        let mut out =
            Self { value: vec![0; layout.words].into(), mask: vec![0; layout.words].into(), ..Self::default() };
        let (mut ranges, mut canonical) = (Vec::new(), Vec::with_capacity(key.len()));
        for (i, (field, given)) in fields.iter().zip(key).enumerate() {
            let (value, mask, shown) = match field_match(field, given)? {
                FieldMatch::Masked { value, mask, shown } => (value, mask, shown),
                FieldMatch::Range { mut low, mut high, shown } => {
                    low.reverse();
                    high.reverse();
                    if let Some(&part) = layout.parts.get(i) {
                        ranges.push(RangeKey { part, low: low.into(), high: high.into() });
                    }
                    canonical.push(shown);
                    continue;
                }
            };
            if let MatchKey::Prefix(_, length) = shown {
                out.prefix = length;
            }
            layout.put(i, &value, &mut out.value);
            layout.put(i, &mask, &mut out.mask);
            canonical.push(shown);
        }
        out.ranges = ranges.into();
        Ok((out, canonical))
    }
}

enum FieldMatch {
    Masked { value: Vec<u64>, mask: Vec<u64>, shown: MatchKey },
    Range { low: Vec<u64>, high: Vec<u64>, shown: MatchKey },
}

fn field_match(field: &KeyField, given: &MatchKey) -> Result<FieldMatch, ControlError> {
    let bits = field.bits;
    let number = |bytes: &[u8]| {
        let message = || format!("a value of key field {} does not fit {bits} bits", field.name);
        bytes::to_words(bytes, bits).ok_or_else(|| ControlError::invalid(message()))
    };
    let masked = |mut value: Vec<u64>, mask: Vec<u64>, show: &dyn Fn(Vec<u8>, Vec<u8>) -> MatchKey| {
        value.iter_mut().zip(&mask).for_each(|(value, mask)| *value &= mask);
        let shown = show(bytes::from_words(&value, bits), bytes::from_words(&mask, bits));
        Ok(FieldMatch::Masked { value, mask, shown })
    };
    match (field.kind, given) {
        (MatchKind::Exact | MatchKind::Valid, MatchKey::Value(value)) => {
            masked(number(value)?, full_mask(bits), &|value, _| MatchKey::Value(value))
        }
        (MatchKind::Lpm, MatchKey::Any) => {
            masked(vec![0; words_for(bits) as usize], prefix_mask(0, bits), &|value, _| MatchKey::Prefix(value, 0))
        }
        (MatchKind::Lpm, MatchKey::Value(value)) => {
            masked(number(value)?, full_mask(bits), &|value, _| MatchKey::Prefix(value, bits))
        }
        (MatchKind::Lpm, MatchKey::Prefix(value, length)) if *length <= bits => {
            masked(number(value)?, prefix_mask(*length, bits), &|value, _| MatchKey::Prefix(value, *length))
        }
        (MatchKind::Ternary, MatchKey::Pair(value, mask)) => masked(number(value)?, number(mask)?, &MatchKey::Pair),
        (MatchKind::Ternary, MatchKey::Value(value)) => masked(number(value)?, full_mask(bits), &MatchKey::Pair),
        (MatchKind::Ternary, MatchKey::Prefix(value, length)) if *length <= bits => {
            masked(number(value)?, prefix_mask(*length, bits), &MatchKey::Pair)
        }
        (MatchKind::Ternary, MatchKey::Any) => {
            let zero = vec![0; words_for(bits) as usize];
            masked(zero.clone(), zero, &MatchKey::Pair)
        }
        (MatchKind::Optional, MatchKey::Value(value)) => {
            masked(number(value)?, full_mask(bits), &|value, _| MatchKey::Value(value))
        }
        (MatchKind::Optional, MatchKey::Any) => {
            let zero = vec![0; words_for(bits) as usize];
            masked(zero.clone(), zero, &|_, _| MatchKey::Any)
        }
        (MatchKind::Range, MatchKey::Pair(low, high)) => {
            let (low, high) = (number(low)?, number(high)?);
            if low.iter().rev().gt(high.iter().rev()) {
                let message = format!("the range of key field {} is empty", field.name);
                return Err(ControlError::invalid(message));
            }
            let shown = MatchKey::Pair(bytes::from_words(&low, bits), bytes::from_words(&high, bits));
            Ok(FieldMatch::Range { low, high, shown })
        }
        (MatchKind::Range, MatchKey::Value(value)) => {
            let value = number(value)?;
            let shown = MatchKey::Pair(bytes::from_words(&value, bits), bytes::from_words(&value, bits));
            Ok(FieldMatch::Range { low: value.clone(), high: value, shown })
        }
        (MatchKind::Range, MatchKey::Any) => {
            let (low, high) = (vec![0; words_for(bits) as usize], full_mask(bits));
            let shown = MatchKey::Pair(bytes::from_words(&low, bits), bytes::from_words(&high, bits));
            Ok(FieldMatch::Range { low, high, shown })
        }
        (MatchKind::Lpm | MatchKind::Ternary, MatchKey::Prefix(_, length)) => {
            let message = format!("a prefix of {length} bits is longer than key field {} ({bits} bits)", field.name);
            Err(ControlError::invalid(message))
        }
        (kind, _) => {
            let message =
                format!("key field {} is matched {}: the key given is of another kind", field.name, kind.as_str());
            Err(ControlError::invalid(message))
        }
    }
}
