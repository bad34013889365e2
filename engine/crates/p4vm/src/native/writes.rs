//! Which groups of the header vector's words (`ir/groups.rs`) a part of the program may write to.

use std::ops::Range;

use crate::ir::{Field, Groups, Header, HeaderRef, Marks, ParserOp, Primitive, Program, Target, MARKS};
use crate::phv;

const NONE: Marks = [0; MARKS];
const ALL: Marks = [u64::MAX; MARKS];

impl Groups {
    fn word(&self, word: usize) -> Marks {
        let mut marks = NONE;
        let group = self.of.get(word).map_or(usize::MAX, |&group| usize::from(group));
        if let Some(bits) = marks.get_mut(group / 64).filter(|_| group < self.runs.len()) {
            *bits = 1 << (group % 64);
        }
        marks
    }

    fn words(&self, words: Range<usize>) -> Marks {
        words.map(|word| self.word(word)).fold(NONE, either)
    }

    pub(super) fn field(&self, field: &Field) -> Marks {
        self.words(phv::field_words(field))
    }
}

/// Those of both.
pub(super) fn either(a: Marks, b: Marks) -> Marks {
    std::array::from_fn(|half| a.get(half).copied().unwrap_or(0) | b.get(half).copied().unwrap_or(0))
}

impl Program {
    /// The groups that primitives may write to.
    pub(super) fn written(&self, body: &[Primitive]) -> Marks {
        body.iter().map(|primitive| self.written_by(primitive)).fold(NONE, either)
    }

    fn written_by(&self, primitive: &Primitive) -> Marks {
        let groups = &self.live.groups;
        match primitive {
            Primitive::Set { word, .. } | Primitive::Copy { to: word, .. } | Primitive::Argument { to: word, .. } => {
                groups.word(*word as usize)
            }
            Primitive::Assign { to, .. }
            | Primitive::RegisterRead { to, .. }
            | Primitive::ExecuteMeter { to, .. }
            | Primitive::Hash { to, .. }
            | Primitive::Random { to, .. } => match to {
                Target::Field(field) => groups.field(field),
                Target::In { .. } => ALL,
            },
            Primitive::AssignVarbit { to, .. } => groups.field(to),
            Primitive::AssignHeader { to, .. } | Primitive::AddHeader(to) | Primitive::RemoveHeader(to) => match to {
                HeaderRef::Header(header) => self.whole(*header),
                _ => ALL,
            },
            Primitive::MarkToDrop { egress_spec, mcast_grp } => {
                let group = mcast_grp.as_ref().map_or(NONE, |field| groups.field(field));
                either(groups.field(egress_spec), group)
            }
            Primitive::RegisterWrite { .. }
            | Primitive::Count { .. }
            | Primitive::Digest(_)
            | Primitive::CloneIngress { .. }
            | Primitive::CloneEgress { .. }
            | Primitive::Resubmit(_)
            | Primitive::Recirculate(_)
            | Primitive::Truncate(_)
            | Primitive::Log { .. }
            | Primitive::Assert(_)
            | Primitive::Exit
            | Primitive::Jump(_)
            | Primitive::JumpIfZero { .. } => NONE,
            Primitive::AssignStack { .. }
            | Primitive::AssignUnion { .. }
            | Primitive::AssignUnionStack { .. }
            | Primitive::Push { .. }
            | Primitive::Pop { .. }
            | Primitive::PushUnion { .. }
            | Primitive::PopUnion { .. } => ALL,
        }
    }

    /// The groups that operations of a parser may write to.
    pub(super) fn parsed_to(&self, ops: &[ParserOp]) -> Marks {
        let groups = &self.live.groups;
        let written = ops.iter().map(|op| match op {
            ParserOp::Extract(header) | ParserOp::ExtractVarbit { header, .. } => self.whole(*header),
            ParserOp::Set { to, .. } | ParserOp::SetVarbit { to, .. } | ParserOp::SetLookahead { to, .. } => {
                groups.field(to)
            }
            ParserOp::Primitive(primitive) => self.written_by(primitive),
            ParserOp::Verify { .. } | ParserOp::Advance(_) => NONE,
            ParserOp::ExtractTo { .. }
            | ParserOp::ExtractNext(_)
            | ParserOp::ExtractNextVarbit { .. }
            | ParserOp::ExtractNextUnion { .. } => ALL,
        });
        written.fold(NONE, either)
    }

    /// Those of a header, with its validity. In a union it takes that of the others.
    fn whole(&self, header: u32) -> Marks {
        match self.headers.get(header as usize) {
            Some(Header { union: Some(_), .. }) => ALL,
            Some(header) => self.live.groups.words(phv::header_words(header)),
            None => NONE,
        }
    }
}
