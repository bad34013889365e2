"""One flow of cross traffic of a run: its source and its sink as processes, and what it got."""

from pathlib import Path

from engine.command.programs import module_command
from topologies.emulation.child import Child, stop_all
from topologies.emulation.network import EmulatedNetwork
from topologies.plan import FIRST_FLOW_PORT, derive_seed
from topologies.results.run_folder import RunFolder
from topologies.results.summary import FlowResult, flow_result
from topologies.scenario.activity import Flow, OnOffFlow, TcpFlow, UdpFlow
from topologies.scenario.scenario import Scenario


class FlowRun:
    """Starts and stops a flow's two programs."""

    def __init__(
        self, scenario: Scenario, number: int, network: EmulatedNetwork, folder: RunFolder, epoch: float
    ) -> None:
        """`number` is the flow's place in the scenario, `epoch` the wall-clock time at which the run's times start."""
        self.children: list[Child] = []
        self._flow = scenario.traffic[number]
        self._number = number
        self._seed = derive_seed(scenario.seed, f"flow {number}")
        self._network = network
        self._folder = folder
        self._epoch = epoch

    def start(self) -> None:
        """Start the sink, then the source, which waits for it. ChildError when that cannot be."""
        flow, epoch = self._flow, self._epoch
        address = f"{self._network.plan.hosts[flow.destination].address}:{FIRST_FLOW_PORT + self._number}"
        trace, sink = (self._folder.flow_trace(self._number, sink=sink) for sink in (False, True))
        self._start("sink", flow.destination, sink_command(flow, address, sink, epoch))
        self._start("source", flow.source, source_command(flow, address, trace, epoch, self._seed))

    def stop(self) -> None:
        """End both."""
        stop_all(self.children, grace_s=1.0)

    def result(self) -> FlowResult:
        """What the flow got."""
        return flow_result(self._flow, self._number, self._folder)

    def _start(self, end: str, host: str, command: list[str]) -> None:
        name = f"flow-{self._number}-{end}"
        log = self._folder.logs / f"{name}.log"
        self.children.append(Child(name, command, log, namespace_pid=self._network.pid(host)))


def source_command(flow: Flow, address: str, trace: Path, epoch: float, seed: int) -> list[str]:
    """The sending end of cross traffic."""
    command = _program("tcp-source" if flow.kind == "tcp" else "udp-source", address, trace, epoch)
    match flow:
        case TcpFlow():
            command += ["--congestion-control", flow.congestion_control, *(["--pacing"] if flow.pacing else [])]
        case UdpFlow():
            command += ["--rate", repr(flow.rate), "--packet", str(flow.packet)]
        case OnOffFlow():
            command += ["--rate", repr(flow.rate), "--packet", str(flow.packet)]
            command += ["--on", repr(flow.on), "--off", repr(flow.off), "--seed", str(seed)]
            command += ["--distribution", flow.distribution, "--shape", repr(flow.shape)]
    return command


def sink_command(flow: Flow, address: str, trace: Path, epoch: float) -> list[str]:
    """The receiving end of cross traffic."""
    return _program("tcp-sink" if flow.kind == "tcp" else "udp-sink", address, trace, epoch)


def _program(role: str, address: str, trace: Path, epoch: float) -> list[str]:
    module = "topologies.emulation.flow"
    return module_command(module, role, address, "--trace", str(trace), "--epoch", repr(epoch))
