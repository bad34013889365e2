"""The simulated network from Python: transfers, cross traffic, changes, and what is refused."""

import itertools
import json
import math
from typing import TYPE_CHECKING

import pytest
from canopy_engine import Sim, SimError

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

BOTTLENECK: "LinkSpec" = {"rate_bps": 10e6, "delay_us": 20_000.0, "limit_packets": 50}
BACK: "LinkSpec" = {"rate_bps": 1e9, "delay_us": 20_000.0}
EDGE: "LinkSpec" = {"rate_bps": 1e9, "limit_packets": 10_000}
PAYLOAD_SHARE = 946 / 1000
"""Octets of payload in a full packet of 1,000 on the link."""


def dumbbell(flows: int, *, bottleneck: "LinkSpec" = BOTTLENECK, seed: int = 1) -> tuple[Sim, int]:
    """Hosts a0.. and b0.. on both sides of one link, and that link."""
    sim = Sim(seed)
    sim.add_router("left")
    sim.add_router("right")
    link = sim.connect("left", "right", bottleneck, BACK)
    for flow in range(flows):
        sim.add_host(f"a{flow}", f"10.0.1.{flow + 1}")
        sim.add_host(f"b{flow}", f"10.0.2.{flow + 1}")
        sim.connect(f"a{flow}", "left", EDGE, EDGE)
        sim.connect("right", f"b{flow}", EDGE, EDGE)
    return sim, link


@pytest.mark.parametrize("congestion_control", ["reno-1990", "newreno", "sack", "vegas"])
def test_a_transfer_fills_the_link(congestion_control: str) -> None:
    sim, _ = dumbbell(1)
    source, sink = sim.add_tcp("a0", "b0", congestion_control=congestion_control)  # type: ignore[arg-type]
    sim.run(5.0)
    before = sim.program_stats(sink)["received_bytes"]
    sim.run(25.0)
    rate = (sim.program_stats(sink)["received_bytes"] - before) * 8 / 20
    assert rate == pytest.approx(10e6 * PAYLOAD_SHARE, rel=0.01)
    assert sim.now == 25.0
    assert math.isnan(sim.program_stats(source)["finished_at_s"])


@pytest.mark.parametrize("congestion_control", ["cubic", "reno", "bbr", "bbr3", "dctcp", "prague"])
def test_a_modern_transfer_fills_the_link(congestion_control: str) -> None:
    sim, _ = dumbbell(1)
    source, sink = sim.add_tcp("a0", "b0", congestion_control=congestion_control)  # type: ignore[arg-type]
    sim.run(10.0)
    before = sim.program_stats(sink)["received_bytes"]
    sim.run(30.0)
    rate = (sim.program_stats(sink)["received_bytes"] - before) * 8 / 20
    assert rate == pytest.approx(10e6 * 1448 / 1514, rel=0.05)
    assert sim.program_stats(source)["pacing_packets_per_s"] < 10_000


def test_a_transfer_ends() -> None:
    sim, _ = dumbbell(1)
    source, sink = sim.add_tcp("a0", "b0", transfer_bytes=1_000_000, delayed_ack=0.1, start_at=1.0)
    sim.run(10.0)
    assert sim.program_stats(sink)["received_bytes"] == 1_000_000
    assert 1.8 < sim.program_stats(source)["finished_at_s"] < 3.0


def test_streams_and_their_sinks() -> None:
    sim, link = dumbbell(2, bottleneck={"rate_bps": 100e6})
    sinks = [sim.add_udp_sink("b0", port) for port in (1, 2, 3)]
    gaps = ({"gaps": "constant"}, {"gaps": "poisson"}, {"gaps": "onoff", "mean_on": 0.1, "mean_off": 0.1, "shape": 1.9})
    for port, options in zip((1, 2, 3), gaps, strict=True):
        sim.add_udp("a0", "10.0.2.1", port=port, rate_bps=2e6, stop_at=100.0, **options)  # type: ignore[arg-type]
    sim.run(101.0)
    packets = [sim.program_stats(sink)["received_packets"] for sink in sinks]
    assert packets[0] == 25_000
    assert packets[1] == pytest.approx(25_000, rel=0.03)
    assert packets[2] == pytest.approx(12_500, rel=0.15)
    assert sim.link_stats(link)[0]["sent_packets"] == sum(packets)
    assert sim.node_stats("b0")["drop_no_program"] == 0


def test_a_group_reaches_its_members_only() -> None:
    sim, _ = dumbbell(3)
    members = [sim.add_udp_sink(host, 9, join=("232.0.0.1", "10.0.1.1"), start_at=0.5) for host in ("b0", "b1")]
    other = sim.add_udp_sink("b2", 9, join=("232.0.0.2", None))
    sim.add_udp("a0", "232.0.0.1", port=9, rate_bps=800e3, start_at=1.0, stop_at=2.0)
    sim.run(3.0)
    assert [sim.program_stats(sink)["received_packets"] for sink in (*members, other)] == [100, 100, 0]
    assert sim.node_stats("b2")["received_packets"] == 0


def test_short_transfers() -> None:
    sim, _ = dumbbell(1)
    source, sink = sim.add_web("a0", "b0", mean_gap=0.1, mean_bytes=12_000, stop_at=50.0)
    sim.run(200.0)
    stats = sim.program_stats(source)
    assert stats["transfers_begun"] == pytest.approx(500, rel=0.15)
    assert stats["transfers_finished"] == stats["transfers_begun"]
    assert stats["finished_bytes"] == sim.program_stats(sink)["received_bytes"]


def series(seed: int) -> bytes:
    sim, _ = dumbbell(4, bottleneck={**BOTTLENECK, "queue": "red", "loss": 0.001}, seed=seed)
    for host in ("a0", "a1"):
        sim.set_processing(host, outgoing=(0.0, 0.0008))
    sim.add_tcp("a0", "b0", congestion_control="reno-1990", traced=True)
    sim.add_tcp("a1", "b1", congestion_control="sack", delayed_ack=0.1)
    sim.add_udp("a2", "10.0.2.3", rate_bps=1e6, gaps="onoff")
    sim.add_web("a3", "b3", mean_gap=0.2, mean_bytes=10_000, congestion_control="cubic")
    sim.sample_every(0.1)
    sim.run(10.0)
    return sim.take_series()


def test_the_seed_settles_everything() -> None:
    first, again, other = series(1), series(1), series(2)
    assert first == again
    assert first != other
    rows = [json.loads(line) for line in first.splitlines()]
    assert {row["kind"] for row in rows} == {"link", "program"}
    assert all(one["time_s"] <= next["time_s"] for one, next in itertools.pairwise(rows))
    windows = [row for row in rows if row.get("program", "").startswith("tcp-source") and row["host"] == "a0"]
    assert len(windows) > 1000
    assert {"cwnd_packets", "ssthresh_packets", "srtt_ms", "retransmissions"} <= windows[-1].keys()


def test_a_run_in_steps_is_the_same_run() -> None:
    def received(steps: int) -> float:
        sim, _ = dumbbell(2, bottleneck={**BOTTLENECK, "loss": 0.01})
        sinks = [sim.add_tcp(f"a{flow}", f"b{flow}")[1] for flow in (0, 1)]
        for step in range(1, steps + 1):
            sim.run(10.0 * step / steps)
        return sum(sim.program_stats(sink)["received_bytes"] for sink in sinks)

    assert received(1) == received(7)


def test_a_link_that_is_down_loses_all_and_comes_back() -> None:
    sim, link = dumbbell(1)
    sink = sim.add_udp_sink("b0", 9)
    sim.add_udp("a0", "10.0.2.1", port=9, rate_bps=800e3, stop_at=4.0)
    sim.link_down_at(1.0, link)
    sim.link_up_at(2.0, link)
    sim.configure_link_at(3.0, link, forth={**BOTTLENECK, "loss": 1.0})
    sim.run(5.0)
    stats = sim.link_stats(link)[0]
    assert stats["drop_down"] == pytest.approx(102, abs=1)  # a second's, and those under way
    assert stats["drop_loss"] == pytest.approx(100, abs=1)
    assert sim.program_stats(sink)["received_packets"] + 102 + 100 == pytest.approx(400, abs=2)


def test_a_killed_program_says_nothing_any_more() -> None:
    sim, _ = dumbbell(1)
    source, sink = sim.add_tcp("a0", "b0")
    sim.kill_at(2.0, sink)
    sim.run(30.0)
    assert sim.program_stats(source)["timeouts"] >= 5
    assert sim.program_stats(sink)["received_bytes"] < 10e6 / 8 * 2
    assert sim.node_stats("b0")["drop_no_program"] > 0


@pytest.mark.parametrize("loss", [(0.01, 0.25, 0.0, 1.0), (0.0, 1.0, 0.05, 0.0)])
def test_gilbert_elliott_loss(loss: tuple[float, float, float, float]) -> None:
    sim, link = dumbbell(1, bottleneck={"rate_bps": 10e6, "gilbert_elliott": loss})
    sim.add_udp("a0", "10.0.2.1", rate_bps=8e6)
    sim.run(60.0)
    to_bad, to_good, good, bad = loss
    expected = (to_good * good + to_bad * bad) / (to_bad + to_good)
    stats = sim.link_stats(link)[0]
    assert float(stats["drop_loss"]) / float(stats["sent_packets"]) == pytest.approx(expected, rel=0.1)


def test_the_network_is_checked() -> None:
    sim = Sim()
    sim.add_host("a", "10.0.0.1")
    sim.add_router("r")
    with pytest.raises(SimError, match="two nodes called a"):
        sim.add_host("a", "10.0.0.2")
    with pytest.raises(SimError, match=r"another host has the address 10\.0\.0\.1"):
        sim.add_host("b", "10.0.0.1")
    with pytest.raises(SimError, match="no node called x"):
        sim.connect("a", "x")
    with pytest.raises(ValueError, match="rate_bps: must be positive"):
        sim.connect("a", "r", {"rate_bps": 0.0})
    sim.connect("a", "r")
    with pytest.raises(SimError, match="a host has one link"):
        sim.connect("a", "r")
    sim.add_host("alone", "10.0.0.9")
    with pytest.raises(SimError, match="alone is not connected"):
        sim.run(1.0)
    sim.connect("alone", "r")
    sim.run(1.0)
    with pytest.raises(SimError, match="cannot be added to a network that runs"):
        sim.add_router("late")
    with pytest.raises(SimError, match="r is not a host"):
        sim.add_tcp("a", "r")
    with pytest.raises(SimError, match="no link 7"):
        sim.link_stats(7)
    with pytest.raises(SimError, match="no program 0"):
        sim.program_stats(0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"congestion_control": "cubik"},
            ValueError,
            '"cubik" is none of cubic, reno, bbr, bbr3, dctcp, prague, reno-1990',
        ),
        ({"congestion_control": "cubic", "ecn": "maybe"}, ValueError, 'ecn: "maybe" is none of off, classic'),
        (
            {"congestion_control": "cubic", "limited_transmit": True},
            TypeError,
            "limited_transmit is no option of a modern",
        ),
        ({"congestion_control": "sack", "pacing": True}, TypeError, "pacing is no option of a classic"),
        ({"congestion_control": "cubic", "packet_bytes": 66}, ValueError, "packet_bytes"),
        ({"packet_bytes": 54}, ValueError, "packet_bytes"),
        ({"packet_bytes": 70_000}, ValueError, "packet_bytes"),
        ({"min_rto": -1.0}, ValueError, "min_rto"),
        ({"min_rto": math.nan}, ValueError, "min_rto"),
        ({"initial_window": 0.0}, ValueError, "initial_window"),
        ({"windows": 7}, TypeError, "windows"),
    ],
)
def test_options_are_checked(options: dict[str, object], error: type[Exception], message: str) -> None:
    sim, _ = dumbbell(1)
    with pytest.raises(error, match=message):
        sim.add_tcp("a0", "b0", **options)  # type: ignore[arg-type]


def test_streams_are_checked() -> None:
    sim, _ = dumbbell(1)
    with pytest.raises(TypeError, match="rate_bps"):
        sim.add_udp("a0", "10.0.2.1")
    with pytest.raises(ValueError, match="shape"):
        sim.add_udp("a0", "10.0.2.1", rate_bps=1e6, gaps="onoff", shape=1.0)
    with pytest.raises(ValueError, match="rate_bps"):
        sim.add_udp("a0", "10.0.2.1", rate_bps=0.0)
    with pytest.raises(ValueError, match="not an IPv4 address"):
        sim.add_udp("a0", "b0", rate_bps=1e6)


def test_packets_to_nobody_are_counted() -> None:
    sim, _ = dumbbell(1)
    sim.add_udp("a0", "10.9.9.9", rate_bps=8e3, stop_at=10.0)
    sim.add_udp("a0", "10.0.2.1", rate_bps=8e3, stop_at=10.0)
    sim.run(11.0)
    assert sim.node_stats("a0")["drop_no_such_host"] == 10
    assert sim.node_stats("b0")["drop_no_program"] == 10
