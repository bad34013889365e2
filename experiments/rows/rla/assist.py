"""Beyond the RLA paper: acknowledgments that switches merge (docs/assist.md), on the tertiary tree of its Fig. 6."""

from collections.abc import Mapping, Sequence
from typing import Final

from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Document, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.rla.base import CASES, DROPTAIL, PAPER, RECEIVERS, rla_grown, tree
from experiments.rows.rla.tree import table

_SECONDS: Final = 600.0
_QUICK_SECONDS: Final = 16.0
_NAMES: Final = ("case 2", "case 3")
_WITH, _WITHOUT = "with assistance", "without"
_SOURCES_AT_A_SWITCH: Final = 14
"""A P4 switch has 16 ports, the paper's root needs more: TCP's sources have switches of their own before it."""
_SHARE: Final = 0.2
"""Of the acknowledgments without: all but holes and a sample a second each are merged."""
_SUMMARIES: Final = 1.1
"""For each packet that the sender multicasts: one of the tree, which is one port of its switch, and some that are told
again because the last one may be lost (ours)."""


def over_switches(document: Document, assist: str) -> Document:
    """The scenario with P4 switches in place of routers."""
    nodes = {name: {"kind": "p4"} if node["kind"] == "router" else node for name, node in document["nodes"].items()}
    links = []
    for link in document["links"]:
        one, other = link["between"]
        if one.startswith("t") and other == "root":
            access = f"a{int(one[1:]) // _SOURCES_AT_A_SWITCH}"
            if access not in nodes:
                nodes[access] = {"kind": "p4"}
                links.append({**link, "between": [access, "root"]})
            other = access
        links.append({**link, "between": [one, other]})
    sessions = [{**session, "assist": assist} for session in document["sessions"]]
    return {**document, "nodes": nodes, "links": links, "sessions": sessions}


def _label(name: str, series: str) -> str:
    return f"{name} {series}"


def _cases(quick: bool) -> Sequence[Case]:
    seconds = _QUICK_SECONDS if quick else _SECONDS
    return [
        Case(
            _label(name, series),
            over_switches(tree(CASES[name], DROPTAIL, name="rla-assist", seconds=seconds), assist),
            x=int(name.split()[1]),
            series=series,
        )
        for series, assist in ((_WITHOUT, "none"), (_WITH, "switch"))
        for name in _NAMES
    ]


def _measure(run: Finished) -> Mapping[str, float]:
    """The columns of Fig. 7; acknowledgments at the sender for each data packet; of those, the ones that report a hole;
    and summaries for each packet, repairs too, that the sender multicast."""
    data, repairs = rla_grown(run, "data_packets"), rla_grown(run, "repair_packets")
    return {
        **table(run),
        "acks": rla_grown(run, "feedback_packets") / data,
        "holes": rla_grown(run, "hole_reports") / data,
        "summaries": rla_grown(run, "summaries") / (data + repairs),
    }


def _beside(quantity: str, least: float, most: float) -> list[Only]:
    return [Only(RatioBetween(_label(name, _WITH), _label(name, _WITHOUT), least, most), quantity) for name in _NAMES]


ROWS: Final = (
    Row(
        "rla-assist",
        PAPER,
        "sim",
        f"four-level tertiary tree, {RECEIVERS} receivers, one TCP each, cases 2 and 3, with and without assistance",
        "not in the paper",
        f"at most {_SHARE:.0%} of the acknowledgments, {_SUMMARIES} summaries a packet; throughput within 15 %, "
        "signals and cuts within 25 %",
        {"summaries": "summaries a packet", **dict.fromkeys(("acks", "rla", "signals", "share"), "with / without")},
        Experiment(
            _cases,
            _measure,
            Every(
                [
                    *_beside("acks", 0.0, _SHARE),
                    Only(EachBetween(most=_SUMMARIES), "summaries", labels=[_label(name, _WITH) for name in _NAMES]),
                    *_beside("rla", 0.85, 1.15),
                    *_beside("signals", 0.75, 1.25),
                    *_beside("share", 0.75, 1.25),
                ]
            ),
            Figure(
                "case",
                {
                    "acks": "acknowledgments / data packet",
                    "holes": "of them reports of holes",
                    "summaries": "summaries / packet",
                    "rla": "RLA, packets/s",
                    "wtcp": "worst TCP, packets/s",
                },
            ),
        ),
    ),
)
