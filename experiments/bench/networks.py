"""Networks whose simulation is timed: links of 100 Mbps and 1 ms, and Poisson streams at nine tenths of their rate."""

from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from canopy_engine import Sim, Switch

from controller.network import CPU_PORT
from experiments.bench.switch.replication import PROGRAM_JSON

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

_LINK: "LinkSpec" = {"rate_bps": 100e6, "delay_us": 1000.0, "limit_packets": 100}
_RATE_BPS = 90e6
_PACKET_BYTES = 1000
_FIRST_ADDRESS = IPv4Address("10.0.0.1")
_PORT = 9
_EPOCH_SHIFT = 40
"""The longest that the P4 program knows, 12 days: nothing expires."""


def chains(count: int, hops: int) -> Sim:
    """`count` chains of `hops` links with a stream along each, tied together at one hub by idle links."""
    sim = Sim(1)
    sim.add_router("hub")
    for chain in range(count):
        source, sink = f"source{chain}", f"sink{chain}"
        sim.add_host(source, str(_FIRST_ADDRESS + 2 * chain))
        sim.add_host(sink, str(_FIRST_ADDRESS + 2 * chain + 1))
        last = source
        for hop in range(1, hops):
            router = f"router{chain}.{hop}"
            sim.add_router(router)
            sim.connect(last, router, _LINK, _LINK)
            last = router
        sim.connect(last, sink, _LINK, _LINK)
        sim.connect(last, "hub", _LINK, _LINK)
        _add_stream(sim, source, sink, str(_FIRST_ADDRESS + 2 * chain + 1))
    return sim


def p4_chain(switches: int) -> Sim:
    """A chain of P4 switches that run the project's program, with a stream along it."""
    sim = Sim(1)
    sink_address = _FIRST_ADDRESS + 1
    macs = [bytes((2, 0, 0, 2, 0, number)) for number in range(switches)]
    sink_mac = bytes((2, 0, 0, 1, 0, 0))
    sim.add_host("source", str(_FIRST_ADDRESS))
    sim.add_host("sink", str(sink_address), mac=sink_mac)
    program = PROGRAM_JSON.read_text(encoding="utf-8")
    last = "source"
    for number in range(switches):
        switch = Switch(program, seed=number, cpu_port=CPU_PORT)
        next_mac = sink_mac if number == switches - 1 else macs[number + 1]
        _set(switch, "switch_config", "set_config", [macs[number], bytes((_EPOCH_SHIFT,)), b"\x01"])
        params = [(2).to_bytes(2, "big"), next_mac]
        switch.table_add("ipv4_lpm", [(sink_address.packed, 32)], _action(switch, "ipv4_lpm", "forward"), params)
        sim.add_switch(f"s{number}", switch, mac=macs[number])
        sim.connect(last, f"s{number}", _LINK, _LINK, b_port=1, **({} if last == "source" else {"a_port": 2}))
        last = f"s{number}"
    sim.connect(last, "sink", _LINK, _LINK, a_port=2)
    _add_stream(sim, "source", "sink", str(sink_address))
    return sim


def star(receivers: int) -> tuple[Sim, list[str]]:
    """One router between a source and so many hosts; the hosts' names. The source has the first address."""
    sim = Sim(1)
    sim.add_router("hub")
    sim.add_host("source", str(_FIRST_ADDRESS))
    sim.connect("source", "hub", _LINK, _LINK)
    names = [f"receiver{number}" for number in range(receivers)]
    for number, name in enumerate(names, start=1):
        sim.add_host(name, str(_FIRST_ADDRESS + number))
        sim.connect("hub", name, _LINK, _LINK)
    return sim, names


def _add_stream(sim: Sim, source: str, sink: str, address: str) -> None:
    sim.add_udp(source, address, port=_PORT, rate_bps=_RATE_BPS, packet_bytes=_PACKET_BYTES, gaps="poisson")
    sim.add_udp_sink(sink, _PORT)


def _set(switch: Switch, table: str, alias: str, params: list[bytes]) -> None:
    switch.table_set_default(table, _action(switch, table, alias), params)


def _action(switch: Switch, table: str, alias: str) -> str:
    """The JSON's name of an action that P4Info calls by its alias."""
    names = [action["name"] for action in switch.table_info(table)["actions"]]
    return next(name for name in names if name.rpartition(".")[2] == alias)
