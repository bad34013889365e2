"""What each switch should have: entries and groups, from trees, slots and members as they are."""

from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address

from controller.bitmaps import BitmapGroups
from controller.groups import GroupKey, SlotTable
from controller.hop_keys import HopKeys, counter_of
from controller.members import MemberTable
from controller.network import Network
from controller.program import Program
from controller.state import Entry
from controller.trees import Route, Trees


class Wanted:
    """See the module. What changes seldom is made once."""

    def __init__(
        self,
        network: Network,
        program: Program,
        trees: Trees,
        slots: SlotTable,
        members: MemberTable,
        epoch_shift: int,
        hop_keys: HopKeys | None,
        wall_ns: Callable[[], int],
    ) -> None:
        self._network = network
        self._program = program
        self._trees = trees
        self._slots = slots
        self._members = members
        self._epoch_shift = epoch_shift
        self._hop_keys = hop_keys
        self._wall_ns = wall_ns
        self._groups = {
            switch.name: BitmapGroups(program.flood_group + 1)
            for switch in network.switches
            if not program.has_bitmap_groups(switch.ports)
        }
        self._hosts_at: dict[str, dict[int, list[IPv4Address]]] = {switch.name: {} for switch in network.switches}
        for host in network.hosts:  # by port: at a shared one there are several
            self._hosts_at[host.switch].setdefault(host.port, []).append(host.ip)
        self._fixed_entries: dict[str, tuple[Entry, ...]] = {}
        self._routed: dict[str, tuple[tuple[Route, ...], dict[Route, Entry]]] = {}

    def is_large(self, switch: str) -> bool:
        """Whether a switch has groups of its own for the members that there are."""
        return switch in self._groups

    def adopt(self, switch: str, number: int, ports: frozenset[int]) -> None:
        """A large switch has this group from a controller before."""
        self._groups[switch].adopt(number, ports)

    def disconnected(self, switch: str) -> None:
        """The connection to a switch ended."""
        if self._hop_keys is not None:
            self._fixed_entries.pop(switch, None)  # it may have started again, and count from 0

    def of(self, switch: str) -> list[Entry]:
        """Everything that a switch should have now."""
        entries = [*self._fixed(switch), *self._route_entries(switch)]
        for slot in self._slots:
            source, group = slot.key
            upstream = self._trees.upstream_ports(switch, source, group)
            entries.append(self._program.slot(slot, upstream, self._trees.accept_ports(switch, source, group)))
        if switch in self._groups:
            entries += self._slot_groups(switch)
        return entries

    def _fixed(self, switch: str) -> tuple[Entry, ...]:
        """What a switch has whatever happens."""
        known = self._fixed_entries.get(switch)
        if known is None:
            known = self._fixed_entries[switch] = tuple(self._make_fixed(switch))
        return known

    def _route_entries(self, switch: str) -> Iterable[Entry]:
        """The entries of its routes: to make one costs more than all else, so those that are the same stay."""
        routes = self._trees.routes(switch)
        before, known = self._routed.get(switch, ((), {}))
        if before is not routes:
            known = {route: known.get(route) or self._program.route(route) for route in routes}
            self._routed[switch] = routes, known
        return known.values()

    def _make_fixed(self, switch: str) -> list[Entry]:
        program, spec = self._program, self._network.switch_by_name[switch]
        host_ports = self._hosts_at[switch]
        entries = [program.switch_config(spec.mac, self._epoch_shift, bitmap_groups=switch not in self._groups)]
        if spec.assist:
            entries.append(program.assist(port for port in spec.ports if port not in host_ports))
        entries.append(program.lan(port for port in spec.ports if spec.lan and port in host_ports))
        entries.append(program.shared(spec.shared))
        entries += program.digests()
        entries += program.report_sessions(spec.ports)
        entries += program.port_groups(spec.ports)
        entries += program.report_limits(port for port in spec.ports if port in host_ports)
        for port, hosts in host_ports.items():
            entries += program.source_guard(port, hosts)
        if self._hop_keys is not None:
            entries += self._hop_entries(switch, spec.ports, self._hop_keys)
        return entries

    def _hop_entries(self, switch: str, ports: Iterable[int], keys: HopKeys) -> Iterator[Entry]:
        """Who vouches for feedback. A switch counts from a time on, so that counters rise when it starts again."""
        since = counter_of(self._wall_ns())
        for port in ports:
            yield self._program.hop_in(port, keys.inward(switch, port), from_switch=keys.is_switch(switch, port))
            yield self._program.hop_out(port, keys.outward(switch, port), since)

    def _slot_groups(self, switch: str) -> list[Entry]:
        """On a large switch: exact groups for the members that there are."""
        wanted: dict[int, frozenset[int]] = {}
        for slot in self._slots:
            ports = self._members.ports_on(slot.key, switch)
            if slot.key.source is not None:  # its data goes to the group's any-source members too
                ports |= self._members.ports_on(GroupKey(None, slot.key.group), switch)
            if ports:
                wanted[slot.index] = ports
        numbers = self._groups[switch].assign(wanted.values())
        entries = [self._program.multicast_group(number, ports) for ports, number in numbers.items()]
        entries += (
            self._program.slot_group(index, numbers[ports], ports)
            for index, ports in wanted.items()
            if ports in numbers
        )
        return entries
