"""What a receiving daemon shows Prometheus. Read when it is asked for, in a thread of prometheus-client's own."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from hosts.programs.daemon import RESULTS, Daemon


class DaemonCollector(Collector):
    """Reads a daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def collect(self) -> Iterator[Metric]:
        tally = self._daemon.tally
        files = CounterMetricFamily("canopy_receiver_files", "Sessions that are over", labels=["result"])
        for result in RESULTS:
            files.add_metric([result], tally.results[result])
        yield files
        yield CounterMetricFamily(
            "canopy_receiver_bytes", "Bytes of files that were written", value=self._daemon.received_bytes
        )
        yield GaugeMetricFamily("canopy_receiver_sessions", "Sessions at present", value=len(self._daemon.sessions))
        if tally.last_file_at is not None:
            yield GaugeMetricFamily(
                "canopy_receiver_last_file_timestamp_seconds", "When the last file was whole", value=tally.last_file_at
            )


def serve_metrics(daemon: Daemon, host: str, port: int) -> int:
    """Serve `http://host:port/metrics` until the program ends; the port that it is. Raises OSError."""
    registry = CollectorRegistry()
    registry.register(DaemonCollector(daemon))
    ProcessCollector(registry=registry)
    server, _ = start_http_server(port, host, registry)
    return int(server.server_port)
