use crate::{ActionCall, EntryTarget, MatchKey, Options, Outputs, Program, Switch};

const L2: &str = include_str!("../../tests/data/l2.json");

fn switch() -> Switch {
    Switch::new(Program::from_json(L2).unwrap(), Options::default())
}

fn process(switch: &mut Switch, port: u16, packet: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut out = Outputs::new();
    switch.process(1_000_000, port, packet, &mut out);
    out.iter().map(|(port, packet)| (port, packet.to_vec())).collect()
}

const FRAME: [u8; 14] = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0];

fn forward(switch: &mut Switch) {
    let table = switch.tables().into_iter().find(|name| name.ends_with("destinations")).unwrap();
    let actions = switch.table_info(&table).unwrap().actions;
    let action = actions.into_iter().map(|action| action.name).find(|name| name.ends_with("forward")).unwrap();
    let target = EntryTarget::Action(ActionCall { action, params: vec![vec![3]] });
    switch.table_add(&table, &[MatchKey::Value(FRAME[..6].to_vec())], 0, &target, 0).unwrap();
}

#[test]
fn a_packets_way_is_told_step_by_step() {
    let mut switch = switch();
    forward(&mut switch);
    switch.set_trace(1000);
    assert_eq!(process(&mut switch, 1, &FRAME), [(3, FRAME.to_vec())]);
    let expected = [
        "[0.001000] [1] Processing packet of 14 bytes received on port 1",
        "[0.001000] [1] Parser entering state 'start'",
        "[0.001000] [1]     header 'ethernet' is valid: destination 0x20000000009, source 0x20000000001, ethertype 0x800",
        "[0.001000] [1] Pipeline 'ingress': start",
        "[0.001000] [1] Condition \"l2.p4(46) standard.parser_error != error.NoError\" is false",
        "[0.001000] [1] Applying table 'L2Ingress.destinations'",
        "[0.001000] [1]     hdr.ethernet.destination (exact): 0x20000000009",
        "[0.001000] [1] Table 'L2Ingress.destinations': hit with handle 0",
        "[0.001000] [1] Action L2Ingress.forward(3)",
        "[0.001000] [1]   l2.p4(30) standard.egress_spec = port",
        "[0.001000] [1]     standard_metadata.egress_spec = 3 (was 0)",
        "[0.001000] [1] Egress port is 3",
        "[0.001000] [1>3] Pipeline 'egress': start",
        "[0.001000] [1>3] Condition \"l2.p4(56) standard.egress_port == standard.ingress_port && \
         standard.instance_type != 0\" is false",
        "[0.001000] [1>3] Deparsing header 'ethernet'",
        "[0.001000] [1>3] Transmitting packet of size 14 out of port 3",
    ];
    assert_eq!(switch.take_trace(usize::MAX), expected);
}

#[test]
fn packets_for_which_there_is_no_room_are_counted() {
    let mut switch = switch();
    switch.set_trace(1);
    for _ in 0..3 {
        process(&mut switch, 1, &FRAME);
    }
    let lines = switch.take_trace(usize::MAX);
    assert!(lines.iter().all(|line| line.contains(" [1] ")), "{lines:?}");
    assert!(lines.last().unwrap().ends_with("multicast group 1 has no members"));
    process(&mut switch, 1, &FRAME);
    let lines = switch.take_trace(2);
    assert_eq!(lines[0], "2 packets were not traced: too many lines wait");
    assert!(lines[1].contains("[2] Processing packet"));
    switch.set_trace(0);
    process(&mut switch, 1, &FRAME);
    assert!(switch.take_trace(usize::MAX).is_empty());
}

#[test]
fn what_is_watched_happens_all_the_same() {
    let programs = [
        L2,
        include_str!("../../tests/data/commands.json"),
        include_str!("../../tests/data/matching.json"),
        include_str!("../../tests/data/parsing.json"),
        include_str!("../../tests/data/checksums.json"),
    ];
    for program in programs.map(|text| Program::from_json(text).unwrap()) {
        let [mut plain, mut traced] = [0, 1].map(|_| Switch::new(program.clone(), Options::default()));
        traced.set_trace(1_000_000);
        for seed in 0..500u32 {
            let bytes = (0..seed % 90).map(|at| (seed.wrapping_mul(2_654_435_761) >> (at % 24)) as u8 % 19);
            let packet: Vec<u8> = bytes.collect();
            assert_eq!(process(&mut plain, 1, &packet), process(&mut traced, 1, &packet));
        }
        assert_eq!(plain.stats(), traced.stats());
        assert!(traced.take_trace(usize::MAX).len() > 500);
    }
}
