"""A survey's networks with faults on top: links that reorder, duplicate and go down, receivers that die, leave and come
late. What a session comes to there says nothing of its rate, only that nobody is lost, stuck or given something wrong.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from experiments.survey.distribution import Cell, draw
from experiments.survey.scenario import SESSION, TRUNK, content, session_document
from hosts import protocols

Document = dict[str, Any]
FIRST_SEED: Final = 500
"""Of networks that no protocol was mended by (docs/survey.md)."""
MOST_RATE_BPS, MOST_RECEIVERS, MOST_RTT_S = 10e6, 6, 0.25
"""What a test can afford; cells beyond it are passed over, and receivers left out."""
LIMIT_S: Final = 400
QUIET_S: Final = 12.0
"""Faults are over by then."""
CAROUSEL_S: Final = 100
"""So long a sender goes on that hears nothing of its receivers."""
REALTIME_S, LAST_S = 45.0, 15.0
"""How long a session without an end goes on, and in how much of it, at its end, everybody must still get something."""


def cells(seed: int) -> Iterator[Cell]:
    """Those of a survey that a test can afford, without end."""
    number = 0
    while True:
        cell = draw(seed, number)
        number += 1
        rates = [cell.rate_bps] + ([cell.change.value] if cell.change and cell.change.kind == "rate" else [])
        if max(rates) <= MOST_RATE_BPS and cell.longest_rtt_s <= MOST_RTT_S and len(cell.tree.receivers) >= 2:
            yield _smaller(cell)


def _smaller(cell: Cell) -> Cell:
    """Without the receivers beyond `MOST_RECEIVERS`, and what is said of them."""
    kept = cell.tree.receivers[:MOST_RECEIVERS]
    names = {branch.name for branch in kept}
    return replace(
        cell,
        tree=replace(cell.tree, receivers=kept),
        losses=replace(cell.losses, own=cell.losses.own[: len(kept)]),
        late={},
        dying=None,
        slow=cell.slow if cell.slow is not None and cell.slow[0] in names else None,
    )


def chaos_document(cell: Cell, protocol: str) -> Document:
    """The cell's scenario with a session of the protocol, and faults; as YAML would have it."""
    rng = random.Random(f"chaos {cell.name}")
    document = session_document(cell, protocol)
    found = protocols.get(protocol)
    (session,) = document["sessions"]
    del session[content(found)]
    slowest = min([cell.rate_bps] + ([cell.change.value] if cell.change and cell.change.kind == "rate" else []))
    if found.carries_files:
        session["size"] = f"{round(slowest * rng.uniform(1, 4) / 8)} B"
    else:
        session["realtime"] = True
    session["receivers"] = [
        _receiver(rng, receiver, first=not place) for place, receiver in enumerate(session["receivers"])
    ]
    for link in document["links"]:
        if set(link["between"]) == set(TRUNK):
            late = f"{rng.uniform(0.1, 20):.3f} ms"
            link["reorder"] = {"probability": rng.uniform(0, 0.02), "delay": late}
            link["duplicate"] = rng.uniform(0, 0.02)
    document["faults"] = _faults(rng, document, session)
    if not found.knows_receivers:
        session["parameters"] = {"carousel_s": CAROUSEL_S}
    document["duration"] = f"{LIMIT_S} s" if "size" in session else f"{REALTIME_S} s"
    return document


def _receiver(rng: random.Random, receiver: str | Document, *, first: bool) -> Document:
    changed: Document = {"host": receiver} if isinstance(receiver, str) else dict(receiver)
    if not first and rng.random() < 0.2:
        changed["join"] = f"{rng.uniform(0, 3):.3f} s"
    if not first and rng.random() < 0.2:
        changed["leave"] = f"{rng.uniform(4, QUIET_S):.3f} s"
    return changed


def _faults(rng: random.Random, document: Document, session: Document) -> list[Document]:
    faults: list[Document] = []
    for receiver in session["receivers"][1:]:
        if "leave" not in receiver and rng.random() < 0.2:
            at = f"{rng.uniform(3.5, QUIET_S):.3f} s"
            faults.append({"kind": "receiver-dies", "at": at, "session": SESSION, "host": receiver["host"]})
    for _ in range(rng.choice([0, 1, 2])):
        down = f"{rng.uniform(0.1, 2):.3f} s"
        link = rng.choice(document["links"])["between"]
        faults.append(
            {"kind": "link-down", "at": f"{rng.uniform(0, QUIET_S - 2):.3f} s", "link": link, "duration": down}
        )
    return [*faults, *({**fault, "at": f"{rng.uniform(0, QUIET_S):.3f} s"} for fault in document["faults"])]
