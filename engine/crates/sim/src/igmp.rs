//! IGMP: messages (RFC 3376, and RFC 2236's version 2), what a report asks for, and a host's own memberships.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Where version 3 reports go (RFC 3376, section 4.2.14).
pub const REPORT_ADDRESS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);

/// A version 3 report's header, and a record's before its sources.
pub(crate) const IGMP_HEADER: usize = 8;
/// Fields of a version 3 query beyond version 2's eight octets: robustness 2, default interval, no sources.
pub(crate) const IGMP_QUERY_V3_REST: [u8; 4] = [0x02, 125, 0, 0];

/// Group record types (RFC 3376, section 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    IsInclude = 1,
    IsExclude = 2,
    ToInclude = 3,
    ToExclude = 4,
    Allow = 5,
    Block = 6,
}

impl RecordKind {
    pub fn from_wire(value: u8) -> Option<Self> {
        [Self::IsInclude, Self::IsExclude, Self::ToInclude, Self::ToExclude, Self::Allow, Self::Block]
            .into_iter()
            .find(|kind| *kind as u8 == value)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: RecordKind,
    pub group: Ipv4Addr,
    pub sources: Vec<Ipv4Addr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `group` is unspecified in a general query; answers are wanted within `max_response` tenths of a second.
    Query {
        group: Ipv4Addr,
        max_response: u8,
    },
    Report(Vec<Record>),
    ReportV2(Ipv4Addr),
    LeaveV2(Ipv4Addr),
}

/// Who is listened to: a group, from one source or from any.
pub type Subscription = (Ipv4Addr, Option<Ipv4Addr>);

/// One thing that a message asks of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Join(Subscription),
    Leave(Subscription),
}

impl Change {
    /// The canonical report of this change: one record.
    pub fn report(self) -> Message {
        let (kind, (group, source)) = match self {
            Change::Join(wanted @ (_, Some(_))) => (RecordKind::Allow, wanted),
            Change::Join(wanted) => (RecordKind::ToExclude, wanted),
            Change::Leave(wanted @ (_, Some(_))) => (RecordKind::Block, wanted),
            Change::Leave(wanted) => (RecordKind::ToInclude, wanted),
        };
        Message::Report(vec![Record { kind, group, sources: source.into_iter().collect() }])
    }
}

impl Message {
    /// Octets of the message.
    pub(crate) fn octets(&self) -> usize {
        match self {
            Message::Query { .. } => IGMP_HEADER + IGMP_QUERY_V3_REST.len(),
            Message::ReportV2(_) | Message::LeaveV2(_) => IGMP_HEADER,
            Message::Report(records) => {
                IGMP_HEADER + records.iter().map(|record| IGMP_HEADER + 4 * record.sources.len()).sum::<usize>()
            }
        }
    }

    /// What the message asks for, in order; a query asks routers for nothing.
    pub fn changes(&self) -> Vec<Change> {
        match self {
            Message::Query { .. } => Vec::new(),
            Message::ReportV2(group) => vec![Change::Join((*group, None))],
            Message::LeaveV2(group) => vec![Change::Leave((*group, None))],
            Message::Report(records) => records.iter().flat_map(record_changes).collect(),
        }
    }
}

fn record_changes(record: &Record) -> Vec<Change> {
    let group = record.group;
    let each = |change: fn(Subscription) -> Change| -> Vec<Change> {
        record.sources.iter().map(|&source| change((group, Some(source)))).collect()
    };
    match record.kind {
        RecordKind::ToInclude if record.sources.is_empty() => vec![Change::Leave((group, None))],
        RecordKind::IsInclude | RecordKind::ToInclude | RecordKind::Allow => each(Change::Join),
        RecordKind::Block => each(Change::Leave),
        RecordKind::IsExclude | RecordKind::ToExclude => {
            let mut changes = vec![Change::Join((group, None))];
            changes.extend(each(Change::Leave));
            changes
        }
    }
}

/// What a host's programs listen to, each by its number. Ordered, so that reports are the same in every run.
#[derive(Clone, Debug, Default)]
pub struct Memberships {
    members: BTreeMap<Subscription, Vec<u32>>,
}

impl Memberships {
    /// A program joins; true when the host had not been a member.
    pub fn join(&mut self, wanted: Subscription, program: u32) -> bool {
        let programs = self.members.entry(wanted).or_default();
        let first = programs.is_empty();
        if !programs.contains(&program) {
            programs.push(program);
        }
        first
    }

    /// A program leaves; true when it was the last one.
    pub fn leave(&mut self, wanted: Subscription, program: u32) -> bool {
        let Some(programs) = self.members.get_mut(&wanted) else { return false };
        programs.retain(|&other| other != program);
        let last = programs.is_empty();
        if last {
            self.members.remove(&wanted);
        }
        last
    }

    pub fn contains(&self, wanted: Subscription) -> bool {
        self.members.contains_key(&wanted)
    }

    /// All subscriptions that this program takes part in.
    pub fn of(&self, program: u32) -> Vec<Subscription> {
        self.members.iter().filter(|(_, programs)| programs.contains(&program)).map(|(&wanted, _)| wanted).collect()
    }

    /// The answer to a general query: the current state (RFC 3376, section 5.2).
    pub fn current_state(&self) -> Option<Message> {
        let mut records: Vec<Record> = Vec::new();
        for &(group, source) in self.members.keys() {
            let kind = if source.is_some() { RecordKind::IsInclude } else { RecordKind::IsExclude };
            match records.last_mut() {
                Some(last) if last.group == group && last.kind == kind => last.sources.extend(source),
                _ => records.push(Record { kind, group, sources: source.into_iter().collect() }),
            }
        }
        (!records.is_empty()).then_some(Message::Report(records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: Ipv4Addr = Ipv4Addr::new(232, 1, 1, 1);
    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    #[test]
    fn records_mean_what_the_switch_program_takes_them_for() {
        let report = |kind, sources: &[Ipv4Addr]| {
            Message::Report(vec![Record { kind, group: GROUP, sources: sources.to_vec() }]).changes()
        };
        let (any, a, b) = ((GROUP, None), (GROUP, Some(A)), (GROUP, Some(B)));
        assert_eq!(report(RecordKind::Allow, &[A, B]), [Change::Join(a), Change::Join(b)]);
        assert_eq!(report(RecordKind::IsInclude, &[A]), [Change::Join(a)]);
        assert_eq!(report(RecordKind::ToInclude, &[A]), [Change::Join(a)]);
        assert_eq!(report(RecordKind::ToInclude, &[]), [Change::Leave(any)]);
        assert_eq!(report(RecordKind::Block, &[B]), [Change::Leave(b)]);
        assert_eq!(report(RecordKind::ToExclude, &[A]), [Change::Join(any), Change::Leave(a)]);
        assert_eq!(Message::LeaveV2(GROUP).changes(), [Change::Leave(any)]);
    }

    #[test]
    fn canonical_reports_ask_for_the_change_they_were_made_of() {
        for change in [Change::Join, Change::Leave] {
            for source in [None, Some(A)] {
                assert_eq!(change((GROUP, source)).report().changes(), [change((GROUP, source))]);
            }
        }
    }

    #[test]
    fn the_host_reports_first_joins_and_last_leaves() {
        let mut memberships = Memberships::default();
        assert!(memberships.join((GROUP, Some(A)), 1));
        assert!(!memberships.join((GROUP, Some(A)), 2));
        assert!(memberships.join((GROUP, Some(B)), 2));
        assert!(!memberships.leave((GROUP, Some(A)), 1));
        let expected = Record { kind: RecordKind::IsInclude, group: GROUP, sources: vec![A, B] };
        assert_eq!(memberships.current_state(), Some(Message::Report(vec![expected])));
        assert_eq!(memberships.of(2).len(), 2);
        assert!(memberships.leave((GROUP, Some(A)), 2));
        assert!(!memberships.leave((GROUP, Some(A)), 2));
    }
}
