"""One flow of cross traffic of a simulated run: the simulator's own TCP and UDP, and what the flow got."""

import math
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, Send
from topologies.agenda import Agenda
from topologies.on_off import on_periods
from topologies.plan import FIRST_FLOW_PORT, derive_seed
from topologies.results.run_folder import RunFolder, SeriesWriter
from topologies.results.summary import FlowResult, flow_result
from topologies.scenario.activity import OnOffFlow, TcpFlow, UdpFlow, WebFlow
from topologies.scenario.congestion import CLASSIC, tcp_headers
from topologies.scenario.scenario import Scenario
from topologies.simulation.network import SimulatedNetwork

if TYPE_CHECKING:
    from canopy_engine import TcpOptions

INTERVAL_S = 0.25
"""Between two rows of a flow's trace at least, as in an emulation."""
_UDP_HEADERS = 42
"""Bytes of Ethernet, IPv4 and UDP."""


class FlowRun:
    """Starts and stops a flow, and writes its trace: a row every `INTERVAL_S`, or as seldom as senders' traces."""

    def __init__(
        self, scenario: Scenario, number: int, network: SimulatedNetwork, agenda: Agenda, folder: RunFolder
    ) -> None:
        """`number` is the flow's place in the scenario."""
        self.flow = scenario.traffic[number]
        self._seed = derive_seed(scenario.seed, f"flow {number}")
        self._port = FIRST_FLOW_PORT + number
        self._network = network
        self._agenda = agenda
        self._number = number
        self._folder = folder
        self._writers: list[SeriesWriter] = []
        self._programs: tuple[int, int] | None = None
        self._on_off: OnOffSource | None = None
        self._is_running = False
        self._interval_s = max(INTERVAL_S, scenario.simulation.trace)

    def start(self) -> None:
        """Begin to send."""
        sim, flow = self._network.sim, self.flow
        match flow:
            case TcpFlow():
                self._programs = sim.add_tcp(flow.source, flow.destination, start_at=sim.now, **_tcp_options(flow))
            case WebFlow():
                self._programs = sim.add_web(
                    flow.source,
                    flow.destination,
                    mean_gap=flow.gap,
                    mean_bytes=flow.size,
                    shape=flow.shape,
                    start_at=sim.now,
                    **_tcp_options(flow),
                )
            case UdpFlow():
                self._programs = self._start_udp(flow), sim.add_udp_sink(flow.destination, self._port)
            case OnOffFlow():
                self._programs = self._start_on_off(flow), sim.add_udp_sink(flow.destination, self._port)
            case _:
                assert_never(flow)
        self._writers = [SeriesWriter(self._folder.flow_trace(self._number, sink=sink)) for sink in (False, True)]
        self._is_running = True
        self._agenda.every(self._interval_s, self._sample, start=self._agenda.now)

    def stop(self) -> None:
        """Send no more."""
        if self._is_running and self._programs is not None:
            self._network.sim.kill_at(self._network.sim.now, self._programs[0])
            self._finish()

    def result(self) -> FlowResult:
        """Close the traces; what the flow got."""
        if self._is_running:
            self._finish()
        return flow_result(self.flow, self._number, self._folder)

    def _finish(self) -> None:
        self._sample(self._agenda.now)
        self._close()

    def _close(self) -> None:
        self._is_running = False
        for writer in self._writers:
            writer.close()

    def _start_udp(self, flow: UdpFlow) -> int:
        frame = flow.packet + _UDP_HEADERS
        return self._network.sim.add_udp(
            flow.source,
            str(self._network.plan.hosts[flow.destination].address),
            port=self._port,
            start_at=self._network.sim.now,
            rate_bps=flow.rate * frame / flow.packet,  # the simulator counts whole frames
            packet_bytes=frame,
            gaps="poisson" if flow.gaps == "exponential" else "constant",
            sizes=flow.sizes,
        )

    def _start_on_off(self, flow: OnOffFlow) -> int:
        destination = Address(str(self._network.plan.hosts[flow.destination].address), self._port)
        self._on_off = OnOffSource(flow, destination, random.Random(self._seed))
        now = self._network.sim.now
        name = f"on-off-{self._port}"
        return self._network.sim.add_endpoint(flow.source, name, self._on_off, port=self._port, seam=seam, start_at=now)

    def _sample(self, now: float) -> None:
        if not self._is_running or self._programs is None:
            return
        source, sink = (self._network.sim.program_stats(program) for program in self._programs)
        at = {"t": round(now, 4)}
        if isinstance(self.flow, TcpFlow):
            row: dict[str, float | int | None] = {
                "cwnd": source["cwnd_packets"],
                "ssthresh": _finite(source["ssthresh_packets"]),
                "rtt_s": _seconds(source["srtt_ms"]),
                "mss": self.flow.simulated.packet - tcp_headers(self.flow.congestion_control),
                "retransmitted": int(source["retransmissions"]),
                "fast_retransmits": int(source["fast_retransmits"]),
                "timeouts": int(source["timeouts"]),
                "acked_bytes": int(source["acknowledged_bytes"]),
            }
            finished_at = source["finished_at_s"]
            if not math.isnan(finished_at):  # the whole transfer is acknowledged: its time is over
                self._writers[0].write([{"t": round(finished_at, 4)} | row])
                self._close()
                return
            self._writers[0].write([at | row])
            return
        if self._on_off is not None:
            source = {"sent_packets": self._on_off.sent_packets, "sent_bytes": self._on_off.sent_bytes}
        self._writers[0].write([at | {name: _whole(value) for name, value in source.items()}])
        received = {name: _whole(sink[name]) for name in ("received_packets", "received_bytes") if name in sink}
        self._writers[1].write([at | received])


class OnOffSource:
    """UDP at a constant rate while it is on (`canopy_engine.SimEndpoint`)."""

    def __init__(self, flow: OnOffFlow, destination: Address, rng: random.Random) -> None:
        self.sent_packets = 0
        self.sent_bytes = 0
        self.wake_at: float | None = None
        self._gap = flow.packet * 8 / flow.rate
        self._send = Send(bytes(flow.packet), destination)
        self._periods = on_periods(flow.on, flow.off, flow.distribution, flow.shape, rng)
        self._began = 0.0
        self._on_until = 0.0

    def start(self, *, now: float) -> Sequence[Send]:
        """The first time on begins at once."""
        self._began = now
        self._begin_period()
        return ()

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Send]:
        """Nobody answers."""
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Send]:
        """Send the packet that is due."""
        assert self.wake_at is not None
        self.sent_packets += 1
        self.sent_bytes += len(self._send.data)
        self.wake_at += self._gap
        if self.wake_at >= self._on_until:
            self._begin_period()
        return (self._send,)

    def _begin_period(self) -> None:
        """The next time on that is long enough for a packet."""
        start, end = next(self._periods)
        while end <= start:
            start, end = next(self._periods)
        self.wake_at, self._on_until = self._began + start, self._began + end


def _tcp_options(flow: TcpFlow | WebFlow) -> "TcpOptions":
    tcp = flow.simulated
    options: TcpOptions = {
        "congestion_control": flow.congestion_control,  # type: ignore[typeddict-item]  # checked with the scenario
        "packet_bytes": tcp.packet,
        "initial_window": tcp.initial_window,
        "window_limit": tcp.window_limit,
        "min_rto": tcp.minimum_timeout,
        "delayed_ack": tcp.delayed_ack or None,
    }
    if flow.congestion_control in CLASSIC:
        options["limited_transmit"] = tcp.limited_transmit is not False
    else:
        options["pacing"] = isinstance(flow, TcpFlow) and flow.pacing
        options["ecn"] = tcp.ecn
    if tcp.size is not None:
        options["transfer_bytes"] = tcp.size
    return options


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _seconds(milliseconds: float) -> float | None:
    return milliseconds / 1e3 if milliseconds == milliseconds else None  # NaN: nothing was measured yet


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value
