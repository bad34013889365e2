"""What a running switch counts, for Prometheus: ports, queues, drops by reason, replication, tables, P4Runtime.

Everything is read when it is asked for; nothing here costs the data path more than a look at its counters now and then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from canopy_engine import EngineError
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from engine.switch.p4runtime.measure import CallMetrics

if TYPE_CHECKING:
    from threading import Thread
    from wsgiref.simple_server import WSGIServer

    from canopy_engine import Switch

# A program's counter with more cells than this is not shown: each cell that has counted is a time series.
MAX_CELLS = 1024

# What `Switch.stats` counts, by the metric and the label that it goes into. All else there is a drop by its own name.
_PASSES = ("resubmitted", "recirculated")
_COPIES = ("replicas", "ingress_clones", "egress_clones")
_ERRORS = ("parser_errors", "checksum_errors", "extern_out_of_range")
_PACKETS = {"packets_in": "in", "packets_out": "out"}
_EVENTS = ("digests", "digests_limited", "digests_repeated", "idle_timeouts", "packet_ins")
_LOST_EVENTS = {"events_lost": "digest_or_idle_timeout", "packet_ins_dropped": "packet_in", "log_lost": "log"}


class Observed(Protocol):
    """A data path as far as it is measured."""

    @property
    def switch(self) -> Switch | None: ...
    def interface(self, port: int) -> str: ...
    def port_stats(self) -> dict[int, dict[str, int]]: ...
    def capture_stats(self) -> dict[str, int]: ...


class SwitchCollector(Collector):
    """Reads a data path and the program on it."""

    def __init__(self, path: Observed) -> None:
        self._path = path

    def collect(self) -> Iterator[Metric]:
        try:
            yield from self._ports()
            switch = self._path.switch
            if switch is not None:
                yield from _program(switch.stats())
                yield from _tables(switch)
                yield from _replication(switch)
                yield _counters(switch)
        except EngineError:
            # The program was replaced in between; the next scrape sees the new one.
            return

    def _ports(self) -> Iterator[Metric]:
        labels = ["port", "interface"]
        up = GaugeMetricFamily("canopy_port_up", "1: the port's interface and link are up", labels=labels)
        packets = CounterMetricFamily("canopy_port_packets", "Frames by direction", labels=[*labels, "direction"])
        octets = CounterMetricFamily("canopy_port_bytes", "Bytes by direction", labels=[*labels, "direction"])
        drops = CounterMetricFamily("canopy_port_drops", "Frames dropped", labels=[*labels, "direction", "reason"])
        queue = GaugeMetricFamily("canopy_port_queue_packets", "Packets queued", labels=[*labels, "direction"])
        queue_bytes = GaugeMetricFamily("canopy_port_queue_bytes", "Bytes queued to leave", labels=labels)
        deepest = GaugeMetricFamily("canopy_port_queue_packets_max", "The longest queue so far", labels=labels)
        limited = CounterMetricFamily(
            "canopy_port_packet_ins_limited", "Packet-ins beyond the port's rate", labels=labels
        )
        flying = GaugeMetricFamily("canopy_port_in_flight_packets", "Packets on the emulated link", labels=labels)
        for port, stats in sorted(self._path.port_stats().items()):
            at = [str(port), self._path.interface(port)]
            up.add_metric(at, stats["up"] * stats["device_up"])
            queue.add_metric([*at, "tx"], stats["queue_packets"])
            queue.add_metric([*at, "rx"], stats["rx_queue_packets"])
            queue_bytes.add_metric(at, stats["queue_bytes"])
            deepest.add_metric(at, stats["queue_packets_max"])
            flying.add_metric(at, stats["in_flight_packets"])
            limited.add_metric(at, stats["packet_ins_limited"])
            for direction in ("rx", "tx"):
                packets.add_metric([*at, direction], stats[f"{direction}_packets"])
                octets.add_metric([*at, direction], stats[f"{direction}_bytes"])
            for name, value in stats.items():
                if name.startswith("drop_"):
                    drops.add_metric([*at, "tx", name.removeprefix("drop_")], value)
                elif name.startswith("rx_drop_"):
                    drops.add_metric([*at, "rx", name.removeprefix("rx_drop_")], value)
        yield from (up, packets, octets, drops, queue, queue_bytes, deepest, flying, limited)
        if capture := self._path.capture_stats():
            yield _labelled("canopy_capture_packets", "Frames for the captures", "result", capture)


def _labelled(name: str, text: str, label: str, values: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(name, text, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family


def _program(stats: dict[str, int]) -> Iterator[Metric]:
    def some(names: Iterable[str]) -> dict[str, int]:
        return {name: stats[name] for name in names if name in stats}

    drops = {name.removeprefix("drop_"): count for name, count in stats.items() if name.startswith("drop_")}
    yield _labelled(
        "canopy_packets", "Packets by direction", "direction", {to: stats[name] for name, to in _PACKETS.items()}
    )
    yield _labelled("canopy_drops", "Packets dropped by the pipeline", "reason", drops)
    yield _labelled("canopy_copies", "Copies made by the replication engine", "kind", some(_COPIES))
    yield _labelled("canopy_passes", "Further passes of packets through ingress", "kind", some(_PASSES))
    yield _labelled("canopy_errors", "Errors of packets and of the program", "kind", some(_ERRORS))
    yield _labelled("canopy_events", "What the data plane has told", "kind", some(_EVENTS))
    lost = {kind: stats[name] for name, kind in _LOST_EVENTS.items()}
    yield _labelled("canopy_events_lost", "What it had no room to tell", "kind", lost)


def _tables(switch: Switch) -> Iterator[Metric]:
    entries = GaugeMetricFamily("canopy_table_entries", "Entries of a table", labels=["table"])
    sizes = GaugeMetricFamily("canopy_table_capacity", "Entries that a table has room for", labels=["table"])
    for table, used, size in switch.table_sizes():
        entries.add_metric([table], used)
        sizes.add_metric([table], size)
    yield from (entries, sizes)


def _replication(switch: Switch) -> Iterator[Metric]:
    yield GaugeMetricFamily("canopy_multicast_groups", "Multicast groups", value=len(switch.mcast_groups()))
    yield GaugeMetricFamily("canopy_clone_sessions", "Clone sessions", value=len(switch.clone_sessions()))


def _counters(switch: Switch) -> Metric:
    """The program's own counters, as far as they are small; of our program that is, among others, drops by reason."""
    family = CounterMetricFamily(
        "canopy_program_counter_packets", "Cells of the program's counters", labels=["counter", "index"]
    )
    for name in switch.counters():
        cells = switch.counter_read_all(name)
        for index, (packets, _) in enumerate(cells if len(cells) <= MAX_CELLS else ()):
            if packets:
                family.add_metric([name, str(index)], packets)
    return family


class MetricsServer:
    """Answers Prometheus on an address and from threads of its own. `calls` is to be told of P4Runtime's calls."""

    def __init__(self, path: Observed) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(SwitchCollector(path))
        ProcessCollector(registry=self._registry)
        self.calls = CallMetrics(self._registry)
        self._server: WSGIServer | None = None
        self._thread: Thread | None = None

    def start(self, host: str, port: int) -> int:
        """Serve `http://host:port/metrics`; port 0 is any free one, which is returned. Raises OSError."""
        self._server, self._thread = start_http_server(port, host, self._registry)
        return self._server.server_port

    def stop(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
