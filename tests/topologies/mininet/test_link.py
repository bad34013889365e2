"""What a CanopyLink is told, in TCLink's names and units."""

from typing import Any

import pytest
from mininet.link import Link

from topologies.mininet import CanopyLink
from topologies.scenario.network import Codel, DropTail


@pytest.fixture(autouse=True)
def _no_interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "__init__", lambda self, *nodes, **params: setattr(self, "params", params))


def test_tclinks_units() -> None:
    link = CanopyLink("h1", "s1", bw=10, delay="5ms", loss=1, max_queue_size=20, use_htb=True, port2=3)
    one = link.direction("s1", "h1")
    assert (one.source, one.destination, one.rate_bps, one.delay_s, one.loss) == ("s1", "h1", 1e7, 0.005, 0.01)
    assert one.queue == DropTail(packets=20)
    assert link.params == {"port2": 3}


def test_a_plain_link_has_a_queue_and_no_limit() -> None:
    one = CanopyLink("h1", "s1").direction("h1", "s1")
    assert (one.rate_bps, one.delay_s, one.loss, one.queue) == (None, 0.0, 0.0, DropTail(packets=64))


def test_a_scenarios_queues() -> None:
    assert isinstance(CanopyLink("h1", "s1", queue={"kind": "codel", "target": "2 ms"}).queue, Codel)


@pytest.mark.parametrize(
    "params",
    [
        {"jitter": "1ms"},
        {"bw": 0},
        {"loss": 101},
        {"delay": "5"},
        {"delay": 5},
        {"queue": {"kind": "best"}},
        {"queue": {"kind": "codel"}, "max_queue_size": 3},
        {"max_queue_size": 0},
    ],
)
def test_what_cannot_be_emulated_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        CanopyLink("h1", "s1", **params)
