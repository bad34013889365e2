"""A Mininet switch that runs any v1model program which p4c has compiled, and serves P4Runtime."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mininet.node import Switch

from engine.command.programs import module_command
from topologies.emulation.child import Child, accepts_connections
from topologies.emulation.nodes import OFFLOADS, run_in
from topologies.link_spec import link_spec
from topologies.mininet.link import CanopyLink
from topologies.plan import P4RUNTIME_PORT

START_S = 30.0
"""How long a switch may take until it serves P4Runtime, on a machine that is busy with other things."""
ENTRIES_S = 60.0
"""How long writing the switches' entries may take."""
P4INFO_ENDINGS = (".p4info.txtpb", ".p4info.txt", ".p4.p4info.txtpb", ".p4.p4info.txt")
"""What a program's P4Info is called beside NAME.json, by p4c's users."""


class CanopySwitch(Switch):  # type: ignore[misc]
    """`canopy switch` as a switch of Mininet's. It runs in the network namespace of the script.

    The port numbers that the program sees are Mininet's: s1-eth1 is port 1. A controller, if there is one, is told
    `p4runtime`; Mininet's OpenFlow controllers are passed over."""

    def __init__(
        self,
        name: str,
        *,
        program: str | Path | None = None,
        p4info: str | Path | None = None,
        entries: str | Path | Mapping[str, Any] | None = None,
        device_id: int | None = None,
        grpc_port: int | None = None,
        cpu_port: int | None = None,
        seed: int = 0,
        log: str | Path | None = None,
        arguments: Sequence[str] = (),
        **params: Any,
    ) -> None:
        """`program`: p4c's BMv2 JSON; without one the controller pushes it. `p4info`: by default it is looked for
        beside the program. `entries`: what tables, multicast groups and clone sessions have at first, as a JSON file or
        as what would be in it (entries.py).

        `device_id`: P4Runtime's, by default the number in the name; `grpc_port`: by default 9558 and the device id;
        `cpu_port`: of packet-in and packet-out. `seed`: of random() and of the links' losses. `log`: a file for what
        the switch says. `arguments`: further options of `canopy switch`, such as ("--pcap", "captures").

        ValueError when a file is missing."""
        params.pop("batch", None)  # Mininet's, for switches with a batchStartup
        super().__init__(name, **params)
        self.device_id = int(self.dpid, 16) if device_id is None else device_id
        self.p4runtime = f"127.0.0.1:{P4RUNTIME_PORT - 1 + self.device_id if grpc_port is None else grpc_port}"
        self.program = _file(name, "program", program)
        self.p4info = _file(name, "p4info", p4info) or _p4info_beside(self.program)
        self._given = entries if isinstance(entries, Mapping) else None
        self.entries = None if isinstance(entries, Mapping) else _file(name, "entries", entries)
        if entries is not None and self.p4info is None:
            raise ValueError(f"{name}: entries need the program's P4Info, and there is none beside it (p4info=...)")
        self.cpu_port = cpu_port
        self.seed = seed
        self.arguments = tuple(arguments)
        self.log = None if log is None else Path(log)
        self._folder: Path | None = None
        self.child: Child | None = None

    def start(self, controllers: Any) -> None:
        """Start the process. Mininet's `start` then waits for all switches at once (`batchStartup`)."""
        interfaces = {self.ports[one]: one for one in self.intfList() if one.link is not None}
        links = {}
        for number, interface in interfaces.items():
            self._make_plain(interface)
            if isinstance(interface.link, CanopyLink):
                links[str(number)] = self._port_links(interface)
        self._folder = Path(tempfile.mkdtemp(prefix=f"canopy-{self.name}-"))
        if self._given is not None:
            self.entries = self._folder / "entries.json"
            self.entries.write_text(json.dumps(self._given), encoding="utf-8")
        links_file = self._folder / "links.json"
        links_file.write_text(json.dumps(links), encoding="utf-8")
        command = module_command("engine.switch.cli")
        for number, interface in sorted(interfaces.items()):
            command += ["-i", f"{number}@{interface.name}"]
        command += ["--device-id", str(self.device_id), "--grpc-server-addr", self.p4runtime]
        command += ["--links", str(links_file), "--seed", str(self.seed)]
        if self.cpu_port is not None:
            command += ["--cpu-port", str(self.cpu_port)]
        if self.p4info is not None and self.program is not None:
            command += ["--p4info", str(self.p4info)]
        command += self.arguments
        if self.program is not None:
            command.append(str(self.program))
        self.child = Child(self.name, command, self.log or self._folder / "log")

    @classmethod
    def batchStartup(cls, switches: Sequence["CanopySwitch"]) -> Sequence["CanopySwitch"]:  # noqa: N802 (Mininet's name)
        """Called by Mininet when all have been started; by whoever starts switches without it, too.

        Waits until each serves P4Runtime, and writes their entries. ChildError and RuntimeError say what went wrong."""
        for switch in switches:
            if switch.child is None:
                raise RuntimeError(f"{switch.name} has not been started")
            switch.child.wait_until(switch.connected, START_S, "serving P4Runtime")
        wanted = [one for one in switches if one.entries is not None]
        if wanted:
            words = [word for one in wanted for word in (one.p4runtime, str(one.device_id), str(one.entries))]
            writer = module_command("topologies.mininet.entries", *words)
            told = subprocess.run(writer, capture_output=True, text=True, timeout=ENTRIES_S, check=False)
            if told.returncode != 0:
                raise RuntimeError(told.stderr.strip() or "a switch's entries cannot be written")
        return switches

    def connected(self) -> bool:
        """Whether it serves P4Runtime."""
        return accepts_connections(self.p4runtime)

    def stop(self, deleteIntfs: bool = True) -> None:  # noqa: N803 (Mininet's name)
        """End the process; the interfaces are in the script's namespace, and go by name."""
        if self.child is not None:
            self.child.stop()
        super().stop(deleteIntfs)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _make_plain(self, interface: Any) -> None:
        """Frames must come whole, with their checksums; and the kernel has nothing to say here itself."""
        off = [word for name in OFFLOADS for word in (name, "off")]
        peer = _far_end(interface)
        run_in(None, "ethtool", "-K", interface.name, *off)
        run_in(_pid(peer.node), "ethtool", "-K", peer.name, *off)
        run_in(None, "sysctl", "-q", "-e", "-w", f"net.ipv6.conf.{interface.name}.disable_ipv6=1")
        run_in(None, "ip", "link", "set", interface.name, "up")

    def _port_links(self, interface: Any) -> dict[str, Any]:
        """What `canopy switch --links` is told of a port. Another CanopySwitch emulates its own direction."""
        far = _far_end(interface).node
        found = {"tx": link_spec(interface.link.direction(self.name, far.name), self.seed)}
        if not isinstance(far, CanopySwitch):
            found["rx"] = link_spec(interface.link.direction(far.name, self.name), self.seed)
        return found


def _far_end(interface: Any) -> Any:
    link = interface.link
    return link.intf2 if link.intf1 is interface else link.intf1


def _pid(node: Any) -> int | None:
    """A process in the node's namespace; None when that is the script's."""
    return int(node.pid) if node.inNamespace else None


def _file(switch: str, what: str, path: str | Path | None) -> Path | None:
    if path is None:
        return None
    if not Path(path).is_file():
        raise ValueError(f"{switch}: {what}: {path}: no such file")
    return Path(path).absolute()


def _p4info_beside(program: Path | None) -> Path | None:
    if program is None:
        return None
    candidates = (program.with_suffix(ending) for ending in P4INFO_ENDINGS)
    return next((path for path in candidates if path.is_file()), None)
