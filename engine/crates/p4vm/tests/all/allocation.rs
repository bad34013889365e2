//! In steady state a packet allocates nothing.

use p4vm::{ActionCall, EntryTarget, MatchKey, Outputs, PacketCopy, Program, QueueMeta, Replica, Switch};

fn l2() -> Switch {
    let mut switch = Switch::new(Program::from_json(include_str!("../data/l2.json")).unwrap(), crate::options());
    let call = ActionCall { action: "L2Ingress.forward".into(), params: vec![vec![2]] };
    let key = [MatchKey::Value(vec![2; 6])];
    switch.table_add("L2Ingress.destinations", &key, 0, &EntryTarget::Action(call), 0).unwrap();
    let replicas: Vec<Replica> = (0..8).map(|port| Replica { port, instance: 0 }).collect();
    switch.mcast_group_add(1, &replicas).unwrap();
    switch
}

fn allocations(mut work: impl FnMut()) -> u64 {
    for _ in 0..10 {
        work();
    }
    allocation_counter::measure(|| (0..100).for_each(|_| work())).count_total
}

#[test]
fn unicast_and_multicast_allocate_nothing() {
    let (mut switch, mut out) = (l2(), Outputs::new());
    let (unicast, flooded) = ([2u8; 1500], [3u8; 1500]);
    let count = allocations(|| {
        out.clear();
        switch.process(0, 1, &unicast, &mut out);
        switch.process(0, 1, &flooded, &mut out);
        assert_eq!(out.len(), 1 + 7);
    });
    assert_eq!(count, 0);
}

#[test]
fn queued_copies_allocate_nothing_when_they_are_recycled() {
    let mut switch = l2();
    let (mut queue, mut more, mut out) = (Vec::<PacketCopy>::new(), Vec::new(), Vec::new());
    let count = allocations(|| {
        for _ in 0..16 {
            switch.ingress(0, 1, &[3; 1000], &mut queue);
        }
        for (i, copy) in queue.drain(..).enumerate() {
            out.clear();
            if i % 3 == 0 {
                switch.recycle(copy);
            } else {
                switch.egress(0, copy, &QueueMeta::default(), &mut out, &mut more);
            }
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn resubmission_recirculation_and_clones_allocate_nothing() {
    let program = Program::from_json(include_str!("../data/commands.json")).unwrap();
    let (mut switch, mut out) = (Switch::new(program, crate::options()), Outputs::new());
    let session = p4vm::CloneSession { replicas: vec![Replica { port: 1, instance: 0 }], ..Default::default() };
    switch.clone_session_set(1, &session).unwrap();
    let count = allocations(|| {
        out.clear();
        // Clones, resubmission, recirculation, register and hash: each with argument 1.
        for op in [2, 3, 4, 5, 8, 17] {
            switch.process(0, 1, &[op, 9, 0, 1, 0, 0, 0, 0, 1, 2, 3], &mut out);
        }
        assert_eq!(out.len(), 8);
    });
    assert_eq!(count, 0);
}
