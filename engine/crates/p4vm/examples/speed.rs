//! Packets per second in process: `cargo run --release --example speed [-- PROGRAM.json]`.
//!
//! Two measurements: an Ethernet switch with 64-byte frames, and (given its JSON) the project's program, which
//! replicates 1,000-byte datagrams from port 1 to ports 2 to 9.

use std::sync::Arc;
use std::time::Instant;

use p4vm::{csum, ActionCall, Backend, EntryTarget, MatchKey, Options, Outputs, Program, Replica, Switch};

type Error = Box<dyn std::error::Error>;

const L2: &str = include_str!("../tests/data/l2.json");

fn main() -> Result<(), Error> {
    measure(
        "L2, 64 bytes, 1 to 1",
        &Program::from_json(L2)?,
        l2_switch,
        &[&[2; 6], &[4; 6], &[0x08; 52][..]].concat(),
    )?;
    if let Some(path) = std::env::args().nth(1) {
        let program = Program::from_json(&std::fs::read_to_string(path)?)?;
        measure("canopy, 1,000 bytes, 1 to 8", &program, multicast_switch, &datagram())?;
    }
    Ok(())
}

/// Packets before a look at the clock, and how often: the best of many short parts counts, for on a busy machine long
/// ones measure its other work.
const PART: u32 = 1000;
const PARTS: u32 = 2000;

fn measure(
    name: &str,
    program: &Arc<Program>,
    make: fn(Arc<Program>, Backend) -> Result<Switch, Error>,
    packet: &[u8],
) -> Result<(), Error> {
    let mut out = Outputs::new();
    let start = Instant::now();
    let mut switches = [Backend::Native, Backend::Interpreter].map(|backend| make(Arc::clone(program), backend));
    println!("{name}: both switches made in {:?}", start.elapsed());
    let mut best = [f64::MAX; 2];
    for part in 1..=PARTS {
        for (switch, best) in switches.iter_mut().zip(&mut best) {
            let switch = switch.as_mut().map_err(|error| error.to_string())?;
            let (start, mut sent) = (Instant::now(), 0);
            for number in 0..PART {
                out.clear();
                switch.process(1_000_000_000 + u64::from(part * PART + number) * 1000, 1, packet, &mut out);
                sent += out.len();
            }
            *best = best.min(start.elapsed().as_secs_f64() * 1e9 / sent as f64);
            switch.take_events(usize::MAX);
        }
    }
    for (switch, best) in switches.iter().flatten().zip(best) {
        println!("{name}, {:?}: {best:.1} ns a packet that leaves", switch.backend());
    }
    Ok(())
}

fn l2_switch(program: Arc<Program>, backend: Backend) -> Result<Switch, Error> {
    let mut switch = Switch::new(program, Options { backend, ..Options::default() });
    for i in 0..1000u16 {
        let mac = if i == 0 { vec![2; 6] } else { [&[2, 0, 0, 0], &i.to_be_bytes()[..]].concat() };
        let call = ActionCall { action: "L2Ingress.forward".into(), params: vec![vec![2]] };
        switch.table_add("L2Ingress.destinations", &[MatchKey::Value(mac)], 0, &EntryTarget::Action(call), 0)?;
    }
    Ok(switch)
}

fn checksum(data: &[u8]) -> [u8; 2] {
    (!csum::fold(csum::sum(data, 0))).to_be_bytes()
}

/// An Ethernet frame with an IPv4 packet to a group.
fn frame(source: [u8; 4], group: [u8; 4], ttl: u8, protocol: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let total = ((header_len + payload.len()) as u16).to_be_bytes();
    let mut ip = vec![0x40 | (header_len / 4) as u8, 0, total[0], total[1], 0, 0, 0, 0, ttl, protocol, 0, 0];
    ip.extend_from_slice(&source);
    ip.extend_from_slice(&group);
    ip.extend_from_slice(options);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum);
    let mac = [1, 0, 0x5e, group[1] & 0x7f, group[2], group[3], 2, 0, 0, 0, 0, source[3], 8, 0];
    [&mac[..], &ip, payload].concat()
}

const SOURCE: [u8; 4] = [10, 0, 0, 1];
const GROUP: [u8; 4] = [232, 1, 1, 1];

fn datagram() -> Vec<u8> {
    let mut udp = vec![0; 1000 - 34];
    udp[..8].copy_from_slice(&[0x23, 0x28, 0x23, 0x28, 3, 0xc6, 0, 0]);
    frame(SOURCE, GROUP, 64, 17, &[], &udp)
}

fn report(port: u8) -> Vec<u8> {
    let mut igmp = [&[0x22, 0, 0, 0, 0, 0, 0, 1, 5, 0, 0, 1][..], &GROUP, &SOURCE].concat();
    let sum = checksum(&igmp);
    igmp[2..4].copy_from_slice(&sum);
    frame([10, 0, 0, port], [224, 0, 0, 22], 1, 2, &[0x94, 4, 0, 0], &igmp)
}

fn multicast_switch(program: Arc<Program>, backend: Backend) -> Result<Switch, Error> {
    let mut switch = Switch::new(program, Options { cpu_port: Some(510), backend, ..Options::default() });
    let find = |switch: &Switch, wanted: &str| switch.tables().into_iter().find(|name| name.ends_with(wanted));
    let config = find(&switch, "switch_config").ok_or("no table switch_config")?;
    let routes = find(&switch, "route_sg").ok_or("no table route_sg")?;
    let action = |switch: &Switch, table: &str, wanted: &str| {
        let info = switch.table_info(table).ok()?;
        info.actions.into_iter().find(|action| action.name.ends_with(wanted)).map(|action| action.name)
    };
    let set_config = action(&switch, &config, "set_config").ok_or("no action set_config")?;
    let params = vec![vec![2, 0xca, 0, 0, 0, 1], vec![40], vec![1]];
    switch.table_set_default(&config, &ActionCall { action: set_config, params })?;
    let set_route = action(&switch, &routes, "set_source_route").ok_or("no action set_source_route")?;
    let target = EntryTarget::Action(ActionCall { action: set_route, params: vec![vec![0], vec![0], vec![1]] });
    let key = [MatchKey::Value(SOURCE.into()), MatchKey::Value(GROUP.into())];
    switch.table_add(&routes, &key, 0, &target, 0)?;
    let members: Vec<Replica> = (2..10).map(|port| Replica { port, instance: 0 }).collect();
    switch.mcast_group_add(0x1fe, &members)?;
    for port in 2..10 {
        switch.process(0, port, &report(port as u8), &mut Outputs::new());
    }
    Ok(switch)
}
