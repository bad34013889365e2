"""@entry_restriction and @action_restriction, in p4-constraints' language (its docs/language-specification.md)."""

import re

import pytest
from finsy.proto import p4i, p4r, rpc_code

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.pipeline import build_pipeline
from engine.switch.p4runtime.restrictions import (
    ACTION,
    ENTRY,
    INT,
    PRIORITY,
    Type,
    Value,
    annotated,
    checked_restriction,
)
from tests.engine.entities import Bench, action, config, refused, table_entry

TYPES = {
    "e": Type("exact", 8),
    "hdr.t": Type("ternary", 8),
    "o": Type("optional", 8),
    "l": Type("lpm", 32),
    "r": Type("range", 8),
    "p": Type("bit", 8),
    PRIORITY: INT,
}
VALUES: dict[str, Value] = {
    "e": 200,
    "hdr.t": (3, 0xFF),
    "o": (0, 0),
    "l": (0x0A000000, 8),
    "r": (1, 9),
    "p": 255,
    PRIORITY: 7,
}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "true",
        "true;",
        "!false",
        "e == 200 && e::value == 0xc8 && e == 0b11001000 && e == 0o310 && e == 0d200",
        "e > 199; e >= 200; e < 201; e <= 200; e != 201",
        "hdr.t == 3; hdr.t::value == 3; hdr.t::mask == -1; hdr.t::mask == 0xff",
        "o::mask == 0; o != 0; o::value == 0",
        "l::prefix_length == 8; l::prefix_length > -1; l::value == ipv4('10.0.0.0')",
        "r::low == 1 && r::high == 9; r != 1",
        "p == -1",
        "::priority < 0x7fffffff; ::priority == 7",
        "e == 1 -> false",
        "e == 200 -> (hdr.t == 3; true)",
        "(e == 1) == false; true != false",
        "false || false && true || true",  # && binds before ||
        "true || false -> true",  # and || before ->
        "ipv6('::1') == 1; mac('00:00:00:00:01:00') == 256; - -1 == 1",
        "// a comment; false\n true /* false; */ ; !!true",
    ],
)
def test_what_holds(text: str) -> None:
    checked_restriction(text, TYPES, "table 't'").check(VALUES)


@pytest.mark.parametrize(
    "text", ["false", "true; false", "e == 1", "hdr.t == 2", "o == 0", "l::prefix_length > 8", "r == 1", "!(e == 200)"]
)
def test_what_does_not(text: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "table 't': against its restriction: "):
        checked_restriction(text, TYPES, "table 't'").check(VALUES)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("e == ", "a value expected, not 'the end'"),
        ("e == 1 == true", "needs parentheses"),
        ("true -> true -> true", "needs parentheses"),
        ("x == 1", "there is no x"),
        ("e", "needs something true or false, not exact<8>"),
        ("1 && true", "&& needs something true or false, not int"),
        ("e::mask == 0", "has no 'mask'"),
        ("l::high == 0", "has no 'high'"),
        ("hdr.t < 3", "< is not of ternary<8>"),
        ("true < false", "< is not of bool"),
        ("e == true", "== of exact<8> and bool"),
        ("e == l", "== of exact<8> and lpm<32>"),
        ("-true == 1", "- is not of bool"),
        ("::age == 1", "an attribute that there is expected"),
        ("(true", "')' expected"),
        ("true true", "an operator or ';' expected, not 'true'"),
        ("ipv4('1.2.3') == 1", "is not an address"),
        ("e == 'a'", "a value expected"),
        ("e == 1 # no", "is not understood"),
        ("0x == 1", "is not understood"),
        ("(" * 60 + "true" + ")" * 60, "nested more than"),
        ("!" * 10_000 + "true", "nested more than"),
    ],
)
def test_what_is_no_restriction(text: str, why: str) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, re.escape(why)):
        checked_restriction(text, TYPES, "table 't'")


def test_texts_of_annotations() -> None:
    """As p4c writes them: strings with escapes, next to each other."""
    lines = ["@other", '@entry_restriction("a == \\"b\\";\n c" " == 1")', '@action_restriction("d")']
    assert annotated(lines, ENTRY) == 'a == "b";\n c == 1'
    assert annotated(lines, ACTION) == "d"
    assert annotated([*lines, '@action_restriction("e")'], ACTION) == "d\n;e"
    assert annotated([], ENTRY) is None


def restricted(entry: str | None = None, act: str | None = None) -> Bench:
    """The test program, with restrictions of table `acl` and action `forward`."""
    changed = config()
    of(changed.p4info, entry, act)
    path = MemoryDataPath()
    bench = Bench(build_pipeline(changed, path), path)
    path.install(bench.pipeline.switch)
    return bench


def of(info: p4i.P4Info, entry: str | None, act: str | None) -> None:
    if entry is not None:
        table = next(table for table in info.tables if table.preamble.alias == "acl")
        table.preamble.annotations.append(f'@entry_restriction("{entry}")')
    if act is not None:
        forward = next(action for action in info.actions if action.preamble.alias == "forward")
        forward.preamble.annotations.append(f'@action_restriction("{act}")')


def test_entries_are_held_to_their_tables_restriction() -> None:
    bench = restricted(entry="::priority > 4; false || ::priority < 10")
    bench.insert(table_entry("acl", {}, action("deny"), 5))
    with refused(rpc_code.INVALID_ARGUMENT, "table 'Pipe.acl': against its restriction: ::priority > 4"):
        bench.insert(table_entry("acl", {}, action("deny"), 4))
    with refused(rpc_code.INVALID_ARGUMENT, r"false \|\| ::priority < 10"):
        bench.insert(table_entry("acl", {}, action("deny"), 10))
    bench.delete(table_entry("acl", {}, priority=5))


def test_arguments_are_held_to_their_actions_restriction() -> None:
    bench = restricted(act="port != 5")
    bench.insert(table_entry("l2", {"dst": 1}, action("forward", port=4)))
    for write in (bench.insert, bench.modify):
        with refused(rpc_code.INVALID_ARGUMENT, "action 'Pipe.forward': against its restriction: port != 5"):
            write(table_entry("l2", {"dst": 2 if write == bench.insert else 1}, action("forward", port=5)))
    assert bench.ports(1) == [4]


def test_a_program_with_a_restriction_that_is_none_is_refused() -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "P4Info: the restriction of table 'Pipe.acl': there is no x"):
        restricted(entry="x == 1")
    with refused(rpc_code.INVALID_ARGUMENT, "P4Info: the restriction of action 'Pipe.forward': there is no x"):
        restricted(act="x == 1")


def test_members_are_held_to_it_too() -> None:
    bench = restricted(act="port != 5")
    profile = bench.pipeline.info.message.action_profiles[0].preamble.id
    member = p4r.ActionProfileMember(action_profile_id=profile, member_id=1, action=action("forward", port=5))
    with refused(rpc_code.INVALID_ARGUMENT, "against its restriction"):
        bench.insert(member)
