//! Which words of the header vector anybody may read before they are written, so that a packet need not begin with all
//! of them blank, nor a copy take all of them along: most of a compiled program's metadata are what its actions compute
//! with (liveness, as compilers have it: Aho, Lam, Sethi, Ullman, "Compilers", 9.2.5).
//!
//! Fields of metadata are followed through the controls, but for those that the machine reads itself. All
//! other words are taken as read: headers, whose fields the parser may leave alone, validities and stacks' counters.
//! What is not understood is taken to read everything.

use std::ops::Range;

use super::reads::{Read, Reads};
use super::words::Words;
use crate::ir::{Live, Next, Node, ParserOp, Primitive, Program, SelectKey, Table, END};
use crate::phv;

/// Steps of the search, in words of sets, beyond which everything counts as read (ours: some tenths of a second).
const MOST_WORK: u64 = 1 << 27;

/// The words to be blank when a packet comes in, and those that a copy takes to egress, of a program whose other parts
/// are complete.
pub(crate) fn analyse(program: &Program) -> Live {
    let tracked = tracked(program);
    let mut search = Search { program, none: Words::none(program.blank.len()), left: MOST_WORK };
    let (start, egress) = search.run();
    let ranges = |read: Option<Words>| match read {
        Some(read) if search.left > 0 => ranges(program.blank.len(), |word| !tracked.has(word) || read.has(word)),
        _ => ranges(program.blank.len(), |_| true),
    };
    let (start, egress) = (ranges(start), ranges(egress));
    let is_read = |word: usize| start.iter().chain(&egress).any(|words| words.contains(&word));
    let told = program.intrinsics.clone().only(is_read);
    Live { start, egress, told, ..Live::default() }
}

/// Metadata whose reads and writes are followed.
pub(super) fn tracked(program: &Program) -> Words {
    let mut tracked = Words::none(program.blank.len());
    for header in program.headers.iter().filter(|header| header.metadata) {
        header.fields.iter().for_each(|field| tracked.add_all(phv::field_words(field)));
    }
    let in_stacks = program.stacks.iter().flat_map(|stack| &stack.headers);
    for header in in_stacks.chain(program.unions.iter().flat_map(|union| &union.headers)) {
        if let Some(header) = program.headers.get(*header as usize) {
            tracked.remove_all(phv::header_words(header));
        }
    }
    program.intrinsics.own().into_iter().flatten().for_each(|field| tracked.remove_all(phv::field_words(&field)));
    tracked
}

pub(super) fn ranges(words: usize, is_live: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for word in (0..words).filter(|&word| is_live(word)) {
        match ranges.last_mut() {
            Some(last) if word == last.end => last.end = word + 1,
            _ => ranges.push(word..word + 1),
        }
    }
    ranges
}

struct Search<'p> {
    program: &'p Program,
    none: Words,
    left: u64,
}

impl Search<'_> {
    /// What may be read from the start of ingress on, and from that of egress on.
    fn run(&mut self) -> (Read, Read) {
        let program = self.program;
        let mut lists = Reads::new(program, self.none.clone());
        let learned = program.learn_lists.iter().flatten().flat_map(|list| &list.fields);
        let kept = program.field_lists.iter().flatten().flat_map(|list| &list.fields);
        learned.chain(kept).for_each(|field| lists.field(field));
        let lists = lists.read;
        let mut end = Reads::new(program, lists.clone());
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            checksum.condition.iter().for_each(|condition| end.condition(condition));
            end.calculation(program.calculations.get(checksum.calculation as usize));
        }
        let sent = program.deparser.order.iter().filter_map(|&header| program.headers.get(header as usize));
        sent.flat_map(|header| &header.fields).for_each(|field| end.field(field));
        let Some(end) = self.body(&program.deparser.ops, end.done(), &lists) else { return (None, None) };
        let Some(egress) = self.control(program.egress.start, &end) else { return (None, None) };
        let mut out = lists;
        out.join(&egress);
        let Some(ingress) = self.control(program.ingress.start, &out) else { return (None, Some(egress)) };
        let mut start = Reads::new(program, ingress);
        for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
            checksum.condition.iter().for_each(|condition| start.condition(condition));
            start.calculation(program.calculations.get(checksum.calculation as usize));
        }
        self.parser(&mut start);
        (start.done(), Some(egress))
    }

    /// Whatever the parser names is taken as read before.
    fn parser(&mut self, reads: &mut Reads<'_>) {
        let program = self.program;
        for state in &program.parser.states {
            for op in &state.ops {
                match op {
                    ParserOp::Extract(_) | ParserOp::ExtractNext(_) => {}
                    ParserOp::ExtractVarbit { bits, .. } | ParserOp::ExtractNextVarbit { bits, .. } => reads.expr(bits),
                    ParserOp::ExtractTo { header, bits } => {
                        reads.header(header);
                        bits.iter().for_each(|bits| reads.expr(bits));
                    }
                    ParserOp::ExtractNextUnion { bits, .. } => bits.iter().for_each(|bits| reads.expr(bits)),
                    ParserOp::Set { to, value } => {
                        reads.field(to);
                        reads.expr(value);
                    }
                    ParserOp::SetVarbit { to, from } => [to, from].into_iter().for_each(|field| reads.field(field)),
                    ParserOp::SetLookahead { to, .. } => reads.field(to),
                    ParserOp::Verify { condition, error } => {
                        reads.condition(condition);
                        reads.expr(error);
                    }
                    ParserOp::Primitive(primitive) => {
                        let before = Some(self.none.clone());
                        match self.body(std::slice::from_ref(primitive), before, &self.none.clone()) {
                            Some(read) => reads.read.join(&read),
                            None => reads.all = true,
                        }
                    }
                    ParserOp::Advance(bits) => reads.expr(bits),
                }
            }
            for key in &state.key {
                if let SelectKey::Field(field) = key {
                    reads.field(field);
                }
            }
        }
    }

    /// What may be read from a control's start on, with what may be read after its end. Nodes come after all that follow
    /// them: controls have no cycle.
    fn control(&mut self, start: Next, end: &Words) -> Read {
        let program = self.program;
        let nodes = program.nodes.len();
        self.spend(nodes as u64)?;
        let mut known: Vec<Read> = vec![None; nodes];
        let mut open = vec![start];
        while let Some(&at) = open.last() {
            let Some(node) = program.nodes.get(at as usize) else {
                open.pop();
                continue;
            };
            let follow = self.followers(node);
            let missing = |next: &Next| known.get(*next as usize).is_some_and(Option::is_none);
            let before = open.len();
            open.extend(follow.into_iter().filter(missing));
            if open.len() > before {
                self.spend((open.len() - before) as u64)?;
                continue;
            }
            open.pop();
            if missing(&at) {
                let read = self.node(node, &known, end)?;
                if let Some(place) = known.get_mut(at as usize) {
                    *place = Some(read);
                }
            }
        }
        Some(after(&known, start, end).clone())
    }

    fn followers(&self, node: &Node) -> Vec<Next> {
        match node {
            Node::If { then, otherwise, .. } => vec![*then, *otherwise],
            Node::Call { next, .. } => vec![*next],
            Node::Apply(table) => {
                let Some(table) = self.program.tables.get(*table as usize) else { return Vec::new() };
                let (hit, miss) = table.hit_miss.unwrap_or((END, END));
                table.actions.iter().map(|(_, next)| *next).chain([table.base_next, hit, miss]).collect()
            }
        }
    }

    fn node(&mut self, node: &Node, known: &[Read], end: &Words) -> Read {
        self.spend(1)?;
        let program = self.program;
        match node {
            Node::If { condition, then, otherwise } => {
                let mut reads = Reads::new(program, after(known, *then, end).clone());
                reads.read.join(after(known, *otherwise, end));
                reads.condition(condition);
                reads.done()
            }
            Node::Call { action, next, .. } => self.action(*action, after(known, *next, end), end),
            Node::Apply(table) => match program.tables.get(*table as usize) {
                Some(table) => self.table(table, known, end),
                None => Some(end.clone()),
            },
        }
    }

    fn table(&mut self, table: &Table, known: &[Read], end: &Words) -> Read {
        let program = self.program;
        let after_all = |next: Next| match table.hit_miss {
            None => after(known, next, end).clone(),
            Some((hit, miss)) => {
                let mut both = after(known, hit, end).clone();
                both.join(after(known, miss, end));
                both
            }
        };
        let mut reads = Reads::new(program, after_all(table.base_next));
        for (action, next) in &table.actions {
            let read = self.action(*action, &after_all(*next), end)?;
            reads.read.join(&read);
        }
        for key in &table.key {
            match &key.expr {
                Some(expr) => reads.expr(expr),
                None => reads.field(&key.field),
            }
        }
        let profile = table.profile.and_then(|profile| program.profiles.get(profile as usize));
        reads.calculation(profile.and_then(|profile| profile.selector.as_ref()));
        reads.done()
    }

    fn action(&mut self, action: u32, next: &Words, end: &Words) -> Read {
        let program = self.program;
        let Some(action) = program.actions.get(action as usize) else { return Some(next.clone()) };
        self.body(&action.body, Some(next.clone()), end)
    }

    /// What may be read from the first of some primitives on. `end`: after what ends the control.
    fn body(&mut self, body: &[Primitive], next: Read, end: &Words) -> Read {
        let (program, next) = (self.program, next?);
        self.spend(body.len() as u64)?;
        // What may be read from each primitive on, last first.
        let mut from = vec![next];
        for (at, primitive) in body.iter().enumerate().rev() {
            let to = |to: u32| {
                let behind = body.len().saturating_sub(to as usize);
                from.get(behind).filter(|_| to as usize > at)
            };
            let mut reads = Reads::new(program, from.last()?.clone());
            match primitive {
                Primitive::Jump(next) => reads = Reads::new(program, to(*next)?.clone()),
                Primitive::JumpIfZero { condition, to: next } => {
                    reads.read.join(to(*next)?);
                    reads.expr(condition);
                }
                Primitive::Hash { calculation, .. } => {
                    reads.calculation(program.calculations.get(*calculation as usize));
                    reads.primitive(primitive, end);
                }
                _ => reads.primitive(primitive, end),
            }
            from.push(reads.done()?);
        }
        from.pop()
    }

    /// None: it takes too long.
    fn spend(&mut self, sets: u64) -> Option<()> {
        let cost = sets * (self.none.len() as u64 + 1);
        self.left = self.left.saturating_sub(cost);
        (self.left > 0).then_some(())
    }
}

fn after<'k>(known: &'k [Read], next: Next, end: &'k Words) -> &'k Words {
    known.get(next as usize).and_then(Option::as_ref).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Action, Args, Expr, Field, FieldList, Header, Intrinsics, Pipeline, Target, Value};

    fn field(word: u32) -> Field {
        Field::plain(word, 32)
    }

    fn value(word: u32) -> Expr {
        Expr { tier: crate::ir::Tier::I64, value: Value::Field { word, bits: 32 } }
    }

    /// The words, of eight fields of metadata, that a program with one action reads before it writes them. Field 7 is in
    /// a list that copies keep.
    fn live(body: Vec<Primitive>) -> Vec<usize> {
        let mut program = crate::load::from_json(include_str!("../../tests/data/l2.json")).unwrap();
        program.actions = vec![Action { name: String::new(), params: Vec::new(), arg_words: 0, body }];
        program.nodes = vec![Node::Call { action: 0, args: Args::from(Box::<[u64]>::default()), next: END }];
        (program.ingress, program.egress) = (Pipeline { start: 0 }, Pipeline { start: END });
        program.headers = vec![Header {
            name: String::new(),
            base: 8,
            words: 9,
            fields: (0..8).map(field).collect(),
            field_names: Vec::new(),
            bits: 256,
            varbit: None,
            metadata: true,
            union: None,
            var_length: None,
            max_bytes: 0,
        }];
        program.field_lists = vec![Some(FieldList { fields: vec![field(7)] })];
        (program.intrinsics, program.blank) = (Intrinsics::default(), vec![0; 8]);
        (program.checksums, program.parser.states) = (Vec::new(), Vec::new());
        (program.learn_lists, program.deparser.order) = (Vec::new(), Vec::new());
        analyse(&program).start.into_iter().flatten().collect()
    }

    fn copy(to: u32, from: u32) -> Primitive {
        Primitive::Copy { to, from, mask: 1 }
    }

    #[test]
    fn what_is_written_first_is_not_read_before() {
        let set = |word| Primitive::Set { word, value: 1 };
        assert_eq!(live(vec![set(1), copy(2, 1)]), [7]);
        assert_eq!(live(vec![copy(2, 1)]), [1, 7]);
        assert_eq!(live(vec![copy(2, 1), set(1)]), [1, 7]);
        assert_eq!(live(vec![set(7)]), [0; 0]);
        let assign = Primitive::Assign { to: Target::Field(field(1)), value: value(3) };
        assert_eq!(live(vec![assign, copy(2, 1)]), [3, 7]);
    }

    #[test]
    fn a_packet_of_our_program_needs_few_blank_words() {
        let program = crate::load::from_json(include_str!("../../../../../p4src/canopy.json")).unwrap();
        let words = |ranges: &[Range<usize>]| ranges.iter().map(ExactSizeIterator::len).sum::<usize>();
        let (start, egress) = (words(&program.live.start), words(&program.live.egress));
        println!("{start} and {egress} of {} words, {} ranges", program.blank.len(), program.live.start.len());
        assert!(2 * start < program.blank.len() && 2 * egress < program.blank.len());
    }

    #[test]
    fn every_way_counts() {
        let set = |word| Primitive::Set { word, value: 1 };
        let jump = |to| Primitive::JumpIfZero { condition: value(3), to };
        assert_eq!(live(vec![jump(2), set(1), copy(2, 1)]), [1, 3, 7]);
        assert_eq!(live(vec![jump(3), set(1), copy(2, 1)]), [3, 7]);
        assert_eq!(live(vec![Primitive::Exit, set(7)]), [7]);
        // Not understood, so all.
        assert_eq!(live(vec![set(1), Primitive::Jump(0)]).len(), 8);
    }

    #[test]
    fn what_may_not_be_written_is_read_before() {
        let read = Primitive::RegisterRead { to: Target::Field(field(1)), register: 0, index: value(4) };
        assert_eq!(live(vec![read, copy(2, 1)]), [1, 4, 7]);
    }
}
