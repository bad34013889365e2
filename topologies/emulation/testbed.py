"""A network that is up, with its controller: started as one, supervised, and ended as one."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from controller.api import ApiClient, ApiError
from controller.hop_keys import HopKeys
from controller.network import Network
from controller.statedir import SOCKET_NAME
from engine.command.programs import module_command
from engine.command.signals import uninterruptible
from hosts.programs.keyfile import write_private
from topologies.emulation.child import Child, ChildError
from topologies.emulation.kernel import bind_file, enter_new_network_namespace, network_namespace, process_start_time
from topologies.emulation.network import EmulatedNetwork
from topologies.emulation.requirements import UNCONTROLLED, RequirementError, check_namespace
from topologies.emulation.state import MARK, Emulation, NodeRecord, create_state_directory, kill_marked, write_record
from topologies.emulation.switches import make_switch_kind
from topologies.plan import Plan
from topologies.results.run_folder import RunFolder

CONTROLLER = "controller"
HOP_SECRET = "hops.secret"
CONTROLLER_START_S = 60.0
"""How long the controller may take to set up all switches, on a machine that is busy with other things."""
MAX_DEATHS = 10
"""How often a switch or the controller may end by itself in one run; more is not bad luck."""
RESOLVER_FILE = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
"""/etc/resolv.conf of the emulated hosts. No name server answers there, which is known at once; the machine's own may
have an address that the emulated network takes for one of its hosts, and programs would wait for it."""


class Testbed:
    """The running network of one plan. What it names `node` is a host, a switch or the controller."""

    __test__ = False  # not a test, whatever pytest thinks of its name

    def __init__(
        self,
        plan: Plan,
        description: Network,
        switch_kind: str,
        folder: RunFolder,
        state: Path,
        hop_secret: bytes | None = None,
    ) -> None:
        """`description` is what the controller is told of the plan; from `hop_secret` come the keys by which neighbours
        vouch for feedback, of ports of switches and hosts."""
        self.hop_keys = None if hop_secret is None else HopKeys(hop_secret, description)
        self._hop_secret = hop_secret
        self.plan = plan
        self.folder = folder
        self.state = state
        kind = make_switch_kind(switch_kind, plan, state)
        self.notes = list(kind.notes)
        self.network = EmulatedNetwork(plan, kind, folder.logs)
        self._description = description
        self._switch_kind = switch_kind
        self._controller: Child | None = None
        self._stopped: set[str] = set()
        self._deaths: dict[str, int] = {}

    def start(self) -> None:
        """Build the network and wait until it forwards. NodeError or ChildError says why it does not."""
        self._give_names()
        self.network.start()
        (self.state / "network.json").write_text(self._description.model_dump_json(indent=2), encoding="utf-8")
        if self._hop_secret is not None:
            write_private(self.state / HOP_SECRET, self._hop_secret.hex() + "\n")
        if self._switch_kind not in UNCONTROLLED:
            self.start_node(CONTROLLER)
        if self._controller is not None:
            try:
                self._controller.wait_until(
                    lambda: controller_is_ready(self.state), CONTROLLER_START_S, "in control of all switches"
                )
            except ChildError as error:
                raise ChildError(f"{error}{switch_problems(self.state)}") from None
        write_record(self.state, self._record())

    def stop(self) -> None:
        """End controller, switches and hosts."""
        if self._controller is not None:
            self._controller.stop(grace_s=1.0)
        self.network.stop()

    def start_node(self, name: str) -> None:
        """Start a switch or the controller, which is not running; returns at once. ChildError."""
        if name == CONTROLLER:
            arguments: tuple[str, ...] = (str(self.state / "network.json"), "--state-dir", str(self.state))
            if self._hop_secret is not None:
                arguments += ("--hop-secret", str(self.state / HOP_SECRET))
            command = module_command("controller.service", *arguments)
            self._controller = Child(CONTROLLER, command, self.folder.logs / "controller.log")
        else:
            self.network.switch(name).start([])
        self._stopped.discard(name)

    def kill_node(self, name: str) -> None:
        """kill -9 of a switch or the controller; it stays away until `start_node`."""
        self._stopped.add(name)
        if name != CONTROLLER:
            self.network.switch(name).kill_process()
        elif self._controller is not None:
            self._controller.kill()

    def set_link(self, one: str, other: str, *, up: bool) -> None:
        """Set a link up or down. NodeError.

        P4Runtime tells a controller nothing of ports, so it is told of links between switches as by an operator."""
        self.network.set_link(one, other, up=up)
        if one in self.plan.switches and other in self.plan.switches:
            tell_link_state(self.state, one, other, up=up)

    def take_deaths(self) -> list[tuple[str, str]]:
        """Switches and controller that ended although nobody asked: (node, what happened), each told once.

        They stay away until `start_node`. ChildError when one has done so too often."""
        running = {name: self.network.switch(name).child for name in self.plan.switches}
        deaths = []
        for name, child in {**running, CONTROLLER: self._controller}.items():
            if child is None or child.returncode is None or name in self._stopped:
                continue
            self._stopped.add(name)
            self._deaths[name] = self._deaths.get(name, 0) + 1
            if self._deaths[name] > MAX_DEATHS:
                raise ChildError(f"{name} keeps ending (status {child.returncode}): {child.last_words()}")
            ending = f"was killed (signal {-child.returncode})" if child.returncode < 0 else "ended by itself"
            deaths.append((name, ending))
        return deaths

    def namespaces(self) -> frozenset[int]:
        """The network namespaces of its hosts."""
        found = (network_namespace(self.network.pid(host)) for host in self.plan.hosts)
        return frozenset(inode for inode in found if inode is not None)

    def _give_names(self) -> None:
        """Hosts know each other by name, and ask no name server. To be done before they exist: they inherit it."""
        for name, content in (("hosts", hosts_file(self.plan)), ("resolv.conf", RESOLVER_FILE)):
            path = self.state / name
            path.write_text(content, encoding="utf-8")
            with contextlib.suppress(OSError):  # a machine without that file
                bind_file(path, Path("/etc") / name)

    def _record(self) -> Emulation:
        nodes = {name: NodeRecord("host", self.network.pid(name)) for name in self.plan.hosts}
        nodes |= {name: NodeRecord("switch", self.network.pid(name)) for name in self.plan.switches}
        return Emulation(
            name=self.state.name,
            pid=os.getpid(),
            started=process_start_time(os.getpid()) or 0,
            run_folder=str(self.folder.path),
            switch=self._switch_kind,
            nodes=nodes,
        )


@contextlib.contextmanager
def running_testbed(
    plan: Plan, description: Network, switch_kind: str, folder: RunFolder, hop_secret: bytes | None = None
) -> Iterator[Testbed]:
    """Move this process into a namespace of its own and bring the network up in it.

    On the way out, however it comes, all of it is gone. NodeError, ChildError, RequirementError or StateError say why
    it could not be brought up."""
    state = create_state_directory(description.name)
    os.environ[MARK] = state.name
    machine = network_namespace()
    testbed: Testbed | None = None
    try:
        _enter_namespace()
        check_namespace()
        testbed = Testbed(plan, description, switch_kind, folder, state, hop_secret)
        testbed.start()
        yield testbed
    finally:
        with uninterruptible():
            _clean_up(state, testbed, machine)


def _enter_namespace() -> None:
    """RequirementError when this machine does not let it be, as in a container or a chroot."""
    try:
        enter_new_network_namespace()
    except OSError as error:
        raise RequirementError(
            f"this machine gives no network namespace ({error.strerror}): a container must be privileged "
            "(CAP_SYS_ADMIN), and a chroot's `/` a mount point (mount --bind DIR DIR)"
        ) from None


def _clean_up(state: Path, testbed: Testbed | None, machine: int | None) -> None:
    namespaces = {network_namespace()}
    if testbed is not None:
        with contextlib.suppress(KeyError):  # interrupted before all hosts were made
            namespaces |= testbed.namespaces()
        testbed.stop()
    kill_marked(state.name, frozenset(inode for inode in namespaces if inode not in (None, machine)))
    shutil.rmtree(state, ignore_errors=True)


def hosts_file(plan: Plan) -> str:
    """/etc/hosts of the emulated hosts."""
    lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}" for host in plan.hosts.values())]
    return "\n".join(lines) + "\n"


def controller_is_ready(state_directory: Path) -> bool:
    """Whether the controller answers, and has set up every switch."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            status = client.call("status")
    except (OSError, ApiError, ValueError):
        return False
    return bool(status["switches_ready"] == status["switches"])


def switch_problems(state_directory: Path) -> str:
    """What the controller has to say of switches that are not ready, as the end of a sentence; empty when nothing."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            switches = client.call("switches", counters=False)
    except (OSError, ApiError, ValueError):
        return ""
    return "".join(f"; {switch['name']}: {switch['problem']}" for switch in switches if switch["problem"])


def tell_link_state(state_directory: Path, one: str, other: str, *, up: bool) -> bool:
    """Tell the controller that a link between two switches went down or came up; whether it listened."""
    try:
        with ApiClient(state_directory / SOCKET_NAME, timeout_s=2.0) as client:
            client.call("set_link", link=f"{one}-{other}", up=up)
    except (OSError, ApiError, ValueError):
        return False
    return True
