//! Any text as a program: it is refused, or it runs packets and takes entries within its bounds, and does the same in
//! native code as interpreted.

#![no_main]

use std::sync::Arc;

use canopy_fuzz::compare_states;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate, Corpus};
use p4vm::{ActionCall, Backend, EntryTarget, MatchKey, Options, Outputs, Program, Switch, TableInfo};

/// Packets from none to more than any header of the corpus' programs takes.
const PACKET_BYTES: [usize; 6] = [0, 1, 14, 60, 200, 1500];

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(program) = std::str::from_utf8(data).ok().and_then(|text| Program::from_json(text).ok()) else {
        return Corpus::Keep;
    };
    let options = Options { cpu_port: Some(510), max_passes: 20, max_events: 100, max_log: 10, ..Options::default() };
    let switch = |backend| Switch::new(Arc::clone(&program), Options { backend, ..options.clone() });
    let (mut native, mut interpreter) = (switch(Backend::Native), switch(Backend::Interpreter));
    run(&mut native, &mut interpreter);
    for switch in [&mut native, &mut interpreter] {
        for table in switch.tables() {
            if let Ok(info) = switch.table_info(&table) {
                add_entries(switch, &info);
            }
        }
    }
    run(&mut native, &mut interpreter);
    compare_states(&mut native, &mut interpreter);
    native.reset();
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed % 4 {
        0 => fuzzer_mutate(data, size, max_size),
        _ => {
            canopy_fuzz::mutate_json(data, size, max_size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
        }
    }
});

fn run(native: &mut Switch, interpreter: &mut Switch) {
    for (at, bytes) in PACKET_BYTES.into_iter().enumerate() {
        let packet: Vec<u8> = (0..bytes).map(|byte| (byte * (at + 1)) as u8).collect();
        let [one, other] = [&mut *native, &mut *interpreter].map(|switch| {
            let mut outputs = Outputs::new();
            switch.process(at as u64 * 50_000_000, at as u16, &packet, &mut outputs);
            outputs
        });
        assert!(one.iter().eq(other.iter()), "the back ends send different packets");
    }
    assert_eq!(native.take_events(usize::MAX), interpreter.take_events(usize::MAX));
    assert_eq!(native.take_log(), interpreter.take_log());
}

/// An entry for each action, with a key and parameters of zeros or ones.
fn add_entries(switch: &mut Switch, info: &TableInfo) {
    for (at, action) in info.actions.iter().enumerate() {
        let value = |bits: u32| vec![if at & 1 == 0 { 0 } else { 1 }; bits.div_ceil(8).clamp(1, 256) as usize];
        let key: Vec<MatchKey> = info
            .key
            .iter()
            .map(|field| match field.kind.as_str() {
                "exact" | "valid" => MatchKey::Value(value(field.bits)),
                "lpm" => MatchKey::Prefix(value(field.bits), field.bits),
                _ => MatchKey::Any,
            })
            .collect();
        let params = action.params.iter().map(|(_, bits)| value(*bits)).collect();
        let call = ActionCall { action: action.name.clone(), params };
        if switch.table_add(&info.name, &key, at as i32, &EntryTarget::Action(call.clone()), 1000).is_ok() {
            let read = switch.table_get(&info.name, &key, at as i32).expect("an entry that was added is there");
            assert_eq!(switch.table_get(&info.name, &read.key, read.priority).as_ref(), Ok(&read));
        }
        let _ = switch.table_set_default(&info.name, &call);
    }
}
