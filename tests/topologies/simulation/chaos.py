"""Random scenarios for the simulator: P4 switches, logical trees, help by switches or none, and faults of all kinds."""

import random
from typing import Any

from hosts.wire.reason import Reason
from topologies.results.summary import ReceiverResult, SessionResult

Document = dict[str, Any]
LIMIT_S = 600
PATIENCE_S = 60


def draw_scenario(seed: int) -> Document:
    """A scenario, as YAML would have it."""
    rng = random.Random(seed)
    switches = [f"s{number}" for number in range(1, rng.randint(2, 5) + 1)]
    names = [f"r{number}" for number in range(1, rng.randint(3, 9) + 1)]
    links = [_link(rng, rng.choice(switches[:index]), switch) for index, switch in enumerate(switches) if index]
    links.append({"between": ["sender", switches[0]], "rate": "100 Mbps", "delay": "1 ms"})
    links += [_link(rng, rng.choice(switches), name) for name in names]
    nodes: Document = {switch: {"kind": "p4"} for switch in switches}
    for name in ("sender", *names):
        nodes[name] = {
            "kind": "host",
            "clock": {"offset": f"{rng.uniform(0, 1e4):.6f} s", "drift_ppm": rng.uniform(-100, 100)},
        }
    session = _session(rng, names)
    return {
        "name": f"chaos-{seed}",
        "seed": seed,
        "duration": f"{LIMIT_S} s",
        "nodes": nodes,
        "links": links,
        "sessions": [session],
        "faults": _faults(rng, switches, links, session),
    }


def _link(rng: random.Random, one: str, other: str) -> Document:
    link: Document = {
        "between": [one, other],
        "rate": f"{10 ** rng.uniform(0, 1.5):.3f} Mbps",
        "delay": f"{10 ** rng.uniform(-0.5, 1.5):.3f} ms",
        "queue": {"kind": "droptail", "packets": rng.choice([10, 30, 80])},
    }
    if rng.random() < 0.3:
        link["loss"] = f"{rng.uniform(0, 5):.3f} %"
    return link


def _session(rng: random.Random, names: list[str]) -> Document:
    shape = rng.choice(["one-level", "automatic", "given"])
    tree: dict[str, list[str]] = {"sender": []}
    fan_out = rng.choice([2, 3, 16])
    for name in names:
        parent = rng.choice([known for known, children in tree.items() if len(children) < fan_out])
        tree[parent].append(name)
        tree[name] = []
    session: Document = {
        "id": 1,
        "protocol": "mtcp",
        "sender": "sender",
        "group": "232.1.0.1",
        "port": 5001,
        "size": f"{rng.choice([1, 20_000, 200_000, 500_000])} B",
        "assist": rng.choice(["none", "switch"]),
        "slow_receivers": {"drop_after": f"{PATIENCE_S} s"},
        "parameters": {"silence_s": PATIENCE_S},
        "receivers": [_receiver(rng, name, shape, first=name == names[0]) for name in names],
    }
    if shape != "one-level":
        session["fan_out"] = fan_out
        session["tree"] = (
            "automatic" if shape == "automatic" else {parent: children for parent, children in tree.items() if children}
        )
    return session


def _receiver(rng: random.Random, name: str, shape: str, *, first: bool) -> Document:
    receiver: Document = {"host": name}
    if shape == "automatic" and rng.random() < 0.4:
        receiver["agent"] = True
    if first:
        return receiver
    if rng.random() < 0.15:
        receiver["join"] = f"{1.5 + rng.expovariate(1.0):.3f} s"
    if rng.random() < 0.15:
        receiver["leave"] = f"{rng.uniform(2, 8) + float(receiver.get('join', '0 s')[:-2]):.3f} s"
    if rng.random() < 0.15:
        receiver["read_rate"] = f"{10 ** rng.uniform(-1, 0.5):.3f} Mbps"
    return receiver


def _faults(rng: random.Random, switches: list[str], links: list[Document], session: Document) -> list[Document]:
    faults: list[Document] = []
    for receiver in session["receivers"][1:]:
        if rng.random() < 0.2:
            faults.append({"kind": "receiver-dies", "at": _when(rng), "session": 1, "host": receiver["host"]})
    if rng.random() < 0.4:
        outage = f"{rng.uniform(0, 1):.3f} s"
        faults.append({"kind": "switch-restart", "at": _when(rng), "switch": rng.choice(switches), "outage": outage})
    if rng.random() < 0.3:
        down = f"{rng.uniform(0.1, 2):.3f} s"
        faults.append({"kind": "link-down", "at": _when(rng), "link": rng.choice(links)["between"], "duration": down})
    if rng.random() < 0.2:
        faults.append({"kind": "controller-restart", "at": _when(rng), "outage": "500 ms"})
    return faults


def _when(rng: random.Random) -> str:
    return f"{rng.expovariate(0.5):.3f} s"


def check_session(document: Document, session: SessionResult) -> None:
    """Every survivor holds the file, or came too late for its beginning; and the sender has ended."""
    assert session.state in ("done", "failed"), session.state
    late = {receiver["host"] for receiver in document["sessions"][0]["receivers"] if "join" in receiver}
    for receiver in session.receivers:
        if receiver.expected and not receiver.complete:
            assert receiver.host in late, f"{receiver.host}: {receiver.detail}"
            assert _came_too_late(receiver), f"{receiver.host}: {receiver.detail}"


def _came_too_late(receiver: ReceiverResult) -> bool:
    """It found the session under way without a beginning, or over."""
    return receiver.detail.endswith(Reason.STARTED.text) or receiver.detail in ("still receiving", "had not joined yet")
