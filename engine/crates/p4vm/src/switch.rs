//! The switch: data path and control operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::*;

type Result<T> = std::result::Result<T, ControlError>;

/// A loaded program: immutable, shared between switches.
#[derive(Debug)]
pub struct Program {}

impl Program {
    /// Compile p4c's BMv2 JSON. Never panics; the error names the place in the JSON.
    pub fn from_json(text: &str) -> std::result::Result<Arc<Self>, LoadError> {
        let _ = text;
        Err(LoadError::new("", "not a program"))
    }
}

/// A copy on its way from ingress to egress. Dropping one is right anywhere (a full queue, a dead port);
/// [`Switch::recycle`] does the same but keeps its buffer for the next packet. Copies of one packet share their buffer.
#[derive(Debug)]
pub struct PacketCopy {}

impl PacketCopy {
    /// The egress port.
    pub fn port(&self) -> u16 {
        0
    }

    /// Bytes on the wire if egress processing neither adds nor removes any.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        0
    }

    /// Replication, clone or normal.
    pub fn instance_type(&self) -> InstanceType {
        InstanceType::Normal
    }

    /// `egress_rid`: the replica's instance.
    pub fn instance(&self) -> u16 {
        0
    }

    /// `standard_metadata.priority` (`intrinsic_metadata.priority`) as ingress left it, or a clone session's class of
    /// service; 0 is the lowest.
    pub fn priority(&self) -> u32 {
        0
    }
}

/// One P4 switch without I/O or clock. `Send`; the names in control operations are the JSON's. Times only go forward:
/// an earlier `now` counts as the latest one seen.
#[derive(Debug)]
pub struct Switch {
    program: Arc<Program>,
    options: Options,
}

#[allow(unused_variables, clippy::missing_errors_doc)]
impl Switch {
    pub fn new(program: Arc<Program>, options: Options) -> Self {
        Self { program, options }
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Back to the state after loading: no entries but const ones, zero counters and registers, no groups, no events.
    pub fn reset(&mut self) {}

    // Data path.

    /// Parser, ingress control and replication of a packet that arrived at `port`: its copies are pushed on `copies`.
    /// Resubmitted packets pass again at once. Nothing is pushed when the packet is dropped.
    pub fn ingress(&mut self, now_ns: u64, port: u16, packet: &[u8], copies: &mut Vec<PacketCopy>) {}

    /// Egress control and deparser of one copy. Appends the packet to `out` and returns its port, or appends nothing
    /// and returns None when it is dropped or recirculated. Egress clones, and copies of a recirculated packet after
    /// its next ingress, are pushed on `copies`.
    pub fn egress(
        &mut self,
        now_ns: u64,
        copy: PacketCopy,
        queue: &QueueMeta,
        out: &mut Vec<u8>,
        copies: &mut Vec<PacketCopy>,
    ) -> Option<u16> {
        None
    }

    /// Throw a copy away and keep its buffer.
    pub fn recycle(&mut self, copy: PacketCopy) {}

    /// Ingress and egress of a packet and of all its copies with empty queues. Packets are appended to `out`.
    pub fn process(&mut self, now_ns: u64, port: u16, packet: &[u8], out: &mut Outputs) {}

    /// Let time pass without a packet: idle timeouts are found here. `ingress` does this too, at most every 100 ms.
    pub fn tick(&mut self, now_ns: u64) {}

    // Events and statistics.

    /// Number of events waiting.
    pub fn pending_events(&self) -> usize {
        0
    }

    /// Take up to `max` events, oldest first.
    pub fn take_events(&mut self, max: usize) -> Vec<Event> {
        Vec::new()
    }

    /// Packets in, out, dropped by reason, cut loops, lost events, ...: name and count.
    pub fn stats(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    // What the program has.

    pub fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    pub fn table_info(&self, table: &str) -> Result<TableInfo> {
        Err(ControlError::not_found(table))
    }

    pub fn actions(&self) -> Vec<ActionInfo> {
        Vec::new()
    }

    // Tables.

    pub fn table_add(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        target: &EntryTarget,
        idle_timeout_us: u64,
    ) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn table_modify(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        target: &EntryTarget,
        idle_timeout_us: u64,
    ) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn table_delete(&mut self, table: &str, key: &[MatchKey], priority: i32) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn table_get(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<TableEntry> {
        Err(ControlError::not_found(table))
    }

    pub fn table_entries(&self, table: &str) -> Result<Vec<TableEntry>> {
        Err(ControlError::not_found(table))
    }

    /// None: a miss does nothing.
    pub fn table_default(&self, table: &str) -> Result<Option<ActionCall>> {
        Err(ControlError::not_found(table))
    }

    pub fn table_set_default(&mut self, table: &str, action: &ActionCall) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn table_reset_default(&mut self, table: &str) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    // Action profiles and selectors.

    pub fn profiles(&self) -> Vec<String> {
        Vec::new()
    }

    pub fn member_add(&mut self, profile: &str, member: u32, action: &ActionCall) -> Result<()> {
        Err(ControlError::not_found(profile))
    }

    pub fn member_modify(&mut self, profile: &str, member: u32, action: &ActionCall) -> Result<()> {
        Err(ControlError::not_found(profile))
    }

    pub fn member_delete(&mut self, profile: &str, member: u32) -> Result<()> {
        Err(ControlError::not_found(profile))
    }

    pub fn members(&self, profile: &str) -> Result<BTreeMap<u32, ActionCall>> {
        Err(ControlError::not_found(profile))
    }

    /// Create or replace a group. `max_size` 0: no limit but the profile's.
    pub fn group_set(&mut self, profile: &str, group: u32, members: &GroupMembers, max_size: u32) -> Result<()> {
        Err(ControlError::not_found(profile))
    }

    pub fn group_delete(&mut self, profile: &str, group: u32) -> Result<()> {
        Err(ControlError::not_found(profile))
    }

    pub fn groups(&self, profile: &str) -> Result<BTreeMap<u32, GroupMembers>> {
        Err(ControlError::not_found(profile))
    }

    // Counters, meters, registers. A direct one belongs to a table's entry.

    pub fn counters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Packets and bytes.
    pub fn counter_read(&self, counter: &str, index: usize) -> Result<(u64, u64)> {
        Err(ControlError::not_found(counter))
    }

    pub fn counter_read_all(&self, counter: &str) -> Result<Vec<(u64, u64)>> {
        Err(ControlError::not_found(counter))
    }

    pub fn counter_write(&mut self, counter: &str, index: usize, packets: u64, octets: u64) -> Result<()> {
        Err(ControlError::not_found(counter))
    }

    pub fn direct_counter_read(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<(u64, u64)> {
        Err(ControlError::not_found(table))
    }

    pub fn direct_counter_write(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        packets: u64,
        octets: u64,
    ) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn meters(&self) -> Vec<String> {
        Vec::new()
    }

    /// None: not configured, every packet is green.
    pub fn meter_read(&self, meter: &str, index: usize) -> Result<Option<MeterRates>> {
        Err(ControlError::not_found(meter))
    }

    pub fn meter_write(&mut self, meter: &str, index: usize, rates: Option<MeterRates>) -> Result<()> {
        Err(ControlError::not_found(meter))
    }

    pub fn direct_meter_read(&self, table: &str, key: &[MatchKey], priority: i32) -> Result<Option<MeterRates>> {
        Err(ControlError::not_found(table))
    }

    pub fn direct_meter_write(
        &mut self,
        table: &str,
        key: &[MatchKey],
        priority: i32,
        rates: Option<MeterRates>,
    ) -> Result<()> {
        Err(ControlError::not_found(table))
    }

    pub fn registers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Number of cells and their width in bits.
    pub fn register_size(&self, register: &str) -> Result<(usize, u32)> {
        Err(ControlError::not_found(register))
    }

    /// The cell, big endian, in as many bytes as its width needs.
    pub fn register_read(&self, register: &str, index: usize) -> Result<Vec<u8>> {
        Err(ControlError::not_found(register))
    }

    /// `value` is big endian; one that does not fit the width is refused.
    pub fn register_write(&mut self, register: &str, index: usize, value: &[u8]) -> Result<()> {
        Err(ControlError::not_found(register))
    }

    // Packet replication engine.

    pub fn mcast_group_add(&mut self, group: u16, replicas: &[Replica]) -> Result<()> {
        Err(ControlError::unimplemented(""))
    }

    pub fn mcast_group_modify(&mut self, group: u16, replicas: &[Replica]) -> Result<()> {
        Err(ControlError::unimplemented(""))
    }

    pub fn mcast_group_delete(&mut self, group: u16) -> Result<()> {
        Err(ControlError::unimplemented(""))
    }

    pub fn mcast_groups(&self) -> BTreeMap<u16, Vec<Replica>> {
        BTreeMap::new()
    }

    /// Create or replace a clone session.
    pub fn clone_session_set(&mut self, session: u32, config: &CloneSession) -> Result<()> {
        Err(ControlError::unimplemented(""))
    }

    pub fn clone_session_delete(&mut self, session: u32) -> Result<()> {
        Err(ControlError::unimplemented(""))
    }

    pub fn clone_sessions(&self) -> BTreeMap<u32, CloneSession> {
        BTreeMap::new()
    }

    // Parser value sets.

    pub fn value_sets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Replace the members of a value set; a member has one key a field, exact or ternary.
    pub fn value_set_write(&mut self, value_set: &str, members: &[Vec<MatchKey>]) -> Result<()> {
        Err(ControlError::not_found(value_set))
    }

    pub fn value_set_read(&self, value_set: &str) -> Result<Vec<Vec<MatchKey>>> {
        Err(ControlError::not_found(value_set))
    }
}
