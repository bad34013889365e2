//! Prefixes in a tree bitmap (Eatherton, Dittia, Varghese, "Tree bitmap", CCR 2004): a node covers six bits, says in one
//! word which prefixes end within them and in another which longer ones go on, and keeps no place for what is not there.
//! A look-up reads one node for six bits of the address, however many prefixes there are.

/// Bits of a node.
const STRIDE: u32 = 6;

/// For six bits of an address: the places of the prefixes, of length 0 to 5, that they start with. The prefix with the
/// `length` bits `value` has place `2^length - 1 + value`, so that the longest of several has the highest place.
static COVERING: [u64; 1 << STRIDE] = covering();

#[allow(clippy::indexing_slicing)] // computed when this is compiled
const fn covering() -> [u64; 1 << STRIDE] {
    let mut table = [0; 1 << STRIDE];
    let mut bits = 0;
    while bits < 1 << STRIDE {
        let mut length = 0;
        while length < STRIDE {
            table[bits] |= 1 << place(bits as u32 >> (STRIDE - length), length);
            length += 1;
        }
        bits += 1;
    }
    table
}

const fn place(value: u32, length: u32) -> u32 {
    (1 << length) - 1 + value
}

/// The bits of `set` below `place`.
fn rank(set: u64, place: u32) -> usize {
    (set & ((1 << place) - 1)).count_ones() as usize
}

/// One cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Node {
    /// Places of the prefixes that end here.
    ends: u64,
    /// Six bits after which there is another node.
    goes_on: u64,
    values: Values,
    children: Vec<Node>,
}

/// The values of the prefixes that end in a node, by rank. Most nodes have one or a few, which need no memory of their
/// own to be waited for.
#[derive(Debug)]
enum Values {
    Few([u32; FEW]),
    Many(Vec<u32>),
}

/// As many as leave the node one cache line.
const FEW: usize = 4;

impl Default for Values {
    fn default() -> Self {
        Self::Few([0; FEW])
    }
}

impl Values {
    #[inline]
    fn get(&self, index: usize) -> Option<u32> {
        match self {
            Self::Few(values) => values.get(index).copied(),
            Self::Many(values) => values.get(index).copied(),
        }
    }

    fn set(&mut self, index: usize, value: u32) {
        let slot = match self {
            Self::Few(values) => values.get_mut(index),
            Self::Many(values) => values.get_mut(index),
        };
        if let Some(slot) = slot {
            *slot = value;
        }
    }

    /// Insert one before the others from `index` on; there were `count`.
    fn insert(&mut self, index: usize, count: usize, value: u32) {
        if let Self::Few(values) = self {
            if count < FEW {
                if let Some(moved) = values.get_mut(index..=count) {
                    moved.rotate_right(1);
                }
                return self.set(index, value);
            }
            *self = Self::Many(values.to_vec());
        }
        if let Self::Many(values) = self {
            values.insert(index.min(values.len()), value);
        }
    }

    /// Remove one of `count`.
    fn remove(&mut self, index: usize, count: usize) {
        match self {
            Self::Few(values) => {
                if let Some(moved) = values.get_mut(index..count) {
                    moved.rotate_left(1);
                }
            }
            Self::Many(values) => {
                values.remove(index);
                if let Ok(few) = <[u32; FEW]>::try_from(values.as_slice()) {
                    *self = Self::Few(few);
                }
            }
        }
    }
}

/// The bits of an address, most significant first, up to six from any of them on.
pub(super) trait Address {
    /// The six bits from bit `at` on, zeros beyond the last.
    fn bits_from(&self, at: u32) -> u32;
}

/// An address of up to 64 bits, in the highest of the word.
#[derive(Clone, Copy)]
pub(super) struct Short(pub u64);

impl Address for Short {
    #[inline]
    fn bits_from(&self, at: u32) -> u32 {
        (self.0.checked_shl(at).unwrap_or(0) >> (64 - STRIDE)) as u32
    }
}

/// An address of `bits` bits in words, the least significant first, which may hold more bits beyond.
#[derive(Clone, Copy)]
pub(super) struct Long<'a> {
    pub words: &'a [u64],
    pub bits: u32,
}

impl Address for Long<'_> {
    #[inline]
    fn bits_from(&self, at: u32) -> u32 {
        let word = |index: u32| self.words.get(index as usize).copied().unwrap_or(0);
        let left = self.bits.saturating_sub(at);
        let six = match left.checked_sub(STRIDE) {
            None => word(0) << (STRIDE - left),
            Some(low) if low % 64 > 64 - STRIDE => word(low / 64) >> (low % 64) | word(low / 64 + 1) << (64 - low % 64),
            Some(low) => word(low / 64) >> (low % 64),
        };
        six as u32 & ((1 << STRIDE) - 1)
    }
}

impl Node {
    /// The value of the longest prefix that the address starts with.
    #[inline]
    pub(super) fn longest(&self, address: impl Address) -> Option<u32> {
        let (mut node, mut best, mut at) = (self, None, 0);
        loop {
            let six = address.bits_from(at);
            let ends = node.ends & COVERING.get(six as usize).copied().unwrap_or(0);
            if ends != 0 {
                best = Some((node, 63 - ends.leading_zeros()));
            }
            if node.goes_on >> six & 1 == 0 {
                break;
            }
            let Some(child) = node.children.get(rank(node.goes_on, six)) else { break };
            node = child;
            at += STRIDE;
        }
        let (node, place) = best?;
        node.values.get(rank(node.ends, place))
    }

    /// The value of a prefix, which is the first `length` bits of the address.
    pub(super) fn find(&self, address: impl Address, length: u32) -> Option<u32> {
        let (mut node, mut at) = (self, 0);
        while at + STRIDE <= length {
            let six = address.bits_from(at);
            if node.goes_on >> six & 1 == 0 {
                return None;
            }
            node = node.children.get(rank(node.goes_on, six))?;
            at += STRIDE;
        }
        let place = place(address.bits_from(at) >> (STRIDE - (length - at)), length - at);
        if node.ends >> place & 1 == 0 {
            return None;
        }
        node.values.get(rank(node.ends, place))
    }

    /// Give a prefix a value; one that it has is replaced.
    pub(super) fn insert(&mut self, address: impl Address, length: u32, value: u32) {
        let (mut node, mut at) = (self, 0);
        while at + STRIDE <= length {
            let six = address.bits_from(at);
            let index = rank(node.goes_on, six);
            if node.goes_on >> six & 1 == 0 {
                node.goes_on |= 1 << six;
                node.children.reserve_exact(1); // most nodes have few, and there are many nodes
                node.children.insert(index, Self::default());
            }
            let Some(child) = node.children.get_mut(index) else { return };
            node = child;
            at += STRIDE;
        }
        let place = place(address.bits_from(at) >> (STRIDE - (length - at)), length - at);
        let index = rank(node.ends, place);
        if node.ends >> place & 1 == 0 {
            node.values.insert(index, node.ends.count_ones() as usize, value);
            node.ends |= 1 << place;
        } else {
            node.values.set(index, value);
        }
    }

    /// Remove a prefix, and the nodes that nothing is left in.
    pub(super) fn remove(&mut self, address: impl Address + Copy, length: u32) {
        self.remove_from(address, length, 0);
    }

    fn remove_from(&mut self, address: impl Address + Copy, length: u32, at: u32) {
        let six = address.bits_from(at);
        if at + STRIDE > length {
            let place = place(six >> (STRIDE - (length - at)), length - at);
            if self.ends >> place & 1 != 0 {
                self.values.remove(rank(self.ends, place), self.ends.count_ones() as usize);
                self.ends &= !(1 << place);
            }
            return;
        }
        let index = rank(self.goes_on, six);
        if self.goes_on >> six & 1 == 0 {
            return;
        }
        if let Some(child) = self.children.get_mut(index) {
            child.remove_from(address, length, at + STRIDE);
            if child.is_empty() {
                self.children.remove(index);
                self.goes_on &= !(1 << six);
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ends == 0 && self.goes_on == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any width, with bits that differ at both ends.
    fn address(bits: u32) -> impl Strategy<Value = u128> {
        let full = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
        prop_oneof![
            any::<u128>().prop_map(move |value| value & full),
            (0u128..8, 0u128..8).prop_map(move |(low, high)| (low | high << (bits - 3)) & full),
        ]
    }

    fn prefix_of(value: u128, length: u32, bits: u32) -> u128 {
        if length == 0 {
            0
        } else {
            value >> (bits - length) << (bits - length)
        }
    }

    #[test]
    fn a_node_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Node>(), 64);
    }

    fn run(bits: u32, prefixes: &[(u128, u32, bool)], looked_up: &[u128]) -> Result<(), TestCaseError> {
        let mut root = Node::default();
        let mut model = Vec::<(u128, u32, u32)>::new();
        let words = |value: u128| [value as u64, (value >> 64) as u64, u64::MAX];
        for (number, &(value, length, stays)) in prefixes.iter().enumerate() {
            let length = length.min(bits);
            let value = prefix_of(value, length, bits);
            let held = words(value);
            let address = Long { words: &held, bits };
            model.retain(|&(v, l, _)| (v, l) != (value, length));
            if stays {
                root.insert(address, length, number as u32);
                model.push((value, length, number as u32));
            } else {
                root.remove(address, length);
            }
            let there = model.iter().find(|&&(v, l, _)| (v, l) == (value, length)).map(|entry| entry.2);
            prop_assert_eq!(root.find(address, length), there);
        }
        for &value in looked_up.iter().chain(prefixes.iter().map(|(value, _, _)| value)) {
            let hits = model.iter().filter(|&&(v, l, _)| prefix_of(value, l, bits) == v);
            let wanted = hits.max_by_key(|entry| entry.1).map(|entry| entry.2);
            prop_assert_eq!(root.longest(Long { words: &words(value), bits }), wanted);
            if bits <= 64 {
                prop_assert_eq!(root.longest(Short((value as u64) << (64 - bits))), wanted);
            }
        }
        for (value, length, _) in model {
            root.remove(Long { words: &words(value), bits }, length);
        }
        prop_assert!(root.is_empty());
        Ok(())
    }

    proptest! {
        #![proptest_config(crate::seeded(200))]

        #[test]
        fn finds_what_a_scan_finds(
            (bits, prefixes, looked_up) in prop::sample::select(vec![9u32, 32, 48, 63, 64, 65, 70, 127, 128]).prop_flat_map(|bits| (
                Just(bits),
                prop::collection::vec((address(bits), 0..=bits, prop::bool::weighted(0.8)), 1..60),
                prop::collection::vec(address(bits), 20),
            ))
        ) {
            run(bits, &prefixes, &looked_up)?;
        }
    }
}
