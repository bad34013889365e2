"""A port's emulated link: what LinkSpec says, and that real frames are treated so. The link's own arithmetic is tested
in engine/crates/link."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import canopy_engine
import pytest

from tests.engine.crossbar import ETHERTYPE_REPORT, frame, new_switch, raw_socket, report_of, rule, tag_of, wait_for
from tests.engine.namespaces import add_veth, namespaces

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

MEGABIT = 1e6  # bit/s; rates are so low that a sender who is held up for some ms still fills the queue


@contextmanager
def running(
    tx: LinkSpec | None = None, rx: LinkSpec | None = None, seed: int = 1
) -> Iterator[canopy_engine.LiveSwitch]:
    """A switch that forwards from port 1, whose host sends over `rx`, to port 2, whose link to its host is `tx`."""
    with namespaces(1) as (space,), space.entered():
        switch = new_switch()
        live = canopy_engine.LiveSwitch(switch, seed=seed)
        for port in (1, 2):
            add_veth(f"s{port}", f"h{port}")
        rule(switch, 1, "forward", 2)
        live.add_port(1, "s1", rx=rx)
        live.add_port(2, "s2", tx=tx)
        live.start()
        try:
            yield live
        finally:
            live.stop()


def send_through(live: canopy_engine.LiveSwitch, count: int, length: int = 1000) -> list[bytes]:
    """Sends frames in one go and returns those that come out, once each one was delivered or counted as dropped."""
    got = []
    with raw_socket("h1") as one, raw_socket("h2") as two:
        for tag in range(count):
            one.send(frame(tag, length=length, ethertype=ETHERTYPE_REPORT))

        def done() -> bool:
            stats = live.port_stats()
            dropped = sum(stats[2][name] for name in ("drop_queue", "drop_red", "drop_aqm", "drop_loss"))
            dropped += sum(stats[1][name] for name in ("rx_drop_queue", "rx_drop_red", "rx_drop_loss"))
            return stats[2]["tx_packets"] + dropped == count

        wait_for(done)
        two.settimeout(0.2)
        for _ in range(live.port_stats()[2]["tx_packets"]):
            got.append(two.recv(65_536))
    return got


@pytest.mark.root
def test_the_rate_is_exact_from_the_first_frame_to_the_last() -> None:
    with running({"rate_bps": 1.6 * MEGABIT, "limit_packets": 100}) as live:
        reports = [report_of(data) for data in send_through(live, 60)]
    departures = [report.departure for report in reports]
    # 1,000 bytes take 5 ms. Both summands were rounded down to microseconds.
    assert all(4999 <= later - earlier <= 5001 for earlier, later in pairwise(departures))
    assert abs(departures[-1] - departures[0] - 59 * 5000) <= 1


@pytest.mark.root
def test_overhead_takes_time_on_the_wire() -> None:
    with running({"rate_bps": 0.8 * MEGABIT, "overhead_bytes": 1000}) as live:
        departures = [report_of(data).departure for data in send_through(live, 5)]
    assert abs(departures[-1] - departures[0] - 4 * 20_000) <= 1


@pytest.mark.root
def test_the_queue_holds_its_limit_and_egress_sees_its_depth() -> None:
    with running({"rate_bps": 0.25 * MEGABIT, "limit_packets": 10}) as live:
        reports = [report_of(data) for data in send_through(live, 30)]
        stats = live.port_stats()[2]
    assert stats["drop_queue"] == 30 - len(reports) > 0
    assert stats["queue_packets_max"] == 10
    assert [report.enq_qdepth for report in reports[:4]] == [0, 0, 1, 2]
    assert max(report.enq_qdepth for report in reports) == 9
    assert reports[-1].deq_qdepth == 0


@pytest.mark.root
def test_a_queue_in_bytes_counts_bytes() -> None:
    with running({"rate_bps": 0.1 * MEGABIT, "limit_bytes": 3000}) as live:
        got = send_through(live, 10, length=500)
        stats = live.port_stats()[2]
    assert stats["queue_bytes_max"] == 3000
    assert len(got) == 7  # one on the wire and six that wait


@pytest.mark.root
def test_delay_is_added_and_nothing_else() -> None:
    with running({"delay_us": 20_000}) as live, raw_socket("h1") as one, raw_socket("h2") as two:
        times = []
        for tag in range(10):
            start = time.perf_counter()
            one.send(frame(tag))
            two.recv(65_536)
            times.append(time.perf_counter() - start)
        assert live.port_stats()[2]["tx_packets"] == 10
    assert min(times) >= 0.020
    assert sorted(times)[5] < 0.025


@pytest.mark.root
def test_many_frames_are_under_way_at_once() -> None:
    with running({"delay_us": 50_000, "rate_bps": 100 * MEGABIT, "limit_packets": 200}) as live:
        start = time.perf_counter()
        assert [tag_of(data) for data in send_through(live, 100)] == list(range(100))
        assert time.perf_counter() - start < 1.0  # one after another they would take 5 s


@pytest.mark.root
def test_loss_is_random_and_seeded() -> None:
    def survivors(spec: LinkSpec, seed: int) -> list[int]:
        with running(spec, seed=seed) as live:
            return [tag_of(data) for data in send_through(live, 200)]

    first = survivors({"loss": 0.2}, 1)
    assert 130 <= len(first) <= 185
    assert survivors({"loss": 0.2}, 1) == first
    assert survivors({"loss": 0.2}, 2) != first
    # A link's own seed goes before the switch's.
    assert survivors({"loss": 0.2, "seed": 9}, 1) == survivors({"loss": 0.2, "seed": 9}, 2)


@pytest.mark.root
def test_red_drops_before_the_queue_is_full() -> None:
    spec: LinkSpec = {
        "rate_bps": 1 * MEGABIT,
        "queue": "red",
        "limit_packets": 100,
        "red_min": 5.0,
        "red_max": 15.0,
        "red_weight": 0.2,
    }
    with running(spec) as live:
        send_through(live, 200)
        stats = live.port_stats()[2]
    assert stats["drop_red"] > 50
    assert stats["drop_queue"] == 0
    assert stats["queue_packets_max"] < 60


@pytest.mark.root
@pytest.mark.parametrize("kind", ["codel", "fq_codel", "pie", "dualpi2"])
def test_every_kind_of_queue_tells_egress_how_long_a_frame_waited(kind: str) -> None:
    """5 ms a frame: each waits for those before it, whoever would choose the order."""
    with running({"rate_bps": 1.6 * MEGABIT, "queue": kind, "limit_packets": 100}) as live:
        reports = [report_of(data) for data in send_through(live, 20)]
    assert len(reports) == 20  # 100 ms of delay are no standing queue yet
    departures = [report.departure for report in reports]  # when it was enqueued, and for how long
    assert all(4999 <= later - earlier <= 5001 for earlier, later in pairwise(departures))
    assert [report.deq_timedelta for report in reports] == sorted(report.deq_timedelta for report in reports)
    assert reports[-1].deq_timedelta > 80_000
    assert max(report.enq_qdepth for report in reports) >= 15
    assert [report.deq_qdepth for report in reports][-3:] == [2, 1, 0]


@pytest.mark.root
def test_the_hosts_direction_has_a_link_of_its_own() -> None:
    with running(rx={"rate_bps": 0.8 * MEGABIT, "limit_packets": 5}) as live:
        reports = [report_of(data) for data in send_through(live, 20)]
        stats = live.port_stats()
    assert stats[1]["rx_drop_queue"] == 20 - len(reports) > 0
    gaps = [later.enq_timestamp - earlier.enq_timestamp for earlier, later in pairwise(reports)]
    assert all(9999 <= gap <= 10_001 for gap in gaps)  # ingress comes after the link


@pytest.mark.root
def test_a_link_changes_while_frames_are_on_it() -> None:
    with running({"rate_bps": 1000.0}) as live, raw_socket("h1") as one, raw_socket("h2") as two:
        one.send(frame(1))  # 0.8 s
        one.send(frame(2))
        wait_for(lambda: live.port_stats()[2]["queue_packets"] == 1)
        live.set_link(2, tx={"delay_us": 10})
        live.set_link(1, rx={"delay_us": 10})
        assert [tag_of(two.recv(65_536)) for _ in range(2)] == [1, 2]
        one.send(frame(3))
        assert tag_of(two.recv(65_536)) == 3


@pytest.mark.root
def test_being_late_costs_no_rate() -> None:
    """Thousands of departures, each a little late on a busy machine, take as long as the rate says."""
    frames, spacing_s = 3000, 200e-6
    with running({"rate_bps": 40 * MEGABIT, "limit_packets": frames}) as live, raw_socket("h1") as one:
        start = time.monotonic()
        for begin in range(0, frames, 500):
            end = begin + 500
            for tag in range(begin, end):
                one.send(frame(tag, length=1000))
            wait_for(lambda end=end: live.port_stats()[1]["rx_packets"] >= end)  # type: ignore[misc]  # a ring holds 1,024
        wait_for(lambda: live.port_stats()[2]["tx_packets"] == frames)
        elapsed = time.monotonic() - start
    assert frames * spacing_s <= elapsed < frames * spacing_s + 0.25


@pytest.mark.root
def test_a_path_reorders_duplicates_and_refuses_what_is_too_long() -> None:
    spec: LinkSpec = {"reorder": 0.1, "reorder_delay_us": 30_000.0, "duplicate": 0.1, "delay_us": 1000.0, "mtu": 986}
    with running(spec) as live, raw_socket("h1") as one, raw_socket("h2") as two:
        for tag in range(200):
            one.send(frame(tag, length=1000))
            one.send(frame(1000, length=1001))
        wait_for(lambda: live.port_stats()[1]["rx_packets"] == 400)
        wait_for(lambda: live.port_stats()[2]["in_flight_packets"] == 0)
        stats = live.port_stats()[2]
        tags = [tag_of(two.recv(65_536)) for _ in range(200 + stats["duplicated_packets"])]
    assert stats["drop_mtu"] == 200
    assert sorted(set(tags)) == list(range(200))
    assert 5 < stats["duplicated_packets"] < 45
    assert 5 < stats["reordered_packets"] < 45
    assert sum(later < earlier for earlier, later in pairwise(tags)) > 0


@pytest.mark.parametrize(
    ("spec", "error", "name"),
    [
        ({"rate_bps": 0.0}, ValueError, "rate_bps"),
        ({"rate_bps": -1.0}, ValueError, "rate_bps"),
        ({"rate_bps": float("nan")}, ValueError, "rate_bps"),
        ({"delay_us": float("inf")}, ValueError, "delay_us"),
        ({"loss": 1.5}, ValueError, "loss"),
        ({"queue": "sfq"}, ValueError, "droptail, red, codel, fq_codel, pie, dualpi2"),
        ({"queue": "codel", "target_us": 0.0}, ValueError, "target"),
        ({"queue": "codel", "update_us": 1000.0}, TypeError, "update_us"),
        ({"queue": "fq_codel", "flows": 0}, ValueError, "flows"),
        ({"queue": "pie", "update_us": 1.0}, ValueError, "update"),
        ({"queue": "dualpi2", "coupling": 0.0}, ValueError, "coupling"),
        ({"queue": "dualpi2", "ecn": True}, TypeError, "ecn"),
        ({"target_us": 5000.0}, TypeError, "droptail"),
        ({"mtu": 67}, ValueError, "mtu"),
        ({"duplicate": 1.5}, ValueError, "duplicate"),
        ({"reorder": -0.5}, ValueError, "reorder"),
        ({"limit_packets": 0}, ValueError, "limit"),
        ({"queue": "red", "red_min": 9.0, "red_max": 3.0}, ValueError, "max_threshold"),
        ({"queue": "red", "red_weight": 0.0}, ValueError, "weight"),
        ({"bandwidth": 1.0}, TypeError, "bandwidth"),
        ({"rate_bps": "fast"}, TypeError, "str"),
    ],
)
def test_a_wrong_spec_is_refused_by_name(spec: LinkSpec, error: type[Exception], name: str) -> None:
    """The spec is read before the interface is opened: no root needed."""
    live = canopy_engine.LiveSwitch(new_switch())
    with pytest.raises(error, match=name):
        live.add_port(1, "nowhere", tx=spec)
    with pytest.raises(error, match=name):
        live.add_port(1, "nowhere", rx=spec)
