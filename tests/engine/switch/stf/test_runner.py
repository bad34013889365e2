"""STF: reading tests, resolving what they say, and running them."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.switch.cli import app
from engine.switch.p4runtime.program import KeyField, Table
from engine.switch.stf import suite
from engine.switch.stf.errors import StfError
from engine.switch.stf.names import find, find_key_field
from engine.switch.stf.runner import Result, run_test
from engine.switch.stf.script import Line, parse_script
from engine.switch.stf.values import interval, number, prefix, ternary
from tests.engine.entities import JSON, program_file

TO_1 = "0000000000010000000000aa0800"
TO_2 = "0000000000020000000000aa0800"
ADD_1 = "add l2 dst:1 forward(port:3)"


def run(*lines: str) -> Result:
    """The same in both back ends."""
    text = "\n".join(lines)
    native, interpreted = (run_test(JSON, text, backend=backend) for backend in ("native", "interpreter"))
    assert native == interpreted
    return native


def findings(*lines: str) -> list[tuple[int, str]]:
    """(line, the first line of what is wrong)."""
    return [(finding.line, finding.message.splitlines()[0]) for finding in run(*lines).findings]


# Reading.


def test_a_script_is_commands_with_their_lines() -> None:
    text = "# a comment\n\nadd t k:1 a()  # and one behind\n\tPACKET 0  00 11\nwait\n"
    assert parse_script(text) == [Line(3, "add", "t k:1 a()"), Line(4, "packet", "0  00 11"), Line(5, "wait", "")]


@pytest.mark.parametrize(
    ("text", "value"), [("10", 10), ("0x0a", 10), ("0b1010", 10), ("0o12", 10), ("007", 7), ("-1", 255), ("0XFF", 255)]
)
def test_numbers(text: str, value: int) -> None:
    assert number(text, 8, "f") == value


@pytest.mark.parametrize("text", ["", "x", "0x", "256", "-257", "1.5"])
def test_refused_numbers(text: str) -> None:
    with pytest.raises(StfError, match="f: "):
        number(text, 8, "f")


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("0x12", (0x12, 0xFFFF)),
        ("7", (7, 0xFFFF)),
        ("0x1***", (0x1000, 0xF000)),
        ("0x*2**", (0x200, 0xF00)),
        ("0b1*", (2, 2)),
        ("0o1*", (8, 0o70)),
        ("0x12&&&0xf0", (0x12, 0xF0)),
    ],
)
def test_ternary_values(text: str, pair: tuple[int, int]) -> None:
    assert ternary(text, 16, "f") == pair


@pytest.mark.parametrize(
    ("text", "pair"),
    [("0x0a00/8", (0x0A00, 8)), ("0x0a**", (0x0A00, 8)), ("0x0a01", (0x0A01, 16)), ("5", (5, 16)), ("0x****", (0, 0))],
)
def test_prefixes(text: str, pair: tuple[int, int]) -> None:
    assert prefix(text, 16, "f") == pair


def test_intervals() -> None:
    assert interval("1->0x10", 16, "f") == (1, 16)
    assert interval("4", 16, "f") == (4, 4)


@pytest.mark.parametrize("text", ["1*", "0x1g**", "0x1****"])
def test_refused_patterns(text: str) -> None:
    with pytest.raises(StfError):
        ternary(text, 16, "f")


def test_a_pattern_that_is_no_prefix() -> None:
    with pytest.raises(StfError, match="not a prefix"):
        prefix("0x0*a*", 16, "f")


def test_names_may_lack_their_front() -> None:
    names = ["ingress.l2", "ingress.big_l2", "egress.acl", "ingress.acl"]
    assert find("l2", names, "table") == "ingress.l2"
    assert find("ingress.acl", names, "table") == "ingress.acl"
    assert find("big_l2", names, "table") == "ingress.big_l2"
    with pytest.raises(StfError, match=r"may be egress.acl or ingress.acl"):
        find("acl", names, "table")
    with pytest.raises(StfError, match="no table x"):
        find("x", names, "table")


def test_key_fields_in_all_their_spellings() -> None:
    names = ("hdr.ethernet.dst", "hdr.vlan[1].id", "hdr.ipv4.$valid$")
    table = Table("t", tuple(KeyField(n, 8, "exact") for n in names), {}, None, False, None, False, False)
    for name, position in (
        ("hdr.ethernet.dst", 0),
        ("ethernet.dst", 0),
        ("dst", 0),
        ("hdr.vlan$1.id", 1),
        ("vlan[1].id", 1),
        ("hdr.ipv4.$valid$", 2),
        ("hdr.ipv4", 2),
        ("ipv4.valid", 2),
        ("valid", 2),
    ):
        assert find_key_field(name, table) == position, name
    with pytest.raises(StfError, match=r"does not match ttl, but hdr.ethernet.dst"):
        find_key_field("ttl", table)


# Running.


def test_expected_packets() -> None:
    assert run(ADD_1, f"expect 3 {TO_1}", f"packet 1 {TO_1} 00 ff").passed
    assert run(ADD_1, f"packet 1 {TO_1}ff", f"expect 3 {TO_1[:-4]} ** ** FF $").passed
    assert run(ADD_1, f"packet 1 {TO_1}", f"packet 1 {TO_1}", "expect 3").passed


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        (f"expect 3 {TO_1}00", "port 3: the packet has 28 digits, fewer than the 30 expected"),
        (f"expect 3 {TO_1[:-2]} $", "port 3: the packet has 28 digits, more than the 26 expected"),
        (f"expect 3 {TO_1[:-4]} 08 01", "port 3: digit 27 (byte 13) is 0, not 1"),
    ],
)
def test_a_packet_that_differs_is_found_at_its_expect(expect: str, message: str) -> None:
    assert findings(ADD_1, f"packet 1 {TO_1}", expect) == [(3, message)]


def test_missing_and_unexpected_packets() -> None:
    assert findings("expect 3 00", f"packet 1 {TO_1}") == [(1, "port 3: no packet came")]
    unexpected = "port 1: a packet came that no line expects"
    assert findings("add l2 dst:1 forward(port:1)", f"packet 1 {TO_1}", f"packet 1 {TO_1}") == [
        (2, unexpected),
        (3, unexpected),
    ]
    assert findings("add l2 dst:1 forward(port:1)", f"packet 1 {TO_1}", "no_packet") == [(2, unexpected)]


def test_ports_that_the_test_does_not_name_are_not_looked_at() -> None:
    assert run("add l2 dst:1 forward(port:9)", f"packet 1 {TO_1}").passed


def test_entries_with_priorities_defaults_and_removal() -> None:
    result = run(
        "setdefault l2 forward(port:4)",
        "add acl 5 type:0x0800 deny()",
        "add acl 10 src:0x0000000000a* ingress_port:1->3 pass()",
        f"packet 1 {TO_1}",
        f"packet 5 {TO_1}",
        "remove all",
        f"packet 5 {TO_1}",
        f"expect 4 {TO_1}",
        f"expect 4 {TO_1}",
        "expect 1",
        "expect 5",
    )
    assert result.findings == []


def test_multicast_and_mirroring() -> None:
    result = run(
        "mc_mgrp_create 7",
        "mc_node_create 0 3 4",
        "mc_node_create 5 4",
        "mc_node_associate 7 0",
        "mc_node_associate 7 1",
        "mirroring_add 5 6",
        "mirroring_add_mc 5 7",
        "mirroring_get 5",
        "add l2 dst:1 flood(group:7)",
        "add l2 dst:2 mirror(port:2)",
        f"packet 9 {TO_1}",
        f"expect 3 {TO_1}",
        f"expect 4 {TO_1}",
        f"expect 4 {TO_1}",
        f"packet 9 {TO_2}",
        f"expect 2 {TO_2}",
        f"expect 6 {TO_2}",
        f"expect 3 {TO_2}",
        f"expect 4 {TO_2}",
        f"expect 4 {TO_2}",
        "mc_node_dissociate 7 0",
        "mc_node_update 1 3",
        f"packet 9 {TO_1}",
        f"expect 3 {TO_1}",
        "mirroring_delete 5",
        f"packet 9 {TO_2}",
        f"expect 2 {TO_2}",
        "mc_mgrp_destroy 7",
        f"packet 9 {TO_1}",
        "expect 9",
    )
    assert result.findings == []


def test_counters_registers_and_meters() -> None:
    result = run(
        "add l2 dst:1 forward(port:3) = $A",
        f"packet 1 {TO_1}",
        "expect 3",
        "check_counter l2_counter($A) packets == 1",
        "check_counter l2_counter($A) bytes >= 14",
        "check_counter port_counter(1) packets != 0",
        "check_counter port_counter(2)",
        "counter_write port_counter 2 10 100",
        "check_counter port_counter(2) bytes <= 100",
        "counter_read port_counter 2",
        "counter_reset port_counter",
        "check_counter port_counter(2)",
        "register_write memory 3 77",
        "register_read memory 3",
        "register_reset memory",
        "register_read memory",
        "meter_set_rates cell_meter 1 0.000005:4 0.00002:5",
        "meter_get_rates cell_meter 1",
        "meter_array_set_rates cell_meter 1:4 2:5",
    )
    assert result.findings == []
    assert result.printed[0] == "port_counter[2] = 10 packets, 100 bytes"
    assert result.printed[1] == "memory[3] = 77"
    assert result.printed[2:6] == [f"memory[{index}] = 0" for index in range(4)]
    assert "'cir': 5.0" in result.printed[6]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fly to the moon", "there is no statement `fly`"),
        ("add l2", "add needs a table"),
        ("add nothing dst:1 forward(port:3)", "the program has no table nothing"),
        ("add l2 ttl:1 forward(port:3)", "table Pipe.l2 does not match ttl"),
        ("add l2 dst:1 fly(port:3)", "no action in table Pipe.l2, fly"),
        ("add l2 dst:1 forward(port:512)", "port: 512 does not fit 9 bits"),
        ("add l2 dst:1 forward()", "action Pipe.forward needs port"),
        ("add l2 dst:1 forward(ports:3)", "`ports:3` is not PARAMETER:VALUE"),
        ("add l2 dst forward(port:3)", "`dst` is not FIELD:VALUE"),
        ("setdefault l2", "setdefault needs"),
        ("remove l2", "only `remove all`"),
        ("packet x 00", "`x` is not a port number"),
        ("packet 0 0", "not a whole number of hexadecimal bytes"),
        ("expect 0 0g", "`G` is not a hexadecimal digit"),
        ("mc_node_associate 1 0", "there is no multicast node 0"),
        ("mc_mgrp_create x", "mc_mgrp_create takes numbers only"),
        ("mc_mgrp_create 1 2", "mc_mgrp_create does not take 2 numbers"),
        ("mirroring_get 1", "there is no mirroring session 1"),
        ("register_read nothing 1", "the program has no register nothing"),
        ("register_read memory 9", "memory"),
        ("register_write memory", "register_write does not take 1 arguments"),
        ("meter_set_rates cell_meter 1 x:1 2:2", "a meter's rates are"),
        ("check_counter port_counter", "check_counter is"),
        ("check_counter port_counter($A) packets == 1", "no entry was named $A"),
        ("check_counter port_counter(1) packets == 1", "counter port_counter(1): 0 packets, not == 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, message: str) -> None:
    (finding,) = run("# first", line).findings
    assert finding.line == 2
    assert message in finding.message
    assert finding.at(Path("t.stf")).startswith("t.stf:2: ")


def test_an_entry_twice_is_the_data_planes_error() -> None:
    ((line, message),) = findings(ADD_1, ADD_1)
    assert line == 2
    assert message


def test_statements_may_be_ignored() -> None:
    assert run_test(JSON, "check_counter port_counter(1) packets == 5", ignore=["check_counter"]).passed


def test_a_program_that_cannot_be_loaded() -> None:
    with pytest.raises(StfError):
        run_test("{}", "wait")


# Commands.


def test_the_command(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.stf", tmp_path / "bad.stf"
    good.write_text(f"{ADD_1}\npacket 1 {TO_1}\nexpect 3 {TO_1}\nregister_read memory 1\n")
    bad.write_text(f"packet 1 {TO_1}\nexpect 3 {TO_1}\n")
    program = str(program_file())
    result = CliRunner().invoke(app, ["stf", program, str(good), "-v"])
    assert (result.exit_code, result.stdout) == (0, f"memory[1] = 0\n{good}: passed\n")
    result = CliRunner().invoke(app, ["stf", program, str(good), str(bad)])
    assert (result.exit_code, result.stdout) == (1, f"{good}: passed\n{bad}: failed\n")
    assert result.stderr == f"{bad}:2: port 3: no packet came\n"


@pytest.mark.parametrize(
    "arguments", [["stf"], ["stf", "none.json", "none.stf"], ["stf", __file__, __file__], ["stf-suite", "none"]]
)
def test_bad_input_is_one_line_with_status_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("canopy switch: ")
    assert result.stderr.count("\n") == 1


# A folder of tests. The compiler is replaced by one that copies what is compiled already, so that p4c is not needed.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five tests; the compiler fails on programs that say so."""
    compiler = tmp_path / "p4c-bm2-ss"
    compiler.write_text(
        f"""#!/bin/sh
        for last; do :; done
        grep -q BROKEN "$last" && {{ echo "$last(1): error: it is broken" >&2; exit 1; }}
        test "$2" = p4-16 || {{ echo "error: --std is $2" >&2; exit 1; }}
        cp {program_file()} "$4"
        """
    )
    compiler.chmod(0o755)
    monkeypatch.setattr(suite, "find_compiler", lambda: str(compiler))
    tests = tmp_path / "tests"
    (tests / "more").mkdir(parents=True)
    for name, source, script in (
        ("good", "#include <v1model.p4>", ADD_1),
        ("more/bad", '#include "v1model.p4"', "expect 3 00"),
        ("broken", "#include <v1model.p4>\nBROKEN", ""),
        ("other", "#include <core.p4>\n#include <psa.p4>", ""),
        ("old", "header_type h { fields { a : 8; } }", ""),
    ):
        (tests / f"{name}.p4").write_text(source)
        (tests / f"{name}.stf").write_text(script)
    (tests / "alone.stf").write_text("")
    return tests


def test_a_suite_sorts_its_tests_by_outcome(folder: Path) -> None:
    outcomes = {o.test.stem: (o.status, o.details) for o in suite.run_suite(suite.find_tests(folder), 2)}
    assert outcomes == {
        "good": ("passed", ()),
        "bad": ("failed", (f"{folder}/more/bad.stf:1: port 3: no packet came",)),
        "broken": ("not compiled", (f"{folder}/broken.p4: {folder}/broken.p4(1): error: it is broken",)),
        "other": ("other architecture", ()),
        "old": ("not compiled", (f"{folder}/old.p4: error: --std is p4-14",)),
    }


def test_the_suites_command(folder: Path) -> None:
    result = CliRunner().invoke(app, ["stf-suite", str(folder), "-j", "1"])
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "1 failed, 2 not compiled, 1 other architecture, 1 passed"
    result = CliRunner().invoke(app, ["stf-suite", str(folder), "--pattern", "go*", "-v"])
    assert (result.exit_code, result.stdout) == (0, f"{folder}/good.stf: passed\n1 passed\n")


def test_without_a_compiler_the_suite_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    result = CliRunner().invoke(app, ["stf-suite", str(folder)])
    assert result.exit_code == 2
    assert result.stderr == "canopy switch: p4c-bm2-ss, p4c's compiler for BMv2, is not on PATH\n"


def test_a_trace_tells_each_packets_way_under_its_line(tmp_path: Path) -> None:
    test = tmp_path / "test.stf"
    test.write_text("\n".join([ADD_1, f"packet 1 {TO_1}", f"expect 3 {TO_1}"]))
    result = CliRunner().invoke(app, ["stf", str(program_file()), str(test), "--trace"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "line 2: packet 1"
    assert lines[1].endswith("[1] Processing packet of 14 bytes received on port 1")
    assert lines[-2].endswith("[1>3] Transmitting packet of size 14 out of port 3")
    assert lines[-1] == f"{test}: passed"
