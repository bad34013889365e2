"""canopy_engine as engine/stubs/canopy_engine.pyi promises it, on the test program crossbar.p4. What programs do is
tested in engine/crates/p4vm; this is about the types and errors that cross into Python."""

from __future__ import annotations

import ast
import hashlib
import inspect
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import canopy_engine
import pytest
from canopy_engine import EngineError

from tests.engine.crossbar import CPU_PORT, PROGRAM, frame, new_switch, rule, word

if TYPE_CHECKING:
    from canopy_engine import MatchKey

STUB = Path(__file__).resolve().parents[3] / "engine" / "stubs" / "canopy_engine.pyi"


def stub_signatures() -> list[tuple[str, str, list[str], list[str]]]:
    """(class or "", function, parameters without self, those of them with defaults) for every function of the stub."""
    found = []
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name in ("Switch", "LiveSwitch"):
            found += [_signature(node.name, item) for item in node.body if isinstance(item, ast.FunctionDef)]
        elif isinstance(node, ast.FunctionDef):
            found.append(_signature("", node))
    return found


def _signature(owner: str, function: ast.FunctionDef) -> tuple[str, str, list[str], list[str]]:
    arguments = function.args
    positional = [argument.arg for argument in arguments.args if argument.arg != "self"]
    optional = positional[len(positional) - len(arguments.defaults) :]
    optional += [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return owner, function.name, positional + [argument.arg for argument in arguments.kwonlyargs], optional


@pytest.mark.parametrize(("owner", "name", "parameters", "optional"), stub_signatures())
def test_the_module_has_what_the_stub_says(owner: str, name: str, parameters: list[str], optional: list[str]) -> None:
    holder: Any = getattr(canopy_engine, owner) if owner else canopy_engine
    if name == "cpu_port":
        assert inspect.isgetsetdescriptor(getattr(holder, name))
        return
    signature = inspect.signature(holder if name == "__init__" else getattr(holder, name))
    actual = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    assert [parameter.name for parameter in actual] == parameters
    assert [p.name for p in actual if p.default is not inspect.Parameter.empty] == optional


def test_the_stub_names_all_of_the_module() -> None:
    named = {(owner, name) for owner, name, _, _ in stub_signatures()}
    for owner in ("Switch", "LiveSwitch"):
        public = {name for name in vars(getattr(canopy_engine, owner)) if not name.startswith("_")}
        assert public == {name for o, name in named if o == owner and name != "__init__"}


def test_the_test_program_is_compiled_from_its_source() -> None:
    """The stamp is `sha256sum crossbar.p4 crossbar.json`; the JSON is p4c's (1.2.4.1), without `source_info`."""
    for line in (PROGRAM.parent / "crossbar.sha256").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((PROGRAM.parent / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"actions": 7}', "null"])
def test_a_program_that_is_none(text: str) -> None:
    with pytest.raises(canopy_engine.LoadError):
        canopy_engine.Switch(text)
    assert issubclass(canopy_engine.LoadError, ValueError)


def test_programs_that_take_turns_stay_apart() -> None:
    """Though the last one is kept."""
    text = PROGRAM.read_text()
    name = canopy_engine.Switch(text).tables()[0]
    for table in (name, "renamed", name):
        assert canopy_engine.Switch(text.replace(f'"{name}"', f'"{table}"')).tables()[0] == table


def test_process_returns_ports_and_packets() -> None:
    switch = new_switch()
    rule(switch, 1, "forward", 7)
    switch.mcast_group_add(3, [(4, 0), (5, 0), (4, 1)])
    rule(switch, 2, "replicate", 3)
    rule(switch, 3, "forward", CPU_PORT)
    assert switch.cpu_port == CPU_PORT
    assert switch.process(1, frame(1)) == [(7, frame(1))]
    assert [port for port, _ in switch.process(2, frame(2))] == [4, 5, 4]
    assert switch.process(3, frame(3)) == [(CPU_PORT, word(3) + frame(3))]
    assert switch.process(9, frame(4)) == []
    assert all(isinstance(count, int) for count in switch.stats().values())


def test_table_entries_come_back_as_they_were_written() -> None:
    switch = new_switch()
    key: list[MatchKey] = [word(5)]
    switch.table_add("crossbar", key, "ingress.forward", [word(6)], idle_timeout_us=250_000)
    entry = switch.table_get("crossbar", key)
    assert switch.table_entries("crossbar") == [entry]
    assert entry["match"] == key
    assert (entry["action"], entry["params"]) == ("ingress.forward", [word(6)])
    assert (entry["member"], entry["group"], entry["is_const"]) == (None, None, False)
    assert entry["idle_timeout_us"] == 250_000
    switch.table_modify("crossbar", key, "ingress.replicate", [word(8)])
    assert switch.table_get("crossbar", key)["action"] == "ingress.replicate"
    switch.table_delete("crossbar", key)
    assert switch.table_entries("crossbar") == []


def test_defaults_are_set_and_reset() -> None:
    switch = new_switch()
    default = switch.table_default("crossbar")
    assert default is not None
    assert (default["action"], default["params"]) == ("ingress.drop", [])
    switch.table_set_default("crossbar", "ingress.forward", [word(4)])
    default = switch.table_default("crossbar")
    assert default is not None
    assert (default["action"], default["params"]) == ("ingress.forward", [word(4)])
    assert switch.process(1, frame()) == [(4, frame())]
    switch.table_reset_default("crossbar")
    assert switch.process(1, frame()) == []


def test_table_info_describes_the_table() -> None:
    switch = new_switch()
    assert "crossbar" in switch.tables()
    info = switch.table_info("crossbar")
    assert info["key"] == [{"name": "ingress_port", "kind": "exact", "bits": 9}]
    assert {"name": "ingress.forward", "params": [("port", 9)]} in info["actions"]
    assert info["supports_timeout"] is True


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (lambda s: s.table_get("crossbar", [word(1)]), "not_found"),
        (lambda s: s.table_add("nowhere", [word(1)], "ingress.forward", [word(1)]), "not_found"),
        (lambda s: s.table_add("crossbar", [word(1), word(1)], "ingress.forward", [word(1)]), "invalid_argument"),
        (lambda s: s.table_add("crossbar", [b"\xff\xff\xff"], "ingress.forward", [word(1)]), "invalid_argument"),
        (lambda s: s.table_add("crossbar", [(word(1), 9)], "ingress.forward", [word(1)]), "invalid_argument"),
        (lambda s: s.counter_read("arrivals", 512), "invalid_argument"),
        (lambda s: s.counter_read("arrivals", -1), "invalid_argument"),
        (lambda s: s.counter_read("nowhere", 0), "not_found"),
        (lambda s: s.mcast_group_add(70_000, []), "invalid_argument"),
        (lambda s: s.mcast_group_add(1, [(70_000, 0)]), "invalid_argument"),
        (lambda s: s.mcast_group_add(1, [(1, 70_000)]), "invalid_argument"),
        (lambda s: s.mcast_group_delete(1), "not_found"),
        (lambda s: s.clone_session_delete(1), "not_found"),
        (lambda s: s.register_read("nowhere", 0), "not_found"),
    ],
)
def test_a_refused_operation_says_why(operation: object, code: str) -> None:
    switch = new_switch()
    with pytest.raises(EngineError) as refused:
        operation(switch)  # type: ignore[operator]
    error = refused.value
    assert error.code == error.args[0] == code
    assert isinstance(error.args[1], str)
    assert error.args[1]
    switch.table_add("crossbar", [word(1)], "ingress.forward", [word(1)])
    with pytest.raises(EngineError) as twice:
        switch.table_add("crossbar", [word(1)], "ingress.forward", [word(1)])
    assert twice.value.code == "already_exists"


@pytest.mark.parametrize("key", [7, (1, 2), (b"\0", "x"), "text", (b"\0",)])
def test_a_match_field_of_a_wrong_type(key: object) -> None:
    with pytest.raises(TypeError, match="match field"):
        new_switch().table_get("crossbar", [key])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "target", [{}, {"member": 1, "group": 1}, {"action": "drop", "member": 1}, {"action": "drop", "group": 1}]
)
def test_an_entry_has_one_target(target: dict[str, Any]) -> None:
    switch = new_switch()
    for change in (switch.table_add, switch.table_modify):
        with pytest.raises(TypeError, match="either"):
            change("crossbar", [word(1)], **target)


def test_counters_are_read_and_written() -> None:
    switch = new_switch()
    switch.process(3, frame(length=100))
    assert switch.counter_read("arrivals", 3) == (1, 100)
    switch.counter_write("arrivals", 3, 1 << 40, 1 << 50)
    assert switch.counter_read_all("arrivals")[3] == (1 << 40, 1 << 50)


def test_replication_state_comes_back() -> None:
    switch = new_switch()
    switch.mcast_group_add(7, [(1, 0), (2, 5)])
    switch.mcast_group_modify(7, [(3, 1)])
    assert switch.mcast_groups() == {7: [(3, 1)]}
    switch.clone_session_set(4, [(2, 1)], packet_length=64, class_of_service=1)
    session = {"replicas": [{"port": 2, "instance": 1}], "packet_length": 64, "class_of_service": 1}
    assert switch.clone_sessions() == {4: session}
    switch.reset()
    assert switch.mcast_groups() == {}
    assert switch.clone_sessions() == {}


def test_digests_and_idle_timeouts_are_events() -> None:
    switch = new_switch()
    switch.table_add("crossbar", [word(1)], "ingress.tell", [word(2)], idle_timeout_us=100_000)
    switch.process(1, frame(), 1000)
    (digest,) = switch.take_events()
    assert digest == {
        "kind": "digest",
        "time_us": 1000,
        "digest": digest["digest"],
        "values": [[word(1), b"\x02\0\0\0\0\x01"]],
    }
    switch.process(2, frame(), 900_000)
    (timeout,) = switch.wait_events(0)
    assert (timeout["kind"], timeout["table"]) == ("idle_timeout", "crossbar")
    assert timeout["entry"]["match"] == [word(1)]


def test_waiting_for_events_lets_other_threads_run() -> None:
    switch = new_switch()
    rule(switch, 1, "tell", 2)
    timer = threading.Timer(0.05, switch.process, (1, frame()))
    start = time.monotonic()
    timer.start()
    assert [event["kind"] for event in switch.wait_events(5000)] == ["digest"]
    assert time.monotonic() - start < 2.5
    assert switch.wait_events(10) == []


def test_many_threads_use_one_switch() -> None:
    switch = new_switch()
    rule(switch, 1, "forward", 2)
    threads = [threading.Thread(target=lambda: [switch.process(1, frame()) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for port in range(10, 60):
        rule(switch, port, "forward", 2)
    for thread in threads:
        thread.join()
    assert switch.counter_read("arrivals", 1)[0] == 2000
    assert len(switch.table_entries("crossbar")) == 51


def test_bench_counts_packets() -> None:
    switch = new_switch()
    switch.mcast_group_add(3, [(4, 0), (5, 0)])
    rule(switch, 1, "replicate", 3)
    result = canopy_engine.bench(switch, 1, [frame()], 10_000)
    assert (result["packets_in"], result["packets_out"]) == (10_000, 20_000)
    assert result["seconds"] > 0
