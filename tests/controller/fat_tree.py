"""A fat tree of switches with k ports (Al-Fares et al. 2008), as a controller is told of it."""

from __future__ import annotations

from controller.network import Network
from topologies.scenario.generators import FatTree


def fat_tree(k: int) -> Network:
    """5/4 k^2 switches, the core first, and k^3/4 hosts with addresses from 10.0.0.1 on, pod by pod."""
    made = FatTree(k=k).make()
    ports: list[dict[int, str]] = [{} for _ in range(made.switches)]

    def attach(switch: int, neighbour: str) -> int:
        port = len(ports[switch]) + 1
        ports[switch][port] = neighbour
        return port

    hosts, links = [], []
    for link in made.links:
        if link.role == "access":
            number = link.one + 1
            host = {"name": f"h{number}", "ip": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}
            mac = f"00:00:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
            at = {"switch": f"s{link.other + 1}", "port": attach(link.other, f"h{number}")}
            hosts.append(host | {"mac": mac} | at)
        else:
            one, other = f"s{link.one + 1}", f"s{link.other + 1}"
            links.append({"a": one, "a_port": attach(link.one, other), "b": other, "b_port": attach(link.other, one)})
    switches = [
        {
            "name": f"s{number}",
            "device_id": number,
            "address": f"127.0.0.1:{10_000 + number}",
            "mac": f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
            "ports": ports[number - 1],
        }
        for number in range(1, made.switches + 1)
    ]
    return Network.model_validate({"switches": switches, "hosts": hosts, "links": links})
