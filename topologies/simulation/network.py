"""A plan made of simulated nodes and links."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from canopy_engine import Sim, Switch

from topologies.link_spec import link_spec
from topologies.plan import Cable, Plan, derive_seed
from topologies.results.series import link_columns
from topologies.scenario.network import Host
from topologies.simulation.hosted import FeedbackServer

_QUEUE_FIELDS = (
    "queue_packets",
    "queue_bytes",
    "drop_queue",
    "drop_red",
    "drop_loss",
    "offered_packets",
    "mean_queue_packets",
)


class SimulatedNetwork:
    """The nodes and links of one run, and what faults do to them."""

    def __init__(self, plan: Plan, switches: Mapping[str, Switch]) -> None:
        """`switches` are the P4 switches by name; the plan's others become plain routers. SimError."""
        self.sim = Sim(derive_seed(plan.seed, "simulator"))
        self.plan = plan
        self.feedback_servers = {
            host.name: FeedbackServer(host.settings.feedback)
            for host in plan.hosts.values()
            if host.settings.feedback is not None
        }
        """The processors of hosts that need time for feedback."""
        self._links: dict[frozenset[str], int] = {}
        self._cables: dict[frozenset[str], Cable] = {}
        self._causes: dict[int, set[str]] = {}
        for host in plan.hosts.values():
            self.sim.add_host(host.name, str(host.address), mac=_octets(host.mac))
            self._set_processing(host.name, host.settings)
        for switch in plan.switches.values():
            if switch.name in switches:
                self.sim.add_switch(switch.name, switches[switch.name], mac=_octets(switch.mac))
            else:
                self.sim.add_router(switch.name)
        for cable in plan.cables:
            (one, one_port), (other, other_port) = cable.one, cable.other
            specs = link_spec(cable.forth, plan.seed), link_spec(cable.back, plan.seed)
            self._links[frozenset((one, other))] = self.sim.connect(
                one, other, *specs, a_port=one_port, b_port=other_port
            )
            self._cables[frozenset((one, other))] = cable

    def _set_processing(self, name: str, host: Host) -> None:
        sending, receiving = host.sending, host.receiving
        if sending is not None or receiving is not None:
            self.sim.set_processing(
                name,
                outgoing=None if sending is None else (sending.least, sending.most),
                incoming=None if receiving is None else (receiving.least, receiving.most),
            )

    def hold_down(self, one: str, other: str, cause: str) -> None:
        """Take a link down, now. It stays down until every cause for it is gone."""
        link = self._links[frozenset((one, other))]
        causes = self._causes.setdefault(link, set())
        if not causes:
            self.sim.link_down_at(self.sim.now, link)
        causes.add(cause)

    def release(self, one: str, other: str, cause: str) -> None:
        """A cause for a link's being down is gone."""
        link = self._links[frozenset((one, other))]
        causes = self._causes.setdefault(link, set())
        if cause in causes and len(causes) == 1:
            self.sim.link_up_at(self.sim.now, link)
        causes.discard(cause)

    def change_link(self, one: str, other: str, change: Mapping[str, float]) -> None:
        """Give a link other values of DirectedLink's fields, in both directions, now."""
        ends = frozenset((one, other))
        cable = self._cables[ends]
        forth, back = (link.model_copy(update=change) for link in (cable.forth, cable.back))
        self._cables[ends] = replace(cable, forth=forth, back=back)
        specs = link_spec(forth, self.plan.seed), link_spec(back, self.plan.seed)
        self.sim.configure_link_at(self.sim.now, self._links[ends], forth=specs[0], back=specs[1])

    def port_rows(self, now: float) -> list[dict[str, Any]]:
        """A row of ports.jsonl for each port of each switch or router."""
        rows = []
        for switch in self.plan.switches.values():
            for port in switch.ports.values():
                forth, back = self.sim.link_stats(self._links[frozenset((switch.name, port.neighbour))])
                tx, rx = (forth, back) if forth["from"] == switch.name else (back, forth)
                row: dict[str, Any] = {"t": round(now, 4), "switch": switch.name, "port": port.number}
                row["neighbour"] = port.neighbour
                row.update(rx_bytes=rx["delivered_bytes"], rx_packets=rx["delivered_packets"])
                row.update(tx_bytes=tx["sent_bytes"], tx_packets=tx["sent_packets"])
                row.update({name: tx[name] for name in (*_QUEUE_FIELDS, *link_columns(port.tx))})
                rows.append(row)
        return rows


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
