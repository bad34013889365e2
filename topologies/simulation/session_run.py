"""One session of a simulated run: its endpoints on their hosts, and what came of them."""

import contextlib
import json
import random
from dataclasses import replace
from functools import partial
from typing import Any

from canopy_engine import Signer

from controller.sessions import SessionStatus
from hosts import endpoint as seam
from hosts import protocols
from hosts.application import stream_bytes
from hosts.endpoint import Address, Endpoint
from hosts.programs.driver import INTERRUPTED
from hosts.programs.file_source import FileSource
from hosts.programs.files import FileSink
from hosts.programs.observe import COMPLETE, plain
from hosts.protocol import Protocol, Session
from hosts.security.keys import SECRET_BYTES, SIGNER_BYTES, GroupKeys
from hosts.security.secured import secure
from hosts.wire.header import ETHERNET_MTU_BYTES
from topologies.agenda import Agenda
from topologies.plan import FIRST_SESSION_PORT, Source, derive_seed, host_hop_keys, simulated_hop_keys
from topologies.results.run_folder import RunFolder, read_series
from topologies.results.series import RunSeries
from topologies.results.summary import ReceiverResult, SessionResult, session_result
from topologies.scenario.activity import Attack
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Parameters
from topologies.simulation.hosted import Conditions
from topologies.simulation.member import Member
from topologies.simulation.network import SimulatedNetwork
from topologies.simulation.sink import CheckingSink, EndlessSource
from topologies.simulation.watch import StatusReport, Trace
from topologies.stage import RECEIVERS_WAIT_S
from topologies.swallowing import AGENT

LISTENING_S = 0.01
"""After so long a stranger that has not heard enough for its attack listens again (ours)."""


class SessionRun:
    """Starts a session's endpoints when they are due, and ends them. Times are seconds in the run."""

    def __init__(
        self,
        scenario: Scenario,
        number: int,
        source: Source,
        network: SimulatedNetwork,
        agenda: Agenda,
        folder: RunFolder,
        series: RunSeries,
        *,
        keep_files: bool,
    ) -> None:
        """`number` is the session's place in the scenario."""
        self.session = scenario.sessions[number]
        self.source = source
        self.sender: Member | None = None
        self.receivers: dict[str, Member] = {}
        self._scenario = scenario
        self._port = FIRST_SESSION_PORT + number
        self._network = network
        self._hosts = network.plan.hosts_by_address()
        self._agenda = agenda
        self._folder = folder
        self._series = series
        self._keep_files = keep_files
        self._protocol = protocols.get(self.session.protocol)
        self._seals = self._rng("seals")
        self._hop_keys = simulated_hop_keys(scenario, network.plan)
        self._read_rates = {receiver.host: receiver.read_rate for receiver in self.session.receivers}
        self._sinks: dict[str, FileSink | CheckingSink] = {}
        self._traces: dict[str, Trace] = {}
        self._status: StatusReport | None = None
        self._expected = 0
        self._dismissed: dict[str, str] = {}
        self._are_traced = len(self.session.receivers) <= scenario.simulation.traces
        self._open_files = contextlib.ExitStack()

    # --- what the scenario says

    def join_receiver(self, host: str) -> None:
        """A receiver begins to listen. FileError when its folder cannot be written."""
        sink = self._make_sink(host) if self.session.has_file else None
        endpoint = self._sealed(host).receiver(self._host_session(), self._rng(host), self._parameters(host))
        given = self._conditions(host, self._read_rates[host])
        member = Member(host, endpoint, given, sink=sink, on_end=self._receiver_ended)
        self.receivers[host] = member
        if sink is not None:
            self._sinks[host] = sink
        if self._are_traced:
            self._trace(host, member, "receiver")
        self._add(host, member, endpoint)

    def start_sender(self) -> None:
        """The sender begins to announce itself. FileError when its file cannot be read."""
        host = self.session.sender
        content: FileSource | EndlessSource = EndlessSource()
        total = None
        if self.session.has_file:
            content = self._open_files.enter_context(contextlib.closing(FileSource(self.source.path)))
        self._expected = max(1, sum(receiver.join <= self.session.start for receiver in self.session.receivers))
        session = replace(self._host_session(), receivers=self._expected, link_bps=self._link_bps(host))
        endpoint = self._sealed(host).sender(session, self._rng("sender"), self._parameters(host))
        if isinstance(content, FileSource):
            total = stream_bytes(content.total_bytes, endpoint.checked_bytes)
        self.sender = Member(host, endpoint, self._conditions(host), source=content, on_end=self._sender_ended)
        trace = self._trace("sender", self.sender, "sender")
        self._status = StatusReport(
            session, self._protocol.name, self._address(host), total, self.sender, trace, self._series, self._agenda
        )
        self._add("sender", self.sender, endpoint)

    def leave_receiver(self, host: str) -> None:
        """A receiver leaves, as the scenario says, in good order."""
        self._dismissed[host] = "left, as the scenario says"
        member = self.receivers.get(host)
        if member is not None and not member.is_over:
            sim = self._network.sim
            sim.act_at(sim.now, member.program, member.hosted.close(INTERRUPTED))

    def kill_receiver(self, host: str) -> None:
        """A receiver dies without a word, as the scenario says."""
        member = self.receivers.get(host)
        if member is None or member.complete_at is None:
            self._dismissed[host] = "killed, as the scenario says"
        if member is not None and not member.is_over:
            self._network.sim.kill_at(self._network.sim.now, member.program)
            member.is_dead = True
            member.hosted.forget()

    def attack(self, fault: Attack) -> None:
        """A stranger sends what it can make of what it has heard, as soon as it has heard enough."""
        from topologies.simulation import stranger  # it needs WEBRC's packets, too

        if fault.forgery == AGENT:
            assert fault.host is not None  # the scenario's check says so
            agent = stranger.agent(self.session, self._host_session(), self._rng("stranger"))
            if agent is not None:
                member = Member(fault.host, agent, self._conditions(fault.host), sink=CheckingSink())
                self._add("stranger", member, agent)
            return
        everybody = [member for member in (*self.receivers.values(), self.sender) if member is not None]
        members = {self._address(member.host): member for member in everybody if not member.is_over}
        known = self._address(self.session.sender), [self._address(host) for host in self.receivers]
        heard = stranger.hear(self.session, *known, members, self._rng("stranger"))
        if not stranger.strike(fault.forgery, heard, members, self._network.sim, spoofed=fault.spoofed):
            self._agenda.at(self._agenda.now + LISTENING_S, lambda now: self.attack(fault))

    @property
    def sender_is_over(self) -> bool:
        """Whether the sender has ended."""
        return self.sender is not None and self.sender.is_over

    @property
    def is_over(self) -> bool:
        """Whether the sender has ended, and every receiver that was started has."""
        return self.sender_is_over and all(member.is_over for member in self.receivers.values())

    @property
    def closed_at(self) -> float:
        """When the last of its endpoints that have ended did."""
        return max((member.closed_at for member in (*self.receivers.values(), self.sender) if member), default=0.0)

    @property
    def share(self) -> float:
        """How much of the file the receivers have, on average, 0..1."""
        have = sum(sink.written for sink in self._sinks.values())
        return have / (len(self.session.receivers) * self.source.bytes) if self.source.bytes else 0.0

    # --- results

    def result(self) -> SessionResult:
        """Write what is left to write, close the files, and say what came of it all."""
        if self._status is not None and not self.sender_is_over:
            self._status.write(self._agenda.now, final=True)
        for trace in self._traces.values():
            trace.close()
        for host in self.receivers:
            self._write_words(host)
        for sink in self._sinks.values():
            if isinstance(sink, FileSink):
                sink.discard()
        self._open_files.close()
        return self._result(self._series.sessions.get(self.session.id))

    def _result(self, status: SessionStatus | None) -> SessionResult:
        trace = read_series(self._folder.series / f"{self._name('sender')}.jsonl")
        result = session_result(self.session, self.source, status, trace, self._hosts)
        result.cpu_s = self._cpu_s()
        result.receivers = [self._receiver_result(receiver.host, status) for receiver in self.session.receivers]
        return result

    def _cpu_s(self) -> float | None:
        server = self._network.feedback_servers.get(self.session.sender)
        return None if server is None or self.sender is None else round(self.sender.hosted.served * server.time_s, 6)

    def _receiver_result(self, host: str, status: SessionStatus | None) -> ReceiverResult:
        address = self._address(host).host
        member = self.receivers.get(host)
        result = ReceiverResult(host, address, host not in self._dismissed, complete=False, detail="")
        result.take_status(status, self._hosts)
        if member is not None:
            result.take_sample(member.hosted.endpoint.sample(now=member.hosted.local(self._agenda.now)))
        if not self.session.has_file:
            return self._endless_result(result, host, member)
        if member is None or member.complete_at is None:
            result.detail = self._why_incomplete(host, member)
            return result
        contents = self._sinks[host].contents
        result.sha256 = None if contents is None else contents.entries[0].sha256
        if result.sha256 != self.source.sha256:
            result.detail = "the file differs from the source"
            return result
        result.complete = True
        result.detail = self._dismissed.get(host, "")
        result.completed_at = round(member.complete_at, 3)
        goodput = member.goodput_bps(self._written(host))
        result.goodput_bps = None if goodput is None else round(goodput)
        return result

    def _endless_result(self, result: ReceiverResult, host: str, member: Member | None) -> ReceiverResult:
        """There is no whole that could be had: who took part to its end is all right."""
        result.detail = self._dismissed.get(host, "")
        result.complete = (
            member is not None and member.started_at is not None and (member.ending is None or host in self._dismissed)
        )
        if member is None or not result.complete:
            result.detail = result.detail or self._why_incomplete(host, member)
        elif member.started_at is not None:
            until = member.closed_at if member.ending is not None else self._agenda.now
            octets = member.hosted.endpoint.sample(now=member.hosted.local(until)).get("received_bytes")
            if isinstance(octets, int) and until > member.started_at:
                result.goodput_bps = round(octets * 8 / (until - member.started_at))
        return result

    def _why_incomplete(self, host: str, member: Member | None) -> str:
        if host in self._dismissed:
            return self._dismissed[host]
        if member is None:
            return "had not joined yet"
        if member.error is not None:
            return str(member.error)
        return "still receiving" if member.ending is None else member.ending.reason

    def _written(self, host: str) -> int:
        """Bytes of the file that a receiver has."""
        sink = self._sinks.get(host)
        return 0 if sink is None else sink.written

    def _write_words(self, host: str) -> None:
        """What the receiver would say of itself at its end (`canopy recv --json`)."""
        member = self.receivers[host]
        if not self._are_traced or member.is_dead:
            return
        words: dict[str, Any] = {
            "role": "receiver",
            "protocol": self._protocol.name,
            "session": self.session.id,
            "complete": member.complete_at is not None,
            "detail": "" if member.complete_at is not None else self._why_incomplete(host, member),
            "size_bytes": self._written(host),
            "duration_s": member.duration,
            "goodput_bps": member.goodput_bps(self._written(host)) if member.complete_at is not None else None,
            "counters": dict(sorted(member.hosted.endpoint.counters.items())),
        }
        path = self._folder.agents / f"{self._name(host)}.json"
        path.write_text(json.dumps(plain(words), indent=2) + "\n", encoding="utf-8")

    # --- endings

    def _sender_ended(self, member: Member) -> None:
        assert member.ending is not None
        now = member.hosted.now
        rows = member.hosted.endpoint.sample(now=member.hosted.local(now)).get("receivers")
        joined = len(rows) if isinstance(rows, dict) else self._expected
        short = f"only {joined} of {self._expected} receivers joined" if joined < self._expected else ""
        observer = self._traces["sender"].observer
        observer.detail = member.ending.reason or short
        observer.final = "done" if member.ending.complete and not short else "failed"
        self._traces["sender"].write(now)
        if self._status is not None:
            self._status.write(now, final=True)

    def _receiver_ended(self, member: Member) -> None:
        trace = self._traces.get(member.host)
        if trace is not None:
            if member.ending is not None and member.ending.complete:
                trace.observer.final = COMPLETE
            trace.write(member.hosted.now)

    # --- making them

    def _add(self, name: str, member: Member, endpoint: Endpoint) -> None:
        sim = self._network.sim
        endpoint.place(self._address(member.host))
        member.program = sim.add_endpoint(
            member.host, self._name(name), member.hosted, port=self._port, seam=seam, start_at=sim.now
        )

    def _make_sink(self, host: str) -> FileSink | CheckingSink:
        if not self._keep_files:
            return CheckingSink()
        folder = self._folder.received / str(self.session.id) / host
        folder.mkdir(parents=True, exist_ok=True)
        return FileSink(folder, "refuse")

    def _host_session(self) -> Session:
        is_source_specific = self.session.membership == "source-specific"
        return Session(
            group=Address(str(self.session.group), self.session.port),
            source=self._address(self.session.sender).host if is_source_specific else None,
            session=self.session.id,
            wait=RECEIVERS_WAIT_S,
            realtime=self.session.realtime,
            deliver=False,
        )

    def _link_bps(self, host: str) -> float:
        """What a host and its own link carry of full packets that it sends; 0: without limit."""
        plan = self._network.plan
        link = plan.switches[plan.hosts[host].switch].port_to(host).rx
        rates = [] if link is None or link.rate_bps is None else [link.rate_bps]
        sending = plan.hosts[host].settings.sending
        if sending is not None and sending.most > 0:
            rates.append(8 * (14 + ETHERNET_MTU_BYTES) * 2 / (sending.least + sending.most))
        return min(rates, default=0.0)

    def _address(self, host: str) -> Address:
        return Address(str(self._network.plan.hosts[host].address), self._port)

    def _sealed(self, host: str) -> Protocol[Any]:
        """What a member of the session runs. Keys and numbers are the seed's: they never leave the simulation."""
        if self.session.security == "none":
            return self._protocol
        keys = GroupKeys([(1, self._rng("keys").randbytes(SECRET_BYTES))])
        seed, signer = None, None
        if self.session.security == "signed":
            seed = self._rng("signature").randbytes(SIGNER_BYTES)
            signer = Signer(seed).public
        return secure(
            self._protocol,
            keys,
            self._seals,
            lambda: self._network.sim.now,
            signer=signer,
            seed=seed,
            hop_keys=host_hop_keys(self._hop_keys, self._network.plan, host),
        )

    def _parameters(self, host: str) -> Parameters:
        return self.session.member_parameters(host, self._address)

    def _rng(self, agent: str) -> random.Random:
        return random.Random(derive_seed(self._scenario.seed, self._name(agent)))

    def _conditions(self, host: str, read_rate_bps: float | None = None) -> Conditions:
        return Conditions(
            clock=self._scenario.hosts[host].clock,
            read_rate_bps=read_rate_bps,
            server=self._network.feedback_servers.get(host),
            is_feedback=self._protocol.is_feedback,
            leave_latency_s=self._scenario.hosts[host].leave_latency,
        )

    def _trace(self, agent: str, member: Member, role: str) -> Trace:
        address = self._address(member.host).host
        header = {
            "role": role,
            "protocol": self._protocol.name,
            "group": str(self.session.group),
            "port": self.session.port,
            "address": address,
            "session": self.session.id,
        }
        trace = Trace(
            self._folder,
            self._name(agent),
            member,
            header,
            self._agenda,
            self._scenario.simulation.trace,
            partial(self._series.heard, self.session.id, address) if role == "receiver" else lambda row: None,
        )
        self._traces[agent] = trace
        return trace

    def _name(self, agent: str) -> str:
        return f"session-{self.session.id}-{agent}"
