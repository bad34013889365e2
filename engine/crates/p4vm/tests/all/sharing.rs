//! Buffers that switches share, and packets whose payload stays where it is.

use std::sync::Arc;

use p4vm::{ActionCall, CloneSession, EntryTarget, MatchKey, Outputs, Program, Replica, Switch, Through, Work};

const COMMANDS: &str = include_str!("../data/commands.json");
/// See `commands`: what needs no control plane, what keeps fields over passes, clones, and what cuts a packet.
const OPS: [u8; 10] = [0, 2, 3, 4, 5, 6, 8, 13, 15, 17];
const RECIRCULATE: u8 = 5;
const TRUNCATE: u8 = 6;
const DROP_EGRESS: u8 = 16;

fn commands(program: &Arc<Program>) -> Switch {
    let mut switch = Switch::new(Arc::clone(program), crate::options());
    let session = CloneSession { replicas: vec![Replica { port: 1, instance: 0 }], ..Default::default() };
    switch.clone_session_set(1, &session).unwrap();
    switch
}

fn l2() -> Switch {
    let mut switch = Switch::new(Program::from_json(include_str!("../data/l2.json")).unwrap(), crate::options());
    let call = ActionCall { action: "L2Ingress.forward".into(), params: vec![vec![2]] };
    let key = [MatchKey::Value(vec![2; 6])];
    switch.table_add("L2Ingress.destinations", &key, 0, &EntryTarget::Action(call), 0).unwrap();
    switch
}

fn command(op: u8) -> Vec<u8> {
    [&[op, 3, 0, 1, 0, 0, 0, 7][..], b"payload"].concat()
}

fn process(switch: &mut Switch, packet: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut out = Outputs::new();
    switch.process(0, 1, packet, &mut out);
    out.iter().map(|(port, packet)| (port, packet.to_vec())).collect()
}

#[test]
fn switches_of_any_programs_do_the_same_with_shared_buffers() {
    let program = Program::from_json(COMMANDS).unwrap();
    let make = || [commands(&program), commands(&program), l2()];
    let (mut own, mut sharing, mut work) = (make(), make(), Box::<Work>::default());
    for op in OPS.into_iter().chain(OPS) {
        for (one, other) in own.iter_mut().zip(&mut sharing) {
            for packet in [command(op), vec![2; 60]] {
                let wanted = process(one, &packet);
                other.exchange(&mut work);
                assert_eq!(process(other, &packet), wanted, "command {op}");
                other.exchange(&mut work);
            }
        }
    }
}

#[test]
fn a_packet_that_goes_straight_through_is_as_any_other() {
    let (program, mut straight) = (Program::from_json(COMMANDS).unwrap(), 0);
    for op in OPS.into_iter().chain([DROP_EGRESS]) {
        let packet = command(op);
        let wanted = process(&mut commands(&program), &packet);
        let (mut switch, mut out, mut copies) = (commands(&program), vec![0xee], Vec::new());
        let through = switch.ingress_through(0, 1, &packet, &mut |_, _| true, &mut out, &mut copies);
        let Some(Through { port, is_sent, payload }) = through else { continue };
        straight += 1;
        let rest = payload.map_or(&[][..], |at| &packet[at..]);
        let sent = is_sent.then(|| (port, [&out[1..], rest].concat()));
        assert_eq!(sent, wanted.first().filter(|_| is_sent).cloned(), "command {op}");
        assert_eq!(is_sent, !matches!(op, RECIRCULATE | DROP_EGRESS), "command {op}");
        assert_eq!(payload.is_some(), is_sent && op != TRUNCATE, "command {op}");
    }
    assert!(straight > 4, "{straight} packets");
    let whole = |switch: &mut Switch| {
        switch.ingress_through(0, 1, &command(0), &mut |_, _| false, &mut Vec::new(), &mut Vec::new())
    };
    assert_eq!(whole(&mut commands(&program)), None);
}
