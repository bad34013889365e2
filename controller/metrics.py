"""What the controller shows Prometheus: whether its switches are ready, groups, members, links. Read when asked for.

What the switches themselves count, they show themselves (`canopy switch --metrics`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from controller.core import Core
from controller.switch_app import SwitchApp

READY: Final = "ready"


class ControllerCollector(Collector):
    """Reads a controller from another thread: numbers only, and copies of what may grow meanwhile."""

    def __init__(self, core: Core, apps: Mapping[str, SwitchApp]) -> None:
        self._core = core
        self._apps = apps

    def collect(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily("canopy_switch_ready", "1: the switch has what it should have", labels=["switch"])
        connections = CounterMetricFamily("canopy_switch_connections", "Connections to it so far", labels=["switch"])
        writes = CounterMetricFamily("canopy_switch_writes", "Updates written to it", labels=["switch"])
        lost = CounterMetricFamily(
            "canopy_switch_packet_outs_lost", "Packet-outs that found it away", labels=["switch"]
        )
        for name, app in self._apps.items():
            ready.add_metric([name], app.status == READY)
            connections.add_metric([name], app.connections)
            writes.add_metric([name], app.writes)
            lost.add_metric([name], app.packets_lost)
        yield from (ready, connections, writes, lost)
        core = self._core
        yield GaugeMetricFamily("canopy_groups", "Groups that have a slot", value=len(core.slots))
        yield GaugeMetricFamily("canopy_members", "Members of all groups at all ports", value=len(core.members))
        yield GaugeMetricFamily("canopy_links_down", "Links that are down", value=len(core.trees.down))


def serve_metrics(core: Core, apps: Mapping[str, SwitchApp], host: str, port: int) -> int:
    """Serve `http://host:port/metrics` until the program ends; the port that it is. Raises ValueError: it cannot."""
    registry = CollectorRegistry()
    registry.register(ControllerCollector(core, apps))
    ProcessCollector(registry=registry)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise ValueError(f"--metrics {host}:{port}: {error.strerror or error}") from None
    return int(server.server_port)
