"""What P4 switches tell Arbor's receivers of the way, in virtual time, beside what is true."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hosts.endpoint import Effect
from hosts.protocols.arbor.packets import ToldData
from hosts.protocols.arbor.receiver import ArborReceiver
from tests.topologies.simulation.runs import simulate

PACKET_BYTES = 14 + 28 + 60 + 1400
EMPTY_S = 0.001 + 0.010 + 0.001 + PACKET_BYTES * 8 * (1 / 100e6 + 1 / 5e6 + 1 / 100e6)
"""Of links' delays and rates."""


def scenario(faults: Sequence[str] = ()) -> str:
    """Two switches, and between them the bottleneck."""
    return "\n".join(
        (
            "name: told\nseed: 1\nduration: 6 s\nnodes:",
            "  s0: {kind: p4}\n  s1: {kind: p4}\n  a: {kind: host}\n  b: {kind: host}",
            "links:",
            "  - {between: [a, s0], rate: 100 Mbps, delay: 1 ms}",
            "  - {between: [s0, s1], rate: 5 Mbps, delay: 10 ms, queue: {kind: droptail, packets: 20}}",
            "  - {between: [s1, b], rate: 100 Mbps, delay: 1 ms}",
            "sessions:",
            "  - {id: 1, protocol: arbor, sender: a, group: 232.6.0.1, port: 5001, realtime: true,",
            "     assist: switch, receivers: [b]}",
            *(("faults:", *(f"  - {fault}" for fault in faults)) if faults else ()),
        )
    )


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float, ToldData]]:
    """When data came, how long they took, and what was told."""
    found: list[tuple[float, float, ToldData]] = []
    newest = ArborReceiver._newest

    def note(
        self: ArborReceiver, packet: ToldData, size: int, marked: bool, at: float, now: float, effects: list[Effect]
    ) -> None:
        found.append((at, at - packet.send_time_us * 1e-6, packet))
        newest(self, packet, size, marked, at, now, effects)

    monkeypatch.setattr(ArborReceiver, "_newest", note)
    return found


def test_waits_are_what_the_way_took_beyond_its_links(
    tmp_path: Path, heard: list[tuple[float, float, ToldData]]
) -> None:
    simulate(tmp_path, scenario())
    full = [(transit, told) for _, transit, told in heard if len(told.payload) == 1400]
    assert max(told.waited_us for _, told in full) > 20_000
    offset = min(transit - told.waited_us * 1e-6 for transit, told in full) - EMPTY_S  # the two clocks'
    for transit, told in full:
        assert told.hops == 2
        assert told.waited_us * 1e-6 == pytest.approx(transit - EMPTY_S - offset, abs=20e-6)
    rates = [told.gap_bytes * 8 / told.gap_us for _, told in full if told.gap_us and told.longest_us > 2000]
    assert len(rates) > 1000
    assert all(rate == pytest.approx(5, rel=0.01) for rate in rates)


def test_a_switch_that_restarts_goes_on(tmp_path: Path, heard: list[tuple[float, float, ToldData]]) -> None:
    simulate(tmp_path, scenario(("{kind: switch-restart, at: 2 s, switch: s1, outage: 500 ms}",)))
    first, last = heard[0][0], heard[-1][0]
    assert last - first > 5
    assert all(told.hops == 2 for at, _, told in heard if at > first + 4)
