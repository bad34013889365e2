"""One session of a run: its sender and receivers as processes, and what came of them."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from controller.hop_keys import HopKeys
from controller.sessions import SessionStatus
from engine.command.programs import module_command
from hosts import protocols
from hosts.endpoint import Address
from hosts.programs.keyfile import new_keys, new_seed, public, write_hop_keys, write_keys, write_seed
from topologies.emulation.child import Child
from topologies.emulation.network import EmulatedNetwork
from topologies.plan import FIRST_SESSION_PORT, Plan, Source, derive_seed, file_sha256, host_hop_keys
from topologies.results.bottleneck import counter_rate
from topologies.results.run_folder import RunFolder, read_series
from topologies.results.series import RunSeries
from topologies.results.summary import ReceiverResult, SessionResult, session_result
from topologies.scenario.activity import Attack
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Receiver, Session
from topologies.stage import RECEIVERS_WAIT_S

ENDLESS_INPUT = Path("/dev/zero")
"""What real-time sessions send, as much as may be sent, as in a simulation."""
STRANGER_START_S = 30.0
"""How long a stranger's program may take until it listens, on a machine that is busy with other things."""
PLAYOUT_DELAY_S = 0.2
"""Receivers of real-time data play it so far behind the network (ours)."""


class SessionRun:
    """Starts and stops a session's agents. Times are seconds since the network was ready."""

    def __init__(
        self,
        scenario: Scenario,
        number: int,
        source: Source,
        network: EmulatedNetwork,
        folder: RunFolder,
        state_directory: Path,
        series: RunSeries,
        hop_keys: HopKeys | None = None,
    ) -> None:
        """`number` is the session's place in the scenario; `series` has the sender's newest status; `hop_keys` are the
        network's."""
        self._hop_keys = hop_keys
        self.session = scenario.sessions[number]
        self._port = FIRST_SESSION_PORT + number
        self.source = source
        self.sender: Child | None = None
        self.receivers: dict[str, Child] = {}
        self._scenario = scenario
        self._network = network
        self._hosts = network.plan.hosts_by_address()
        self._folder = folder
        self._series = series
        self._state_directory = state_directory
        self._status_directory = state_directory / "sessions"
        self._key_file: Path | None = None
        self._sign_file: Path | None = None
        if self.session.security != "none":
            self._key_file = state_directory / f"session-{self.session.id}.keys"
            signer = None
            if self.session.security == "signed":
                seed = new_seed()
                self._sign_file = state_directory / f"session-{self.session.id}.sign"
                write_seed(self._sign_file, seed)
                signer = public(seed)
            write_keys(self._key_file, new_keys(signer))
        self._dismissed: dict[str, str] = {}
        self._ended_early: set[str] = set()  # receivers of a session that had not ended
        self._cut_short: list[Child] = []  # processes that the end of the run ended
        self._strangers: list[Child] = []  # by when they are to attack
        self._attacks = 0  # of them, that have been told to

    def join_receiver(self, host: str) -> None:
        """Start a receiver's agent. ChildError when that cannot be."""
        receiver = next(receiver for receiver in self.session.receivers if receiver.host == host)
        output = self.output_folder(host)
        if self.session.has_file:
            output.mkdir(parents=True, exist_ok=True)
        command = receiver_command(self.session, self._network.plan, self._port, receiver, output=output)
        self.receivers[host] = self._start(host, host, command)

    def start_sender(self) -> None:
        """Start the sender's agent. ChildError when that cannot be."""
        waiting = [receiver for receiver in self.session.receivers if receiver.join <= self.session.start]
        command = sender_command(self.session, self._network.plan, self._port, self.source.path, receivers=len(waiting))
        command += ["--status-dir", str(self._status_directory)]
        if self._sign_file is not None:
            command += ["--sign-file", str(self._sign_file)]
        self.sender = self._start("sender", self.session.sender, command)

    def leave_receiver(self, host: str) -> None:
        """A receiver leaves, as the scenario says: its agent ends of its own accord."""
        self._dismissed[host] = "left, as the scenario says"
        if host in self.receivers:
            self.receivers[host].signal(signal.SIGTERM)

    def kill_receiver(self, host: str) -> None:
        """kill -9 of a receiver's agent, as the scenario says."""
        if not self.has_file(host):
            self._dismissed[host] = "killed, as the scenario says"
        if host in self.receivers:
            self.receivers[host].kill()

    def place_strangers(self) -> None:
        """Start those who will attack the session, so that they hear all of it. ChildError when that cannot be."""
        faults = [one for one in self._scenario.faults if isinstance(one, Attack) and one.session == self.session.id]
        for number, fault in enumerate(sorted(faults, key=lambda one: one.at), 1):
            assert fault.host is not None  # the scenario's check says so
            name = self._name(f"stranger-{number}")
            order = stranger_order(self.session, self._network.plan, self._port, fault.forgery, fault.host)
            order["seed"] = derive_seed(self._scenario.seed, name)
            self._strangers.append(
                Child(
                    name,
                    module_command("topologies.emulation.stranger", json.dumps(order)),
                    self._folder.logs / f"{name}.log",
                    namespace_pid=self._network.pid(fault.host),
                    output=self._folder.agents / f"{name}.jsonl",
                )
            )

    def attack(self, fault: Attack) -> None:
        """The next of the strangers does it, as soon as it has heard enough. ChildError when it is not there."""
        stranger = self._strangers[self._attacks]
        self._attacks += 1
        said = self._folder.agents / f"{stranger.name}.jsonl"
        stranger.wait_until(lambda: said.stat().st_size > 0, STRANGER_START_S, "listening")
        stranger.signal(signal.SIGUSR1)

    def note_deaths(self) -> None:
        """Have the sender start without receivers that died before they joined, once all others have joined."""
        status = self._status
        if self.sender is None or self.sender.returncode is not None or status is None or status.state != "waiting":
            return
        alive = {host for host, child in self.receivers.items() if child.returncode is None}
        joined = {str(self._network.plan.hosts[host].address) for host in alive} & status.receivers.keys()
        if alive and len(alive) < len(self.receivers) and len(joined) == len(alive):
            self.sender.signal(signal.SIGUSR1)

    def note_endings(self) -> None:
        """Remember who has ended by now, before the others are ended."""
        self._ended_early = {host for host, child in self.receivers.items() if child.returncode is not None}
        self._cut_short += [child for child in self.children if child.returncode is None]

    @property
    def strangers(self) -> list[Child]:
        """The processes of those who attack it."""
        return self._strangers

    @property
    def children(self) -> list[Child]:
        """The processes of all its members that were started."""
        return [*self.receivers.values(), *([] if self.sender is None else [self.sender])]

    @property
    def is_over(self) -> bool:
        """Whether the sender has ended, and every receiver that was started has."""
        return self.sender is not None and all(child.returncode is not None for child in self.children)

    @property
    def sender_is_over(self) -> bool:
        """Whether the sender has ended."""
        return self.sender is not None and self.sender.returncode is not None

    def output_folder(self, host: str) -> Path:
        """Where a receiver puts what it received."""
        return self._folder.received / str(self.session.id) / host

    def has_file(self, host: str) -> bool:
        """Whether a receiver has put something under the file's final name."""
        return self.session.has_file and (self.output_folder(host) / self.source.path.name).is_file()

    def result(self) -> SessionResult:
        """What came of it."""
        trace, epoch = read_series(self._trace("sender")), self._series.epoch
        result = session_result(self.session, self.source, self._status, trace, self._hosts, epoch=epoch)
        result.detail = result.detail or self._sender_ending()
        result.cpu_s = self._own_words("sender").get("cpu_s")
        for receiver in self.session.receivers:
            result.receivers.append(self._receiver_result(receiver.host))
        return result

    @property
    def _status(self) -> SessionStatus | None:
        """The sender's last word."""
        return self._series.sessions.get(self.session.id)

    def _trace(self, agent: str) -> Path:
        return self._folder.agent_trace(self.session.id, agent)

    def _name(self, agent: str) -> str:
        return f"session-{self.session.id}-{agent}"

    def _start(self, agent: str, host: str, command: list[str]) -> Child:
        """Start an agent, which says at its end what came of it."""
        name = self._name(agent)
        if self._key_file is not None:
            command = [*command, "--secret-file", str(self._key_file), *self._hop_file(host)]
        seed = derive_seed(self._scenario.seed, name)
        return Child(
            name,
            [*command, "--trace", str(self._trace(agent)), "--seed", str(seed), "--json"],
            self._folder.logs / f"{name}.log",
            namespace_pid=self._network.pid(host),
            output=self._folder.agents / f"{name}.json",
        )

    def _hop_file(self, host: str) -> list[str]:
        """What a host vouches by for its feedback, where switches may merge that."""
        keys = host_hop_keys(self._hop_keys, self._network.plan, host)
        if keys is None:
            return []
        path = self._state_directory / f"{host}.hop"
        if not path.exists():
            write_hop_keys(path, keys)
        return ["--hop-file", str(path)]

    def _own_words(self, agent: str) -> dict[str, Any]:
        """What an agent said of itself at its end; nothing when it was killed."""
        try:
            said = json.loads((self._folder.agents / f"{self._name(agent)}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def _receiver_result(self, host: str) -> ReceiverResult:
        address = str(self._network.plan.hosts[host].address)
        result = ReceiverResult(host, address, host not in self._dismissed, complete=False, detail="")
        result.take_status(self._status, self._hosts)
        for row in read_series(self._trace(host))[-1:]:
            result.take_sample(row)
        if not self.session.has_file:
            return self._realtime_result(result, host)
        path = self.output_folder(host) / self.source.path.name
        try:
            result.sha256 = file_sha256(path)
            completed_at = path.stat().st_ctime - self._series.epoch  # the rename to the final name
        except OSError:
            result.detail = self._why_incomplete(host)
            return result
        if result.sha256 != self.source.sha256:
            result.detail = "the file differs from the source"
            return result
        result.complete = True
        result.detail = self._dismissed.get(host, "")
        result.completed_at = round(completed_at, 3)
        goodput = self._own_words(host).get("goodput_bps")
        result.goodput_bps = None if goodput is None else round(goodput)
        return result

    def _realtime_result(self, result: ReceiverResult, host: str) -> ReceiverResult:
        """There is no whole that could be had: who took part to its end is all right."""
        rows = [row for row in read_series(self._trace(host)) if row.get("received_bytes")]
        stayed = host in self.receivers and (host in self._dismissed or host not in self._ended_early)
        result.complete = bool(rows) and stayed
        result.detail = self._dismissed.get(host, "") if result.complete else self._why_incomplete(host)
        goodput = counter_rate(rows, "received_bytes")
        result.goodput_bps = None if goodput is None else round(goodput)
        return result

    def _why_incomplete(self, host: str) -> str:
        if host in self._dismissed:
            return self._dismissed[host]
        child = self.receivers.get(host)
        if child is None:
            return "had not joined yet"
        if child.returncode is None or child in self._cut_short:
            return "still receiving"
        ending = f"killed by signal {-child.returncode}" if child.returncode < 0 else f"status {child.returncode}"
        return f"ended with {ending}: {self._own_words(host).get('detail') or child.last_words()}"

    def _sender_ending(self) -> str:
        sender = self.sender
        if sender is not None and sender not in self._cut_short and sender.returncode not in (None, 0):
            why = self._own_words("sender").get("detail") or sender.last_words()
            return f"the sender ended with status {sender.returncode}: {why}"
        return ""


def sender_command(session: Session, plan: Plan, local_port: int, file: Path, *, receivers: int) -> list[str]:
    """A session's sender; `local_port` is that of all the session's members. One of a file waits for so many
    receivers, one of real-time data for nobody."""
    options = _session_options(session, plan, session.sender, local_port)
    if session.realtime:
        return stream_command("send", str(ENDLESS_INPUT), *options)
    waiting = waiting_options(session.protocol, max(receivers, 1), RECEIVERS_WAIT_S)
    return module_command("hosts.programs.cli", "send", str(file), *options, *waiting)


def waiting_options(protocol: str, receivers: int, seconds: float) -> list[str]:
    """Of `canopy send`: it begins when so many have joined, or after so long. None where a sender hears of nobody."""
    if not protocols.get(protocol).knows_receivers:
        return []
    return ["--receivers", str(receivers), "--wait", str(seconds)]


def receiver_command(session: Session, plan: Plan, local_port: int, receiver: Receiver, *, output: Path) -> list[str]:
    """A session's receiver, which puts the file into the folder `output`, and real-time data nowhere; `local_port` is
    that of all members."""
    options = _session_options(session, plan, receiver.host, local_port)
    if session.realtime:
        return stream_command("recv", *options, "--output", os.devnull, "--delay", repr(PLAYOUT_DELAY_S))
    reading = [] if receiver.read_rate is None else ["--read-rate", repr(receiver.read_rate)]
    return module_command("hosts.programs.cli", "recv", *options, *reading, "--output", str(output))


def stranger_order(session: Session, plan: Plan, local_port: int, forgery: str, host: str) -> dict[str, Any]:
    """What a stranger on a host is told (`stranger.Order`), without its seed."""

    def address(name: str) -> tuple[str, int]:
        return str(plan.hosts[name].address), local_port

    return {
        "protocol": session.protocol,
        "session": session.id,
        "group": (str(session.group), session.port),
        "sender": address(session.sender),
        "receivers": [address(receiver.host) for receiver in session.receivers],
        "is_source_specific": session.membership == "source-specific",
        "forgery": forgery,
        "address": str(plan.hosts[host].address),
        "interface": plan.hosts[host].interface,
    }


def stream_command(*arguments: str) -> list[str]:
    """`canopy stream`, of this Python."""
    return module_command("hosts.programs.stream_cli", *arguments)


def _session_options(session: Session, plan: Plan, host: str, local_port: int) -> list[str]:
    options = ["--protocol", session.protocol, "--group", str(session.group), "--port", str(session.port)]
    options += ["--session", str(session.id), "--local-port", str(local_port)]
    if session.membership == "source-specific":
        options += ["--source", str(plan.hosts[session.sender].address)]
    parameters = session.member_parameters(host, lambda name: Address(str(plan.hosts[name].address), local_port))
    for name, value in parameters.items():
        options += ["--set", f"{name}={value}"]
    return options
