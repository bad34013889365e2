//! The project's P4 program in simulated switches, and what a controller installs there (p4src/README.md), for
//! benchmarks and tests that run without one.

use std::net::Ipv4Addr;
use std::sync::Arc;

use p4vm::{
    ActionCall, Backend, CloneSession, ControlError, EntryTarget, ErrorCode, MatchKey, Options, Program, Replica,
    Switch,
};

use crate::frame::Mac;
use crate::p4::{LocalSwitch, SwitchHandle};

/// p4src/canopy.constants.json: CPU_PORT.
pub const CPU_PORT: u16 = 510;
/// An epoch of 2^40 us, 12 days: membership lasts until it is left.
const EPOCH_SHIFT: u8 = 40;

type Result = std::result::Result<(), ControlError>;

/// A switch that runs the program with `ports` ports, up to 12, each bitmap with its multicast group.
pub fn switch(
    program: &Arc<Program>,
    seed: u64,
    mac: Mac,
    ports: u16,
    backend: Backend,
) -> std::result::Result<Arc<LocalSwitch>, ControlError> {
    let options = Options { seed, cpu_port: Some(CPU_PORT), backend, ..Options::default() };
    let mut switch = Switch::new(Arc::clone(program), options);
    let params = vec![mac.to_vec(), vec![EPOCH_SHIFT], vec![1]];
    let action = full_name(&switch, "switch_config", "set_config")?;
    switch.table_set_default("switch_config", &ActionCall { action, params })?;
    for bitmap in 1..1u16 << ports {
        let in_bitmap = (1..=ports).filter(|port| bitmap >> (port - 1) & 1 == 1);
        let replicas: Vec<Replica> = in_bitmap.map(|port| Replica { port, instance: 0 }).collect();
        switch.mcast_group_add(bitmap, &replicas)?;
    }
    for port in 1..=ports {
        let session = CloneSession { replicas: vec![Replica { port, instance: 0 }], ..CloneSession::default() };
        switch.clone_session_set(u32::from(port), &session)?;
    }
    Ok(LocalSwitch::new(switch))
}

/// A host's /32: the port towards it, and its MAC address or the next switch's.
pub fn route_host(switch: &LocalSwitch, host: Ipv4Addr, port: u16, mac: Mac) -> Result {
    let key = MatchKey::Prefix(host.octets().to_vec(), 32);
    insert(switch, "ipv4_lpm", vec![key], "forward", vec![port.to_be_bytes().to_vec(), mac.to_vec()])
}

/// A slot for (source, group): `upstream` and `accept` are bitmaps of ports, port p in bit p - 1.
pub fn route_source(
    switch: &LocalSwitch,
    (source, group): (Ipv4Addr, Ipv4Addr),
    slot: u16,
    upstream: u16,
    accept: u16,
) -> Result {
    let key = vec![MatchKey::Value(source.octets().to_vec()), MatchKey::Value(group.octets().to_vec())];
    let params = [slot, upstream, accept].map(|param| param.to_be_bytes().to_vec()).to_vec();
    insert(switch, "route_sg", key, "set_source_route", params)
}

fn insert(switch: &LocalSwitch, table: &str, key: Vec<MatchKey>, alias: &str, params: Vec<Vec<u8>>) -> Result {
    let mut result = Ok(());
    switch.with(&mut |switch| {
        result = full_name(switch, table, alias).and_then(|action| {
            let target = EntryTarget::Action(ActionCall { action, params: params.clone() });
            switch.table_add(table, &key, 0, &target, 0)
        });
    });
    result
}

/// The JSON's name of an action that P4Info calls by its alias.
fn full_name(switch: &Switch, table: &str, alias: &str) -> std::result::Result<String, ControlError> {
    let info = switch.table_info(table)?;
    let is_meant = |name: &str| name == alias || name.ends_with(&format!(".{alias}"));
    let found = info.actions.into_iter().map(|action| action.name).find(|name| is_meant(name));
    found.ok_or_else(|| ControlError { code: ErrorCode::NotFound, message: format!("{table} has no action {alias}") })
}
