//! Every kind of match through the control plane and the data path (see `data/matching.p4`).

use p4vm::{
    ActionCall, EntryTarget, ErrorCode, Event, GroupMembers, MatchKey, MatchKind, MeterRates, Outputs, Program, Switch,
};

fn switch() -> Switch {
    Switch::new(Program::from_json(include_str!("../data/matching.json")).unwrap(), crate::options())
}

fn value(number: u32) -> MatchKey {
    MatchKey::Value(number.to_be_bytes().into())
}

fn bytes(number: u32) -> Vec<u8> {
    number.to_be_bytes().into()
}

fn pair(a: u32, b: u32) -> MatchKey {
    MatchKey::Pair(bytes(a), bytes(b))
}

fn call(action: &str, params: &[u32]) -> ActionCall {
    ActionCall { action: format!("MatchingIngress.{action}"), params: params.iter().map(|&p| bytes(p)).collect() }
}

fn answer(number: u32) -> EntryTarget {
    EntryTarget::Action(call("answer", &[number]))
}

fn name(table: &str) -> String {
    format!("MatchingIngress.{table}_table")
}

/// The packet's key.
#[derive(Clone, Copy, Default)]
struct Key {
    kind: u8,
    a: u32,
    b: u16,
    c: u16,
    wide: u128,
}

impl Key {
    fn bytes(self) -> Vec<u8> {
        let Self { kind, a, b, c, wide } = self;
        [&[kind][..], &a.to_be_bytes(), &b.to_be_bytes(), &(c << 7).to_be_bytes(), &wide.to_be_bytes(), &[0; 4]]
            .concat()
    }
}

/// The program's answer and what it wrote to the padding.
fn ask_both(switch: &mut Switch, key: Key) -> (u32, u8) {
    let mut out = Outputs::new();
    switch.process(0, 0, &key.bytes(), &mut out);
    let (_, packet) = out.iter().next().unwrap();
    (u32::from_be_bytes(packet[25..29].try_into().unwrap()), packet[8] & 0x7f)
}

fn ask(switch: &mut Switch, kind: u8, a: u32, b: u16, c: u16) -> u32 {
    ask_both(switch, Key { kind, a, b, c, wide: 0 }).0
}

#[test]
fn exact_entries_are_found_by_all_fields() {
    let mut switch = switch();
    let table = name("exact");
    let key = [value(7), value(8), value(0x1ff)];
    let target = EntryTarget::Action(call("answer_and_count", &[1]));
    switch.table_add(&table, &key, 0, &target, 0).unwrap();
    assert_eq!(ask(&mut switch, 0, 7, 8, 0x1ff), 1);
    assert_eq!(ask(&mut switch, 0, 7, 8, 0xff), 0);
    assert_eq!(switch.direct_counter_read(&table, &key, 0).unwrap(), (1, 29));
    switch.direct_counter_write(&table, &key, 0, 5, 6).unwrap();
    assert_eq!(switch.direct_counter_read(&table, &key, 0).unwrap(), (5, 6));

    let changed = EntryTarget::Action(call("answer_and_count", &[2]));
    switch.table_modify(&table, &key, 0, &changed, 0).unwrap();
    assert_eq!(ask(&mut switch, 0, 7, 8, 0x1ff), 2);
    assert_eq!(switch.table_get(&table, &key, 0).unwrap().target, changed);
    switch.table_delete(&table, &key, 0).unwrap();
    assert_eq!(ask(&mut switch, 0, 7, 8, 0x1ff), 0);
}

#[test]
fn refused_operations_say_why_and_change_nothing() {
    let mut switch = switch();
    let table = name("exact");
    let key = |a: u32| [value(a), value(1), value(1)];
    let target = EntryTarget::Action(call("answer_and_count", &[1]));
    for a in 0..8 {
        switch.table_add(&table, &key(a), 0, &target, 0).unwrap();
    }
    let code = |result: Result<(), p4vm::ControlError>| result.unwrap_err().code;
    assert_eq!(code(switch.table_add(&table, &key(8), 0, &target, 0)), ErrorCode::ResourceExhausted);
    assert_eq!(code(switch.table_add(&table, &key(7), 0, &target, 0)), ErrorCode::AlreadyExists);
    assert_eq!(code(switch.table_delete(&table, &key(9), 0)), ErrorCode::NotFound);
    assert_eq!(code(switch.table_modify(&table, &key(9), 0, &target, 0)), ErrorCode::NotFound);
    assert_eq!(code(switch.table_delete("nothing", &key(9), 0)), ErrorCode::NotFound);
    assert_eq!(code(switch.table_delete(&table, &key(9)[..2], 0)), ErrorCode::InvalidArgument);
    let wide = [MatchKey::Value(vec![1, 0, 0, 0, 0]), value(1), value(1)];
    assert_eq!(code(switch.table_delete(&table, &wide, 0)), ErrorCode::InvalidArgument);
    let prefix = [MatchKey::Prefix(bytes(1), 8), value(1), value(1)];
    assert_eq!(code(switch.table_delete(&table, &prefix, 0)), ErrorCode::InvalidArgument);
    switch.table_delete(&table, &key(0), 0).unwrap();
    assert_eq!(code(switch.table_add(&table, &key(0), 0, &answer(1), 0)), ErrorCode::InvalidArgument);
    let no_params = EntryTarget::Action(call("answer_and_count", &[]));
    assert_eq!(code(switch.table_add(&table, &key(0), 0, &no_params, 0)), ErrorCode::InvalidArgument);
    assert_eq!(code(switch.table_add(&table, &key(0), 0, &EntryTarget::Member(1), 0)), ErrorCode::InvalidArgument);
    assert_eq!(switch.table_entries(&table).unwrap().len(), 7);
    let no_meter = switch.direct_meter_read(&table, &key(1), 0).unwrap_err();
    assert_eq!(no_meter.code, ErrorCode::InvalidArgument);
}

#[test]
fn the_longest_prefix_wins() {
    let mut switch = switch();
    let table = name("lpm");
    let mut add = |b, a, length, number| {
        let target = EntryTarget::Action(call("answer_and_measure", &[number]));
        switch.table_add(&table, &[value(b), MatchKey::Prefix(bytes(a), length)], 0, &target, 0).unwrap();
    };
    add(1, 0x0a00_0000, 8, 1);
    add(1, 0x0a01_0000, 16, 2);
    add(1, 0x0a01_0203, 32, 3);
    add(1, 0, 0, 4);
    add(2, 0x0a01_0000, 16, 5);
    let mut ask = |b, a| ask(&mut switch, 1, a, b, 0);
    assert_eq!([ask(1, 0x0aff_0000), ask(1, 0x0a01_ffff), ask(1, 0x0a01_0203)], [1, 2, 3]);
    assert_eq!([ask(1, 0x0b00_0000), ask(2, 0x0a01_0203), ask(2, 0)], [4, 5, 0]);
    // Bits behind the prefix do not matter.
    let key = [value(1), MatchKey::Prefix(bytes(0x0a01_ffff), 16)];
    switch.table_delete(&table, &key, 0).unwrap();
    assert_eq!(self::ask(&mut switch, 1, 0x0a01_ffff, 1, 0), 1);
}

#[test]
fn direct_meters_belong_to_their_entry() {
    let mut switch = switch();
    let (table, key) = (name("lpm"), [value(1), MatchKey::Prefix(bytes(0), 0)]);
    let target = EntryTarget::Action(call("answer_and_measure", &[1]));
    switch.table_add(&table, &key, 0, &target, 0).unwrap();
    assert_eq!(switch.direct_meter_read(&table, &key, 0).unwrap(), None);
    let rates = MeterRates { cir: 1.0, cburst: 2, pir: 3.0, pburst: 4 };
    switch.direct_meter_write(&table, &key, 0, Some(rates)).unwrap();
    assert_eq!(switch.direct_meter_read(&table, &key, 0).unwrap(), Some(rates));
}

#[test]
fn the_largest_priority_wins_and_the_result_is_a_hit() {
    let mut switch = switch();
    let table = name("ternary");
    let mut add = |a: MatchKey, b: MatchKey, priority, number| {
        switch.table_add(&table, &[a, b, value(0)], priority, &answer(number), 0).unwrap();
    };
    add(pair(0x10, 0xf0), MatchKey::Any, 10, 1);
    add(pair(0x11, 0xff), MatchKey::Any, 20, 2);
    add(MatchKey::Any, pair(5, 0xffff), 15, 3);
    add(pair(0x10, 0xf0), MatchKey::Any, 5, 4);
    let mut ask = |a, b| ask_both(&mut switch, Key { kind: 2, a, b, ..Key::default() });
    assert_eq!([ask(0x12, 0), ask(0x11, 0), ask(0x12, 5), ask(0x11, 5)], [(1, 1), (2, 1), (3, 1), (2, 1)]);
    // A miss runs the default action.
    assert_eq!(ask(0x20, 0), (0xffff, 0));
    switch.table_delete(&table, &[pair(0x10, 0xf0), MatchKey::Any, value(0)], 10).unwrap();
    assert_eq!(self::ask(&mut switch, 2, 0x12, 0, 0), 4);
    let info = switch.table_info(&table).unwrap();
    assert!(info.needs_priority);
    assert_eq!(info.key[0].kind, MatchKind::Ternary);
}

#[test]
fn ranges_include_both_ends() {
    let mut switch = switch();
    let table = name("range");
    let mut add = |a: MatchKey, b: MatchKey, priority, number| {
        switch.table_add(&table, &[a, b, MatchKey::Any], priority, &answer(number), 0).unwrap();
    };
    add(pair(10, 20), MatchKey::Any, 1, 1);
    add(pair(15, 15), pair(3, 4), 2, 2);
    let mut ask = |a, b| ask(&mut switch, 3, a, b, 0);
    assert_eq!([ask(9, 0), ask(10, 0), ask(20, 0), ask(21, 0)], [0, 1, 1, 0]);
    assert_eq!([ask(15, 2), ask(15, 3), ask(15, 4), ask(15, 5)], [1, 2, 2, 1]);
    let empty = [pair(20, 10), MatchKey::Any, MatchKey::Any];
    let refused = switch.table_add(&table, &empty, 1, &answer(1), 0).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

#[test]
fn optional_fields_match_one_value_or_any() {
    let mut switch = switch();
    let table = name("optional");
    switch.table_add(&table, &[value(1), MatchKey::Any], 1, &answer(1), 0).unwrap();
    switch.table_add(&table, &[MatchKey::Any, value(2)], 2, &answer(2), 0).unwrap();
    let mut ask = |a, b| ask(&mut switch, 4, a, b, 0);
    assert_eq!([ask(1, 0), ask(1, 2), ask(3, 2), ask(3, 3)], [1, 2, 2, 0]);
}

/// Bit by bit, as a second opinion.
fn crc16(data: &[u8]) -> u16 {
    let step = |r: u16| (r >> 1) ^ if r & 1 == 1 { 0xa001 } else { 0 };
    data.iter().fold(0, |r, &byte| (0..8).fold(r ^ u16::from(byte), |r, _| step(r)))
}

#[test]
fn selectors_spread_by_hash_and_weight() {
    let mut switch = switch();
    let (profile, table) = ("spread", name("selector"));
    for member in 1..=3 {
        switch.member_add(profile, member, &call("answer", &[member])).unwrap();
    }
    switch.group_set(profile, 1, &GroupMembers::from([(1, 1), (2, 3)]), 8).unwrap();
    switch.table_add(&table, &[value(5)], 0, &EntryTarget::Group(1), 0).unwrap();
    switch.table_add(&table, &[value(6)], 0, &EntryTarget::Member(3), 0).unwrap();
    for b in 0..200 {
        // Members by id, each as often as its weight says.
        let chosen = [1, 2, 2, 2][usize::from(crc16(&[(b >> 8) as u8, b as u8, 3, 0x80]) % 4)];
        assert_eq!(ask(&mut switch, 5, 5, b, 7), chosen, "b = {b}");
    }
    assert_eq!(ask(&mut switch, 5, 6, 0, 0), 3);

    let code = |result: Result<(), p4vm::ControlError>| result.unwrap_err().code;
    assert_eq!(code(switch.member_delete(profile, 2)), ErrorCode::InvalidArgument);
    assert_eq!(code(switch.member_delete(profile, 3)), ErrorCode::InvalidArgument);
    assert_eq!(code(switch.member_add(profile, 1, &call("answer", &[1]))), ErrorCode::AlreadyExists);
    assert_eq!(code(switch.group_delete(profile, 1)), ErrorCode::InvalidArgument);
    assert_eq!(code(switch.group_set(profile, 2, &GroupMembers::from([(9, 1)]), 0)), ErrorCode::NotFound);
    let heavy = GroupMembers::from([(1, 9)]);
    assert_eq!(code(switch.group_set(profile, 2, &heavy, 8)), ErrorCode::ResourceExhausted);
    assert_eq!(code(switch.table_add(&table, &[value(7)], 0, &EntryTarget::Group(2), 0)), ErrorCode::NotFound);
    assert_eq!(code(switch.table_add(&table, &[value(7)], 0, &answer(2), 0)), ErrorCode::InvalidArgument);

    switch.member_modify(profile, 3, &call("answer", &[33])).unwrap();
    assert_eq!(ask(&mut switch, 5, 6, 0, 0), 33);
    // An empty group does nothing.
    switch.group_set(profile, 1, &GroupMembers::new(), 8).unwrap();
    assert_eq!(ask(&mut switch, 5, 5, 0, 0), 0);
    assert_eq!(switch.groups(profile).unwrap()[&1], GroupMembers::new());
    assert_eq!(switch.members(profile).unwrap()[&3], call("answer", &[33]));
    switch.table_delete(&table, &[value(5)], 0).unwrap();
    switch.group_delete(profile, 1).unwrap();
    switch.member_delete(profile, 2).unwrap();
}

#[test]
fn profiles_have_room_for_their_size() {
    let mut switch = switch();
    for member in 0..4 {
        switch.member_add("shared", member, &call("nothing", &[])).unwrap();
    }
    let full = switch.member_add("shared", 4, &call("nothing", &[])).unwrap_err();
    assert_eq!(full.code, ErrorCode::ResourceExhausted);
    let no_selector = switch.group_set("shared", 1, &GroupMembers::new(), 0).unwrap_err();
    assert_eq!(no_selector.code, ErrorCode::InvalidArgument);
}

#[test]
fn const_entries_hold_in_the_program_s_order() {
    let mut switch = switch();
    let mut ask = |a, b| ask_both(&mut switch, Key { kind: 6, a, b, ..Key::default() });
    assert_eq!([ask(0x11, 1), ask(0x12, 1), ask(0x22, 1), ask(0x11, 2)], [(100, 2), (101, 2), (102, 2), (0, 3)]);
    let table = name("const");
    let entries = switch.table_entries(&table).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.priority).collect::<Vec<_>>(), [3, 2, 1]);
    assert!(entries.iter().all(|entry| entry.is_const));
    let key = [MatchKey::Any, value(7)];
    let refused = switch.table_add(&table, &key, 9, &answer(1), 0).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    let refused = switch.table_set_default(&table, &call("answer", &[1])).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

#[test]
fn entries_of_the_program_change_once_the_table_is_open() {
    let mut switch = switch();
    let table = name("const");
    switch.table_open(&table, 4).unwrap();
    let entries = switch.table_entries(&table).unwrap();
    assert!(entries.iter().all(|entry| !entry.is_const));
    switch.table_modify(&table, &entries[0].key, 3, &answer(7), 0).unwrap();
    switch.table_delete(&table, &entries[1].key, 2).unwrap();
    switch.table_add(&table, &entries[1].key, 9, &answer(8), 0).unwrap();
    switch.table_add(&table, &entries[1].key, 8, &answer(8), 0).unwrap();
    let full = switch.table_add(&table, &entries[1].key, 7, &answer(8), 0).unwrap_err();
    assert_eq!(full.code, ErrorCode::ResourceExhausted);
    let mut ask = |a| ask_both(&mut switch, Key { kind: 6, a, b: 1, ..Key::default() }).0;
    assert_eq!([ask(0x11), ask(0x12), ask(0x22)], [8, 8, 102]);
    switch.reset();
    let mut ask = |a| ask_both(&mut switch, Key { kind: 6, a, b: 1, ..Key::default() }).0;
    assert_eq!([ask(0x11), ask(0x12), ask(0x22)], [100, 101, 102]);
    assert_eq!(switch.table_delete(&table, &entries[1].key, 2).unwrap_err().code, ErrorCode::InvalidArgument);
    assert_eq!(switch.table_open("nothing", 4).unwrap_err().code, ErrorCode::NotFound);
}

#[test]
fn default_actions_are_set_and_reset() {
    let mut switch = switch();
    let table = name("ternary");
    switch.table_set_default(&table, &call("answer", &[3])).unwrap();
    assert_eq!(switch.table_default(&table).unwrap(), Some(call("answer", &[3])));
    assert_eq!(ask(&mut switch, 2, 0, 0, 0), 3);
    switch.table_reset_default(&table).unwrap();
    assert_eq!(ask(&mut switch, 2, 0, 0, 0), 0xffff);
}

#[test]
fn wide_keys_and_parameters() {
    let mut switch = switch();
    let table = name("wide");
    let prefix = [MatchKey::Prefix(0x2001_0db8_u128.to_be_bytes().iter().rev().take(4).rev().copied().collect(), 128)];
    assert!(switch.table_add(&table, &prefix, 0, &answer(1), 0).is_ok());
    let net = |top: u128, length| [MatchKey::Prefix((top << 64).to_be_bytes().into(), length)];
    let add = ActionCall { action: "MatchingIngress.add_wide".into(), params: vec![u128::MAX.to_be_bytes().into()] };
    switch.table_add(&table, &net(0x2001_0db8_0000_0000, 32), 0, &EntryTarget::Action(add), 0).unwrap();
    switch.table_add(&table, &net(0x2001_0db8_0001_0000, 48), 0, &answer(48), 0).unwrap();
    let wide = 0x2001_0db8_0002_0000_0000_0000_0000_0000;
    let mut out = Outputs::new();
    switch.process(0, 0, &Key { kind: 7, wide, ..Key::default() }.bytes(), &mut out);
    let (_, packet) = out.iter().next().unwrap();
    assert_eq!(u128::from_be_bytes(packet[9..25].try_into().unwrap()), wide - 1);
    let wide = 0x2001_0db8_0001_ffff_ffff_0000_0000_0000;
    assert_eq!(ask_both(&mut switch, Key { kind: 7, wide, ..Key::default() }).0, 48);
    assert_eq!(ask_both(&mut switch, Key { kind: 7, wide: 0x2001_0db8, ..Key::default() }).0, 1);
}

#[test]
fn idle_entries_are_reported_once_a_timeout() {
    let mut switch = switch();
    let (table, key) = (name("exact"), [value(1), value(1), value(1)]);
    let target = EntryTarget::Action(call("answer_and_count", &[1]));
    switch.table_add(&table, &key, 0, &target, 2_000_000).unwrap();
    let ms = |ms: u64| ms * 1_000_000;
    let packet = Key { a: 1, b: 1, c: 1, ..Key::default() }.bytes();
    switch.process(ms(1_500), 0, &packet, &mut Outputs::new());
    switch.tick(ms(3_000));
    assert_eq!(switch.take_events(9), []);
    switch.tick(ms(3_500));
    let events = switch.take_events(9);
    let [Event::IdleTimeout { time_us: 3_500_000, table: from, entry }] = &events[..] else { panic!("{events:?}") };
    // Keys are read back in their fields' widths.
    let shown = vec![value(1), MatchKey::Value(vec![0, 1]), MatchKey::Value(vec![0, 1])];
    assert_eq!((&**from, &entry.key, entry.idle_for_us), (&table[..], &shown, 2_000_000));
    switch.tick(ms(4_000));
    assert_eq!(switch.take_events(9), []);
    // Other packets let time pass too.
    switch.process(ms(5_500), 0, &[0; 4], &mut Outputs::new());
    assert_eq!(switch.take_events(9).len(), 1);
    let refused = switch.table_add(&name("lpm"), &[value(1), MatchKey::Any], 0, &target, 1).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

#[test]
fn a_reset_forgets_what_was_installed() {
    let mut switch = switch();
    switch.table_add(&name("ternary"), &[MatchKey::Any, MatchKey::Any, value(0)], 1, &answer(1), 0).unwrap();
    switch.table_set_default(&name("range"), &call("nothing", &[])).unwrap_err();
    switch.member_add("shared", 1, &call("nothing", &[])).unwrap();
    switch.reset();
    assert_eq!(switch.table_entries(&name("ternary")).unwrap(), []);
    assert_eq!(switch.table_entries(&name("const")).unwrap().len(), 3);
    assert!(switch.members("shared").unwrap().is_empty());
}

#[test]
fn tables_say_what_they_are() {
    let switch = switch();
    let info = switch.table_info(&name("exact")).unwrap();
    assert_eq!(info.key.iter().map(|field| field.bits).collect::<Vec<_>>(), [32, 16, 9]);
    assert!(info.has_counters && info.supports_timeout && !info.needs_priority && !info.is_const);
    assert_eq!((info.max_size, info.meter, info.profile), (8, None, None));
    let names: Vec<_> = info.actions.iter().map(|action| (action.name.as_str(), action.params.len())).collect();
    assert_eq!(names, [("MatchingIngress.answer_and_count", 1), ("MatchingIngress.nothing", 0)]);
    let selector = switch.table_info(&name("selector")).unwrap();
    assert_eq!((selector.profile.as_deref(), selector.has_selector), (Some("spread"), true));
    assert_eq!(switch.table_info(&name("lpm")).unwrap().meter.as_deref(), Some("MatchingIngress.lpm_meter"));
    assert!(switch.table_info("nothing").is_err());
}

#[test]
fn a_key_that_is_shifted_stays_as_wide_as_its_type() {
    let field = r#"["ethernet", "destination"]"#;
    let shifted = format!(
        r#"{{"type": "expression", "value": {{"op": ">>", "left": {{"type": "field", "value": {field}}},
            "right": {{"type": "hexstr", "value": "0x0000000000000028"}}}}}}"#
    );
    let mut program: serde_json::Value = serde_json::from_str(include_str!("../data/l2.json")).unwrap();
    program["pipelines"][0]["tables"][1]["key"][0]["target"] = serde_json::from_str(&shifted).unwrap();
    let mut switch = Switch::new(Program::from_json(&program.to_string()).unwrap(), crate::options());
    let table = "L2Ingress.destinations";
    assert_eq!(switch.table_info(table).unwrap().key[0].bits, 48);
    let forward = ActionCall { action: "L2Ingress.forward".into(), params: vec![vec![7]] };
    let key = [MatchKey::Value(vec![0, 0, 0, 0, 0, 0x12])];
    switch.table_add(table, &key, 0, &EntryTarget::Action(forward), 0).unwrap();
    let mut out = Outputs::new();
    switch.process(0, 1, &[&[0x12, 1, 2, 3, 4, 5][..], &[6; 60]].concat(), &mut out);
    assert_eq!(out.iter().map(|(port, _)| port).collect::<Vec<_>>(), [7]);
}
