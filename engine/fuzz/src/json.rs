//! Mutations of a JSON document as a tree: bytes changed at random hardly ever leave one that is still JSON.

use serde_json::{Number, Value};

/// Values that have ended programs before: the borders of ranges and of what indices fit.
const NUMBERS: [i64; 16] = [0, 1, -1, 2, 7, 8, 31, 32, 63, 64, 65, 2048, 65_535, u32::MAX as i64, i64::MAX, i64::MIN];

/// SplitMix64, from libFuzzer's seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}

/// Changes some values of the document in `data[..size]`, and returns its new size; None when it is none, or when the
/// result does not fit.
pub fn mutate_json(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> Option<usize> {
    let mut root: Value = serde_json::from_slice(data.get(..size)?).ok()?;
    let mut random = Random(u64::from(seed));
    for _ in 0..=random.below(3) {
        let donor = pick(&mut root, &mut random).clone();
        change(pick(&mut root, &mut random), donor, &mut random);
    }
    let text = serde_json::to_vec(&root).ok()?;
    data.get_mut(..text.len()).filter(|_| text.len() <= max_size)?.copy_from_slice(&text);
    Some(text.len())
}

fn children(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    }
}

/// A value somewhere in the tree; the walk ends at each level with one chance in six.
fn pick<'a>(value: &'a mut Value, random: &mut Random) -> &'a mut Value {
    let is_leaf = match &*value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    };
    if is_leaf || random.below(6) == 0 {
        return value;
    }
    let mut inside = children(value);
    let at = random.below(inside.len());
    pick(inside.swap_remove(at), random)
}

fn change(value: &mut Value, donor: Value, random: &mut Random) {
    match (random.below(4), &mut *value) {
        (0, _) => *value = donor,
        (1, Value::Array(items)) if !items.is_empty() => drop(items.remove(random.below(items.len()))),
        (2, Value::Array(items)) if !items.is_empty() => {
            let item = items[random.below(items.len())].clone();
            items.insert(random.below(items.len()), item);
        }
        (3, Value::Array(items)) if !items.is_empty() => {
            let (a, b) = (random.below(items.len()), random.below(items.len()));
            items.swap(a, b);
        }
        (1, Value::Object(fields)) if !fields.is_empty() => {
            let key = fields.keys().nth(random.below(fields.len())).cloned();
            drop(key.and_then(|key| fields.remove(&key)));
        }
        (_, Value::Number(_)) => *value = Value::Number(Number::from(NUMBERS[random.below(NUMBERS.len())])),
        (_, Value::Bool(flag)) => *flag = !*flag,
        (1, Value::String(text)) => drop(text.pop()),
        (2, Value::String(text)) if text.starts_with("0x") => text.push_str("ffff"),
        _ => *value = donor,
    }
}
