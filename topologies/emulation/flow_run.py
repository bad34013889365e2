"""One flow of cross traffic of a run: its source and its sink as processes, and what it got."""

from pathlib import Path

from topologies.emulation import programs
from topologies.emulation.child import Child, stop_all
from topologies.emulation.network import EmulatedNetwork
from topologies.plan.plan import derive_seed
from topologies.results.results import FlowResult, counter_rate
from topologies.results.run_folder import RunFolder, read_series
from topologies.scenario.activity import Flow
from topologies.scenario.scenario import Scenario

FIRST_PORT = 6001
"""Port of the first flow's sink; each flow has its own."""


class FlowRun:
    """Starts and stops a flow's two programs."""

    def __init__(
        self, scenario: Scenario, number: int, flow: Flow, network: EmulatedNetwork, folder: RunFolder, epoch: float
    ) -> None:
        self.flow = flow
        self.children: list[Child] = []
        self._scenario = scenario
        self._number = number
        self._network = network
        self._folder = folder
        self._epoch = epoch

    def start(self) -> None:
        """Start the sink, then the source, which waits for it. ChildError when that cannot be."""
        address = f"{self._network.plan.hosts[self.flow.destination].address}:{FIRST_PORT + self._number}"
        sink = self._folder.series / f"flow-{self._number}-sink.jsonl"
        seed = derive_seed(self._scenario.seed, f"flow {self._number}")
        self._start("sink", self.flow.destination, programs.flow_sink_command(self.flow, address, sink, self._epoch))
        self._start(
            "source", self.flow.source, programs.flow_source_command(self.flow, address, self._trace, self._epoch, seed)
        )

    def stop(self) -> None:
        """End both."""
        stop_all(self.children, grace_s=1.0)

    def result(self) -> FlowResult:
        """What the flow got."""
        if self.flow.kind == "tcp":
            goodput = counter_rate(read_series(self._trace), "acked_bytes")
        else:
            rows = read_series(self._folder.series / f"flow-{self._number}-sink.jsonl")
            goodput = counter_rate(rows, "received_bytes")
        return FlowResult(
            kind=self.flow.kind,
            source=self.flow.source,
            destination=self.flow.destination,
            goodput_bps=None if goodput is None else round(goodput),
        )

    @property
    def _trace(self) -> Path:
        return self._folder.series / f"flow-{self._number}.jsonl"

    def _start(self, end: str, host: str, command: list[str]) -> None:
        name = f"flow-{self._number}-{end}"
        log = self._folder.logs / f"{name}.log"
        self.children.append(Child(name, command, log, namespace_pid=self._network.pid(host)))
