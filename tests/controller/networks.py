"""Networks for the controller's tests."""

from __future__ import annotations

import random
from typing import Any

from controller.network import Network


def build(
    links: list[tuple[str, str, float]], hosts: dict[str, str], *, base_port: int = 50051, **fields: Any
) -> dict[str, Any]:
    """The JSON of a network: links (switch, switch, cost) and hosts (name -> switch). Ports are given in that order:
    first hosts, then links. Host n has address 10.0.0.n."""
    names = sorted({end for a, b, _ in links for end in (a, b)} | set(hosts.values()))
    ports: dict[str, dict[int, str]] = {name: {} for name in names}

    def attach(switch: str, neighbour: str) -> int:
        port = len(ports[switch]) + 1
        ports[switch][port] = neighbour
        return port

    host_list = [
        {
            "name": host,
            "ip": f"10.0.{n // 256}.{n % 256}",
            "mac": f"00:00:00:00:{n // 256:02x}:{n % 256:02x}",
            "switch": switch,
            "port": attach(switch, host),
        }
        for n, (host, switch) in enumerate(hosts.items(), 1)
    ]
    link_list = [{"a": a, "a_port": attach(a, b), "b": b, "b_port": attach(b, a), "cost": cost} for a, b, cost in links]
    switch_list = [
        {
            "name": name,
            "device_id": n,
            "address": f"127.0.0.1:{base_port + n}",
            "mac": f"02:00:00:00:00:{n:02x}",
            "ports": ports[name],
        }
        for n, name in enumerate(names, 1)
    ]
    return {"switches": switch_list, "hosts": host_list, "links": link_list} | fields


def network(*args: Any, **fields: Any) -> Network:
    """As `build`, checked."""
    return Network.model_validate(build(*args, **fields))


def line() -> dict[str, Any]:
    """h1, h2 on s1; h3 on s2; h4 on s3; s1 - s2 - s3."""
    return build([("s1", "s2", 1), ("s2", "s3", 1)], {"h1": "s1", "h2": "s1", "h3": "s2", "h4": "s3"})


def shared() -> dict[str, Any]:
    """h1, h2 behind a bridge `lan` on port 1 of s1, h3 on its port 2."""
    data = build([], {"h1": "s1", "h2": "s1", "h3": "s1"})
    data["hosts"][1]["port"], data["hosts"][2]["port"] = 1, 2
    data["switches"][0] |= {"ports": {1: "lan", 2: "h3"}, "shared": [1]}
    return data


def ring() -> Network:
    """Four switches in a ring, one host each; the link s4-s1 is expensive."""
    return network(
        [("s1", "s2", 1), ("s2", "s3", 1), ("s3", "s4", 1), ("s4", "s1", 10)],
        {"h1": "s1", "h2": "s2", "h3": "s3", "h4": "s4"},
    )


def random_network(seed: int) -> Network:
    """Up to 8 switches, connected or not, with ties among the costs and parallel links, one host each."""
    rng = random.Random(seed)
    names = [f"s{n}" for n in range(1, rng.randint(2, 8) + 1)]
    links = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            for _ in range(rng.choice([0, 0, 1, 1, 2])):
                links.append((a, b, float(rng.randint(1, 3))))
    degree = {name: sum(name in (a, b) for a, b, _ in links) for name in names}
    while max(degree.values()) > 15:
        a, b, _ = links.pop()
        degree[a] -= 1
        degree[b] -= 1
    return network(links, {f"h{name[1:]}": name for name in names})
