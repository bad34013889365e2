"""A plan made of simulated nodes and links."""

from collections.abc import Mapping
from typing import Any

from canopy_engine import Sim, Switch

from topologies.plan.link_spec import link_spec
from topologies.plan.plan import Plan, derive_seed
from topologies.scenario.network import Host
from topologies.scenario.scenario import Scenario
from topologies.simulation.feedback import FeedbackServer

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

    def __init__(self, scenario: Scenario, plan: Plan, switches: Mapping[str, Switch]) -> None:
        """`switches` are the P4 switches by name; the plan's others become plain routers. SimError."""
        self.sim = Sim(derive_seed(scenario.seed, "simulator"))
        self.plan = plan
        self.feedback_servers = {
            name: FeedbackServer(host.feedback) for name, host in scenario.hosts.items() if host.feedback is not None
        }
        """The processors of hosts that need time for feedback."""
        self._links: dict[frozenset[str], int] = {}
        self._causes: dict[int, set[str]] = {}
        for host in plan.hosts.values():
            self.sim.add_host(host.name, str(host.address), mac=_octets(host.mac))
            self._set_processing(host.name, scenario.hosts[host.name])
        for switch in plan.switches.values():
            if switch.name in switches:
                self.sim.add_switch(switch.name, switches[switch.name], mac=_octets(switch.mac))
            else:
                self.sim.add_router(switch.name)
        for link, cable in zip(scenario.links, plan.cables, strict=True):
            (one, one_port), (other, other_port) = cable.one, cable.other
            self._links[frozenset(link.between)] = self.sim.connect(
                one,
                other,
                link_spec(link.direction(other), scenario.seed),
                link_spec(link.direction(one), scenario.seed),
                a_port=one_port,
                b_port=other_port,
            )

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

    def set_delay(self, scenario: Scenario, one: str, other: str, delay_s: float) -> None:
        """Give a link another delay, in both directions, now."""
        link = scenario.link_between(one, other)
        assert link is not None
        here, there = link.between
        forth, back = (
            link_spec(link.direction(end).model_copy(update={"delay_s": delay_s}), scenario.seed)
            for end in (there, here)
        )
        self.sim.configure_link_at(self.sim.now, self._links[frozenset((one, other))], forth=forth, back=back)

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
                row.update({name: tx[name] for name in _QUEUE_FIELDS})
                rows.append(row)
        return rows


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))
