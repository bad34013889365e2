//! What a packet can ask for: copies, passes, registers, meters, digests, ... (see `data/commands.p4`).

use p4vm::{
    CloneSession, ErrorCode, Event, InstanceType, MeterRates, Options, Outputs, PacketCopy, Program, QueueMeta, Rate,
    Replica, Switch,
};

const MULTICAST: u8 = 1;
const CLONE_INGRESS: u8 = 2;
const CLONE_EGRESS: u8 = 3;
const RESUBMIT: u8 = 4;
const RECIRCULATE: u8 = 5;
const TRUNCATE: u8 = 6;
const DIGEST: u8 = 7;
const REGISTER_ADD: u8 = 8;
const METER: u8 = 9;
const RANDOM: u8 = 10;
const LOG: u8 = 11;
const ASSERT: u8 = 12;
const DROP: u8 = 13;
const QUEUE: u8 = 14;
const COUNT: u8 = 15;
const DROP_EGRESS: u8 = 16;
const HASH: u8 = 17;
const EXIT: u8 = 18;
const STORM: u8 = 19;

fn switch_with(options: Options) -> Switch {
    Switch::new(Program::from_json(include_str!("../data/commands.json")).unwrap(), options)
}

fn switch() -> Switch {
    switch_with(crate::options())
}

fn command(op: u8, port: u8, argument: u16, result: u32) -> Vec<u8> {
    let (argument, result) = (argument.to_be_bytes(), result.to_be_bytes());
    [&[op, port][..], &argument, &result, b"payload"].concat()
}

/// Ports and results of what comes out, whose payload is checked.
fn send_at(switch: &mut Switch, now_ns: u64, packet: &[u8]) -> Vec<(u16, u32)> {
    let mut out = Outputs::new();
    switch.process(now_ns, 3, packet, &mut out);
    let result = |packet: &[u8]| {
        assert_eq!(&packet[8..], b"payload");
        u32::from_be_bytes(packet[4..8].try_into().unwrap())
    };
    out.iter().map(|(port, packet)| (port, result(packet))).collect()
}

fn send(switch: &mut Switch, op: u8, argument: u16, result: u32) -> Vec<(u16, u32)> {
    send_at(switch, 0, &command(op, 9, argument, result))
}

fn stat(switch: &Switch, name: &str) -> u64 {
    switch.stats().into_iter().find(|(stat, _)| *stat == name).unwrap().1
}

fn replicas(list: &[(u16, u16)]) -> Vec<Replica> {
    list.iter().map(|&(port, instance)| Replica { port, instance }).collect()
}

#[test]
fn multicast_copies_know_their_instance() {
    let mut switch = switch();
    switch.mcast_group_add(5, &replicas(&[(1, 100), (2, 200), (1, 300)])).unwrap();
    let replication = InstanceType::Replication as u32;
    let expected = [(1, 100 << 16 | replication), (2, 200 << 16 | replication), (1, 300 << 16 | replication)];
    assert_eq!(send(&mut switch, MULTICAST, 5, 0), expected);
    assert_eq!(send(&mut switch, MULTICAST, 6, 0), []);
    assert_eq!((stat(&switch, "drop_no_group"), stat(&switch, "replicas")), (1, 2));
}

#[test]
fn ports_beyond_the_switch_get_nothing() {
    let mut switch = switch_with(Options { num_ports: 8, cpu_port: Some(510), ..crate::options() });
    switch.mcast_group_add(1, &replicas(&[(7, 0), (8, 0), (510, 0)])).unwrap();
    let ports: Vec<u16> = send(&mut switch, MULTICAST, 1, 0).into_iter().map(|(port, _)| port).collect();
    assert_eq!(ports, [7, 510]);
    let mut out = Outputs::new();
    switch.process(0, 9, &command(0, 1, 0, 0), &mut out);
    assert!(out.is_empty());
    switch.process(0, 510, &command(0, 1, 0, 0), &mut out);
    assert_eq!(out.len(), 1);
    assert_eq!((stat(&switch, "drop_no_port"), stat(&switch, "drop_bad_port")), (1, 1));
}

#[test]
fn ingress_clones_are_the_packet_as_it_came_with_the_listed_fields() {
    let mut switch = switch();
    let session = CloneSession { replicas: replicas(&[(4, 7)]), ..CloneSession::default() };
    switch.clone_session_set(12, &session).unwrap();
    // The clone has `kept`, not `lost`, and not the original's change of `result`.
    assert_eq!(send(&mut switch, CLONE_INGRESS, 12, 77), [(4, 0xabcd), (9, 1)]);
    assert_eq!(send(&mut switch, CLONE_INGRESS, 13, 77), [(9, 1)]);
    assert_eq!((stat(&switch, "ingress_clones"), stat(&switch, "drop_no_session")), (1, 1));
}

#[test]
fn clones_are_cut_to_their_session_s_length() {
    let mut switch = switch();
    let session = CloneSession { replicas: replicas(&[(4, 0)]), packet_length: 10, class_of_service: 3 };
    switch.clone_session_set(1, &session).unwrap();
    let mut copies = Vec::new();
    switch.ingress(0, 0, &command(CLONE_INGRESS, 9, 1, 0), &mut copies);
    let seen: Vec<_> = copies.iter().map(|c| (c.port(), c.len(), c.priority(), c.instance_type())).collect();
    assert_eq!(seen, [(4, 10, 3, InstanceType::IngressClone), (9, 15, 0, InstanceType::Normal)]);
    let mut out = Vec::new();
    for copy in copies {
        switch.egress(0, copy, &QueueMeta::default(), &mut out, &mut Vec::new());
    }
    assert_eq!(out.len(), 10 + 15);
}

#[test]
fn egress_clones_are_the_packet_as_egress_left_it() {
    let mut switch = switch();
    let session = CloneSession { replicas: replicas(&[(4, 0), (5, 0)]), ..CloneSession::default() };
    switch.clone_session_set(2, &session).unwrap();
    let expected = [(9, 5), (4, 0x105), (5, 0x105)];
    assert_eq!(send(&mut switch, CLONE_EGRESS, 2, 0), expected);
    assert_eq!(stat(&switch, "egress_clones"), 1);
}

#[test]
fn resubmission_keeps_the_listed_fields_only() {
    let mut switch = switch();
    assert_eq!(send(&mut switch, RESUBMIT, 5, 0), [(9, 5)]);
    assert_eq!(stat(&switch, "resubmitted"), 5);
}

#[test]
fn recirculated_packets_are_the_deparsed_ones() {
    let mut switch = switch();
    assert_eq!(send(&mut switch, RECIRCULATE, 3, 0), [(9, 3)]);
    assert_eq!((stat(&switch, "recirculated"), stat(&switch, "packets_out")), (3, 1));
}

#[test]
fn endless_loops_are_cut_off() {
    let mut switch = switch_with(Options { max_passes: 100, ..crate::options() });
    assert_eq!(send(&mut switch, RESUBMIT, 1000, 0), []);
    assert_eq!(send(&mut switch, RECIRCULATE, 1000, 0), []);
    assert_eq!((stat(&switch, "drop_loop"), stat(&switch, "resubmitted")), (2, 100));
    assert_eq!(send(&mut switch, RESUBMIT, 100, 0), [(9, 100)]);
}

#[test]
fn storms_of_clones_are_cut_off() {
    let mut switch = switch();
    let session = CloneSession { replicas: replicas(&[(4, 0), (5, 0)]), ..CloneSession::default() };
    switch.clone_session_set(1, &session).unwrap();
    let copies = send(&mut switch, STORM, 1, 0).len();
    assert!((1 << 16..1 << 18).contains(&copies), "{copies} copies");
    assert!(stat(&switch, "drop_loop") > 0);
}

#[test]
fn truncation_cuts_headers_and_payload() {
    let mut switch = switch();
    for (length, expected) in [(3, 3), (8, 8), (10, 10), (15, 15), (99, 15)] {
        let mut out = Outputs::new();
        switch.process(0, 3, &command(TRUNCATE, 9, length, 0), &mut out);
        assert_eq!(out.iter().map(|(_, packet)| packet.len()).collect::<Vec<_>>(), [expected]);
    }
}

#[test]
fn a_port_exhausts_its_own_digests_only() {
    let digest_rate = Rate { per_second: 100, burst: 10 };
    let mut switch = switch_with(Options { digest_rate, ..crate::options() });
    let mut out = Outputs::new();
    // A storm at port 1, a digest now and then at port 2; each with other contents.
    for n in 0..20_000u32 {
        let now_ns = u64::from(n) * 100_000;
        switch.process(now_ns, 1, &command(DIGEST, 1, n as u16, n), &mut out);
        if n % 200 == 0 {
            switch.process(now_ns, 2, &command(DIGEST, 2, n as u16, n), &mut out);
        }
    }
    assert_eq!(switch.take_events(usize::MAX).len(), 100 + 10 + 2 * 100 - 1);
    assert_eq!(stat(&switch, "digests_limited"), 20_000 - (10 + 2 * 100 - 1));
}

#[test]
fn digests_are_queued_and_their_loss_is_counted() {
    let mut switch = switch_with(Options { max_events: 2, ..crate::options() });
    for (i, now_ns) in [(1, 1_000), (2, 2_000), (3, 3_000)] {
        assert_eq!(send_at(&mut switch, now_ns, &command(DIGEST, 9, i, 0)).len(), 1);
    }
    assert_eq!((switch.pending_events(), stat(&switch, "events_lost")), (2, 1));
    let first = switch.take_events(1);
    let [Event::Digest { time_us: 1, digest, values }] = &first[..] else { panic!("{first:?}") };
    assert_eq!(&**digest, "message_t");
    assert_eq!(values, &[vec![DIGEST], vec![0, 1], vec![0, 0, 0, 0, 0, 1]]);
    assert_eq!(switch.take_events(9).len(), 1);
    assert_eq!(switch.take_events(9), []);
}

#[test]
fn registers_of_any_width_keep_their_values() {
    let mut switch = switch();
    assert_eq!(send(&mut switch, REGISTER_ADD, 7, 40), [(9, 40)]);
    assert_eq!(send(&mut switch, REGISTER_ADD, 7, 2), [(9, 42)]);
    assert_eq!(switch.register_read("CommandIngress.cells", 7).unwrap(), [0, 0, 0, 42]);
    // The sum of two 100-bit numbers wraps.
    let wide = switch.register_read("CommandIngress.wide_cells", 1).unwrap();
    assert_eq!(wide, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    switch.register_write("CommandIngress.cells", 7, &[0xff, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(send(&mut switch, REGISTER_ADD, 7, 2), [(9, 1)]);
    // Outside the array nothing is read and nothing is written.
    send(&mut switch, REGISTER_ADD, 16, 2);
    assert_eq!(stat(&switch, "extern_out_of_range"), 2);
    let beyond = switch.register_read("CommandIngress.cells", 16).unwrap_err();
    assert_eq!(beyond.code, ErrorCode::InvalidArgument);
    let wide = switch.register_write("CommandIngress.cells", 0, &[1, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(wide.code, ErrorCode::InvalidArgument);
    assert_eq!(switch.register_read("nothing", 0).unwrap_err().code, ErrorCode::NotFound);
    switch.reset();
    assert_eq!(switch.register_read("CommandIngress.cells", 7).unwrap(), [0; 4]);
}

#[test]
fn meters_colour_by_the_time_given() {
    let mut switch = switch();
    let rates = MeterRates { cir: 1000.0, cburst: 1, pir: 2000.0, pburst: 2 };
    switch.meter_write("CommandIngress.rates", 2, Some(rates)).unwrap();
    assert_eq!(switch.meter_read("CommandIngress.rates", 2).unwrap(), Some(rates));
    assert_eq!(switch.meter_read("CommandIngress.rates", 1).unwrap(), None);
    let mut colour = |now_ns| send_at(&mut switch, now_ns, &command(METER, 9, 2, 0))[0].1;
    assert_eq!([colour(0), colour(0), colour(0)], [0, 1, 2]);
    assert_eq!([colour(1_000_000), colour(1_000_000), colour(1_000_000)], [0, 1, 2]);
    let wrong = MeterRates { cir: 2.0, pir: 1.0, ..rates };
    let refused = switch.meter_write("CommandIngress.rates", 2, Some(wrong)).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
}

#[test]
fn random_numbers_follow_the_seed_and_stay_in_range() {
    let draw = |seed| {
        let mut switch = switch_with(Options { seed, ..crate::options() });
        (0..50).map(|_| send(&mut switch, RANDOM, 0, 0)[0].1).collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert!(draw(3).iter().all(|value| (10..=20).contains(value)));
}

#[test]
fn hashes_are_bmv2_s() {
    let mut switch = switch();
    let crc = crc32(&[0x12, 0x34, 9]);
    assert_eq!(send(&mut switch, HASH, 0x1234, 0), [(9, crc % 1000 + 100)]);
}

/// Bit by bit, as a second opinion.
fn crc32(data: &[u8]) -> u32 {
    let step = |r: u32| (r >> 1) ^ if r & 1 == 1 { 0xedb8_8320 } else { 0 };
    !data.iter().fold(u32::MAX, |r, &byte| (0..8).fold(r ^ u32::from(byte), |r, _| step(r)))
}

#[test]
fn log_messages_are_kept_on_demand() {
    let mut switch = switch_with(Options { max_log: 1, ..crate::options() });
    send(&mut switch, LOG, 17, 0);
    send(&mut switch, LOG, 18, 0);
    assert_eq!(switch.take_log(), ["argument 17 from port 3"]);
    assert_eq!(stat(&switch, "log_lost"), 1);
    let mut quiet = self::switch();
    send(&mut quiet, LOG, 17, 0);
    assert!(quiet.take_log().is_empty());
}

#[test]
fn failed_assertions_and_drops_are_counted() {
    let mut switch = switch();
    assert_eq!(send(&mut switch, ASSERT, 1, 0).len(), 1);
    assert_eq!(send(&mut switch, ASSERT, 0, 0), []);
    assert_eq!(send(&mut switch, DROP, 0, 0), []);
    assert_eq!(send(&mut switch, DROP_EGRESS, 0, 0), []);
    let drops = ["drop_assert", "drop_ingress", "drop_egress"].map(|name| stat(&switch, name));
    assert_eq!(drops, [1, 1, 1]);
}

#[test]
fn exit_ends_the_control() {
    assert_eq!(send(&mut switch(), EXIT, 0, 0), [(9, 1)]);
}

#[test]
fn counters_count_packets_and_bytes() {
    let mut switch = switch();
    send(&mut switch, COUNT, 3, 0);
    send(&mut switch, COUNT, 3, 0);
    send(&mut switch, COUNT, 8, 0);
    assert_eq!(switch.counter_read("CommandIngress.counts", 3).unwrap(), (2, 30));
    assert_eq!(stat(&switch, "extern_out_of_range"), 1);
    switch.counter_write("CommandIngress.counts", 3, 7, 8).unwrap();
    let all = switch.counter_read_all("CommandIngress.counts").unwrap();
    assert_eq!((all.len(), all[3], all[4]), (8, (7, 8), (0, 0)));
    assert_eq!(switch.counter_read("CommandIngress.counts", 8).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn queue_metadata_reaches_egress() {
    let mut switch = switch();
    let mut copies = Vec::new();
    switch.ingress(0, 3, &command(QUEUE, 9, 0, 0), &mut copies);
    let queue = QueueMeta { enq_timestamp_us: 5, enq_qdepth: 2, deq_timedelta_us: 0x10000, deq_qdepth: 7, qid: 0 };
    let mut out = Vec::new();
    let copy: PacketCopy = copies.pop().unwrap();
    assert_eq!(switch.egress(0, copy, &queue, &mut out, &mut copies), Some(9));
    assert_eq!(out[4..8], [0, 1, 2, 7]);
}

#[test]
fn copies_may_be_dropped_or_recycled_in_any_order() {
    let mut switch = switch();
    switch.mcast_group_add(5, &replicas(&[(1, 1), (2, 2), (3, 3)])).unwrap();
    for round in 0..10 {
        let mut copies = Vec::new();
        switch.ingress(0, 3, &command(MULTICAST, 9, 5, 0), &mut copies);
        let last = copies.remove(round % 3);
        for copy in copies {
            if round % 2 == 0 {
                switch.recycle(copy);
            }
        }
        let mut out = Vec::new();
        let port = last.port();
        assert_eq!(switch.egress(0, last, &QueueMeta::default(), &mut out, &mut Vec::new()), Some(port));
        assert_eq!(u32::from_be_bytes(out[4..8].try_into().unwrap()) >> 16, u32::from(port));
    }
}

#[test]
fn a_switch_can_be_sent_to_another_thread() {
    let mut switch = switch();
    let thread = std::thread::spawn(move || send(&mut switch, 0, 0, 1));
    assert_eq!(thread.join().unwrap(), [(9, 1)]);
}

#[test]
fn packets_that_are_too_long_are_dropped() {
    let mut switch = switch();
    let mut out = Outputs::new();
    switch.process(0, 3, &vec![0; 65_536], &mut out);
    assert!(out.is_empty());
    assert_eq!(stat(&switch, "drop_oversize"), 1);
    switch.process(0, 3, &vec![0; 65_535], &mut out);
    assert_eq!(out.len(), 1);
}
