"""The two data paths; the live one's interfaces are tested in test_switch_cli.py."""

from typing import Any, ClassVar

import canopy_engine
import pytest
from finsy.proto import rpc_code

from engine.switch.p4runtime import datapath
from engine.switch.p4runtime.datapath import LiveDataPath, MemoryDataPath, PortConfig
from tests.engine.entities import CPU_PORT, JSON, Bench, action, frame, refused, table_entry


class Ports:
    """Stands in for `canopy_engine.LiveSwitch`: notes calls, and raises `error` from the one called `fails`."""

    calls: ClassVar[list[str]] = []
    fails = ""
    error: Exception = OSError()

    def __init__(self, switch: canopy_engine.Switch, *, seed: int) -> None:
        self._call("make")

    def add_port(self, number: int, interface: str, **links: object) -> None:
        self._call(f"add {number}@{interface}")

    def set_packet_in_rate(self, per_second: int, burst: int) -> None: ...

    def start(self) -> None:
        self._call("start")

    def stop(self) -> None:
        self._call("stop")

    def inject(self, port: int, packet: bytes) -> None:
        self._call(f"inject {port}")

    def _call(self, name: str) -> None:
        if self.fails and name.startswith(self.fails):
            raise self.error
        self.calls.append(name)


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> type[Ports]:
    monkeypatch.setattr(canopy_engine, "LiveSwitch", Ports)
    monkeypatch.setattr(Ports, "calls", [])
    return Ports


def live(**options: Any) -> LiveDataPath:
    made = [PortConfig(1, "a"), PortConfig(2, "b")]
    return LiveDataPath(made, seed=1, cpu_port=CPU_PORT, is_up=lambda name: name == "a", **options)


def test_the_old_program_forwards_until_the_new_one_has_its_ports(ports: type[Ports]) -> None:
    path = live()
    path.install(path.make_switch(JSON))
    path.install(path.make_switch(JSON))
    path.close()
    path.close()
    once = ["make", "add 1@a", "add 2@b"]
    assert ports.calls == [*once, "start", *once, "stop", "start", "stop"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(19, "No such device"), rpc_code.INTERNAL, "port 1, a: No such device"),
        (ValueError("rate_bps must be positive"), rpc_code.FAILED_PRECONDITION, "port 1, a: .*rate_bps must be"),
    ],
)
def test_a_port_that_cannot_be_opened_leaves_the_old_program(
    ports: type[Ports], monkeypatch: pytest.MonkeyPatch, error: Exception, code: int, message: str
) -> None:
    path = live()
    path.install(path.make_switch(JSON))
    monkeypatch.setattr(ports, "fails", "add")
    monkeypatch.setattr(ports, "error", error)
    with refused(code, message):
        path.install(path.make_switch(JSON))
    assert "stop" not in ports.calls
    path.inject(b"")


def test_packet_outs_that_cannot_be_taken(ports: type[Ports], monkeypatch: pytest.MonkeyPatch) -> None:
    path = live()
    with refused(rpc_code.FAILED_PRECONDITION, "no program"):
        path.inject(b"")
    path.install(path.make_switch(JSON))
    path.inject(b"")
    assert ports.calls[-1] == f"inject {CPU_PORT}"
    monkeypatch.setattr(ports, "fails", "inject")
    monkeypatch.setattr(ports, "error", canopy_engine.EngineError("resource_exhausted", "busy"))
    with refused(rpc_code.RESOURCE_EXHAUSTED, "busy"):
        path.inject(b"")


def test_without_a_cpu_port_there_is_no_packet_out(ports: type[Ports]) -> None:
    path = LiveDataPath([], seed=1, cpu_port=None, is_up=lambda _: True)
    path.install(path.make_switch(JSON))
    with refused(rpc_code.FAILED_PRECONDITION, "no CPU port"):
        path.inject(b"")
    memory = MemoryDataPath()
    memory.install(memory.make_switch(JSON))
    with refused(rpc_code.FAILED_PRECONDITION, "no CPU port"):
        memory.inject(b"")


def test_ports_and_their_state() -> None:
    path = live()
    assert [path.has_port(port) for port in (0, 1, 2, 3)] == [False, True, True, False]
    assert (path.is_port_up(1), path.is_port_up(2)) == (True, False)
    assert not path.port_stats()
    assert not path.switch_stats()
    assert path.wait_events(0) == (None, [])
    memory = MemoryDataPath(num_ports=4)
    assert [memory.has_port(port) for port in (-1, 0, 3, 4)] == [False, True, True, False]


def test_events_in_memory_are_bounded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datapath, "MAX_WAITING_EVENTS", 10)
    bench.insert(table_entry("l2", {"dst": 1}, action("to_cpu", reason=1)))
    for _ in range(10):
        bench.path.process(1, frame(1))
    switch, events = bench.path.wait_events(0)
    assert switch is bench.path.switch
    assert len(events) == 10
    assert bench.path.dropped_events == 10, "each frame is a packet-in and a digest"


def test_nothing_runs_without_a_program() -> None:
    with refused(rpc_code.FAILED_PRECONDITION):
        MemoryDataPath().process(1, b"")
