"""Members, groups and one-shot sets of action profiles."""

import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.entities import DELETE, INSERT, MODIFY, Bench, action, group, id_of, member, refused, table_entry

FORWARD = {port: action("forward", port=port) for port in range(1, 6)}
DST = (0x1234 << 32, 16)


def route(target: p4r.TableAction | None = None) -> p4r.TableEntry:
    return table_entry("routes", {"dst": DST}, target)


def to_member(id_: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_member_id=id_)


def to_group(id_: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_group_id=id_)


def one_shot(*actions: tuple[p4r.Action, int], **fields: int) -> p4r.TableAction:
    message = p4r.TableAction()
    message.action_profile_action_set.SetInParent()
    for act, weight in actions:
        message.action_profile_action_set.action_profile_actions.add(action=act, weight=weight)
    for name, value in fields.items():
        setattr(message.action_profile_action_set, name, value)
    return message


def used_ports(bench: Bench) -> set[int]:
    """The ports that frames of many sources take, as the selector hashes the source."""
    return {port for src in range(64) for port in bench.ports(DST[0], src=src)}


def test_an_entry_refers_to_a_member(bench: Bench) -> None:
    bench.insert(member(1, FORWARD[1]), route(to_member(1)))
    assert used_ports(bench) == {1}
    bench.modify(member(1, FORWARD[2]))
    assert used_ports(bench) == {2}
    assert bench.read_table(route()) == [route(to_member(1))]


def test_a_group_spreads_over_its_members(bench: Bench) -> None:
    bench.insert(member(1, FORWARD[1]), member(2, FORWARD[2]), group(7, {1: 1, 2: 2}), route(to_group(7)))
    assert used_ports(bench) == {1, 2}
    bench.insert(member(3, FORWARD[3]))
    bench.modify(group(7, {3: 1}))
    assert used_ports(bench) == {3}


def test_member_existence_and_references(bench: Bench) -> None:
    with refused(rpc_code.NOT_FOUND):
        bench.modify(member(1, FORWARD[1]))
    with refused(rpc_code.NOT_FOUND):
        bench.delete(member(1, None))
    bench.insert(member(1, FORWARD[1]), group(1, {1: 1}), route(to_member(1)))
    with refused(rpc_code.ALREADY_EXISTS):
        bench.insert(member(1, FORWARD[1]))
    with refused(rpc_code.FAILED_PRECONDITION, "1 groups and 1 table entries"):
        bench.delete(member(1, None))
    bench.delete(group(1, {}), route())
    bench.delete(member(1, None))
    assert bench.read(p4r.ActionProfileMember()) == []


def test_group_existence_and_references(bench: Bench) -> None:
    with refused(rpc_code.NOT_FOUND):
        bench.modify(group(1, {}))
    with refused(rpc_code.NOT_FOUND, "no member 5"):
        bench.insert(group(1, {5: 1}))
    bench.insert(member(1, FORWARD[1]), group(1, {1: 1}), route(to_group(1)))
    with refused(rpc_code.ALREADY_EXISTS):
        bench.insert(group(1, {}))
    with refused(rpc_code.FAILED_PRECONDITION):
        bench.delete(group(1, {}))
    bench.delete(route())
    bench.delete(group(1, {}))
    with refused(rpc_code.NOT_FOUND):
        bench.insert(route(to_group(1)))


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (member(0, FORWARD[1]), rpc_code.INVALID_ARGUMENT, "may not be 0"),
        (member(1, None), rpc_code.INVALID_ARGUMENT, "no action"),
        (member(1, action("set_dst", dst=1)), rpc_code.INVALID_ARGUMENT, "has no action"),
        (p4r.ActionProfileMember(action_profile_id=9, member_id=1), rpc_code.INVALID_ARGUMENT, "0x9"),
        (group(0, {}), rpc_code.INVALID_ARGUMENT, "may not be 0"),
        (group(1, {}, "next_hops"), rpc_code.INVALID_ARGUMENT, "no selector"),
        (group(1, {}, max_size=-1), rpc_code.INVALID_ARGUMENT, "max_size -1"),
        (group(1, {8: 0}), rpc_code.INVALID_ARGUMENT, "weight 0"),
        (group(1, {8: -1}), rpc_code.INVALID_ARGUMENT, "weight -1"),
        (group(1, {8: 3}, max_size=2), rpc_code.RESOURCE_EXHAUSTED, "size would be 3"),
    ],
)
def test_refused_members_and_groups(
    bench: Bench, entry: p4r.ActionProfileMember | p4r.ActionProfileGroup, code: int, message: str
) -> None:
    bench.insert(member(8, FORWARD[1]))
    before = bench.state()
    with refused(code, message):
        bench.insert(entry)
    assert bench.state() == before


def test_a_member_twice_in_a_group_is_refused(bench: Bench) -> None:
    bench.insert(member(1, FORWARD[1]))
    twice = group(1, {1: 1})
    twice.members.add(member_id=1, weight=1)
    with refused(rpc_code.INVALID_ARGUMENT, "named twice"):
        bench.insert(twice)


def test_max_size_is_fixed_at_insert(bench: Bench) -> None:
    bench.insert(member(1, FORWARD[1]), group(1, {1: 1}, max_size=4))
    with refused(rpc_code.INVALID_ARGUMENT, "max_size 4"):
        bench.modify(group(1, {1: 1}, max_size=5))
    bench.modify(group(1, {1: 4}, max_size=4))


def test_a_full_profile(bench: Bench) -> None:
    bench.insert(*(member(id_, action("set_dst", dst=id_), "next_hops") for id_ in range(1, 9)))
    with refused(rpc_code.RESOURCE_EXHAUSTED):
        bench.insert(member(9, action("set_dst", dst=9), "next_hops"))


def test_a_one_shot_set_is_read_back_as_it_was_written(bench: Bench) -> None:
    """Two equal actions stay two."""
    entry = route(one_shot((FORWARD[1], 1), (FORWARD[1], 2), (FORWARD[2], 3)))
    bench.insert(entry)
    assert bench.read_table(p4r.TableEntry(table_id=id_of("routes"))) == [entry]
    assert bench.read(p4r.ActionProfileMember()) == []
    assert bench.read(p4r.ActionProfileGroup()) == []
    assert used_ports(bench) == {1, 2}
    changed = route(one_shot((FORWARD[4], 1)))
    bench.modify(changed)
    assert bench.read_table(route()) == [changed]
    assert used_ports(bench) == {4}
    bench.delete(route())
    assert used_ports(bench) == set()
    assert bench.path.switch is not None
    assert bench.path.switch.members("Pipe.spread") == {}
    assert bench.path.switch.groups("Pipe.spread") == {}


def test_the_two_styles_exclude_each_other(bench: Bench) -> None:
    bench.insert(route(one_shot((FORWARD[1], 1))))
    for entry in (member(1, FORWARD[1]), group(1, {})):
        with refused(rpc_code.INVALID_ARGUMENT, "one-shot"):
            bench.insert(entry)
    bench.delete(route())
    bench.insert(member(1, FORWARD[1]))
    with refused(rpc_code.INVALID_ARGUMENT, "members and groups"):
        bench.insert(route(one_shot((FORWARD[1], 1))))


@pytest.mark.parametrize(
    ("target", "code", "message"),
    [
        (one_shot((FORWARD[1], 0)), rpc_code.INVALID_ARGUMENT, "weight 0"),
        (one_shot((action("set_dst", dst=1), 1)), rpc_code.INVALID_ARGUMENT, "has no action"),
        (one_shot((FORWARD[1], 1), action_selection_mode=2), rpc_code.UNIMPLEMENTED, "hash only"),
        (one_shot((FORWARD[1], 1), size_semantics=2), rpc_code.UNIMPLEMENTED, "size semantics"),
        (to_member(0), rpc_code.INVALID_ARGUMENT, "may not be 0"),
        (to_member(5), rpc_code.NOT_FOUND, "no member 5"),
    ],
)
def test_refused_targets(bench: Bench, target: p4r.TableAction, code: int, message: str) -> None:
    with refused(code, message):
        bench.insert(route(target))


def test_the_selectors_own_modes_may_be_named(bench: Bench) -> None:
    bench.insert(route(one_shot((FORWARD[1], 1), action_selection_mode=1, size_semantics=1)))


def test_a_profile_without_selector_takes_members_only(bench: Bench) -> None:
    key = table_entry("hops", {"dst": DST})
    for target in (to_group(1), one_shot((action("set_dst", dst=1), 1))):
        entry = table_entry("hops", {"dst": DST}, target)
        with refused(rpc_code.INVALID_ARGUMENT, "no selector"):
            bench.insert(entry)
    bench.insert(member(1, action("set_dst", dst=1), "next_hops"), table_entry("hops", {"dst": DST}, to_member(1)))
    bench.insert(table_entry("l2", {"dst": 1}, FORWARD[5]))
    assert bench.ports(DST[0]) == [5]
    bench.delete(key)


def test_undo(bench: Bench) -> None:
    bench.insert(member(1, FORWARD[1]), member(2, FORWARD[2]), group(1, {1: 1}), route(to_group(1)))
    before = bench.state()
    undos = [
        bench.apply(MODIFY, group(1, {1: 1, 2: 5})),
        bench.apply(MODIFY, member(1, FORWARD[3])),
        bench.apply(MODIFY, route(to_member(2))),
        bench.apply(DELETE, group(1, {})),
        bench.apply(INSERT, member(3, FORWARD[3])),
        bench.apply(DELETE, member(1, None)),
    ]
    for undo in reversed(undos):
        undo()
    assert bench.state() == before
    assert used_ports(bench) == {1}
    with refused(rpc_code.FAILED_PRECONDITION):
        bench.delete(group(1, {}))


def test_undo_of_one_shot_changes(bench: Bench) -> None:
    bench.insert(route(one_shot((FORWARD[1], 1))))
    before = bench.state()
    undos = [bench.apply(MODIFY, route(one_shot((FORWARD[2], 1)))), bench.apply(DELETE, route())]
    for undo in reversed(undos):
        undo()
    assert bench.state() == before
    assert used_ports(bench) == {1}


# Watch ports.


def test_a_member_is_left_out_while_its_watch_port_is_down(bench: Bench) -> None:
    watching = one_shot((FORWARD[1], 1), (FORWARD[2], 1))
    watching.action_profile_action_set.action_profile_actions[0].watch_port = b"\0\x01"
    bench.insert(route(watching))
    assert used_ports(bench) == {1, 2}
    bench.path.up[1] = False
    bench.pipeline.port_changed(1)
    assert used_ports(bench) == {2}
    (read,) = bench.read_table(route())
    assert read.action.action_profile_action_set.action_profile_actions[0].watch_port == b"\x01"
    bench.path.up[1] = True
    bench.pipeline.port_changed(1)
    assert used_ports(bench) == {1, 2}


def test_a_groups_member_with_a_watch_port(bench: Bench) -> None:
    bench.path.up[2] = False
    watching = group(1, {1: 1, 2: 1})
    watching.members[0].watch = 1
    watching.members[1].watch_port = b"\x02"
    bench.insert(member(1, FORWARD[1]), member(2, FORWARD[2]), watching, route(to_group(1)))
    assert used_ports(bench) == {1}
    assert bench.read(group(1, {}))[0].action_profile_group == watching


def test_a_watch_port_must_exist(bench: Bench) -> None:
    watching = group(1, {1: 1})
    watching.members[0].watch_port = b"\xff\xff"
    bench.insert(member(1, FORWARD[1]))
    with refused(rpc_code.INVALID_ARGUMENT, "no port 65535"):
        bench.insert(watching)
