"""Beyond the VLMCC paper: followers that lose capacity at once, and what their sender hears of it (docs/assist.md).

The leader has a slow link of its own. All followers are behind another one, over which UDP begins to send. As the paper
has it each of them says so at once, every round trip in which it grows worse; with random waits
(hosts/protocols/vlmcc/spread.py) a few do; and with assistance nobody waits, but the switches, a tree of them with
sixteen ports each, let only worse challenges through than they have seen.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.rows.networks import access, bottleneck, crowd_network, document
from experiments.rows.rates import receiver_address
from experiments.rows.vlmcc.base import leaders, vlmcc

_COUNTS: Final = (10, 100, 1000)
_QUICK_COUNTS: Final = (10, 100)
_PAPER, _WAITING, _SWITCHES = "at once", "random waits", "switches"
_SERIES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    _PAPER: ("none", {"challenges_per_rtt": 0}),
    _WAITING: ("none", {}),
    _SWITCHES: ("switch", {}),
}
"""`assist`, and parameters."""
_LEADER_BPS: Final = 200e3
_FOLLOWERS_BPS: Final = 600e3
_TAKEN_BPS: Final = 500e3
_HOP_MS: Final = 10.0
_JOINED_S: Final = 5.0
"""They join one after another until then."""
_CONGESTED_S: Final = 17.0
"""By then they have asked for a START again, ten seconds after they joined. Were it meanwhile, a thousand small answers
would take the queue's places and little of its time, and no follower see N_extra packets of its own there."""
_SECONDS: Final = 22.0
_WINDOW_S: Final = 0.2
_HANDFUL: Final = 20.0
"""Challenges that a sender may well take at once (ours)."""


def crowd(count: int, assist: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario: so many followers, and the leader `lead`."""
    names, nodes, links = crowd_network(count)
    links += [
        access("s", "s0"),
        access("u", "s0"),
        access("s1", "v"),
        {**bottleneck("s0", "lead", _LEADER_BPS), "delay": f"{2 * _HOP_MS:g} ms"},
        {**bottleneck("s0", "s1", _FOLLOWERS_BPS), "delay": f"{_HOP_MS:g} ms"},
    ]
    joins = [{"host": name, "join": f"{_JOINED_S * (index + 1) / count:g} s"} for index, name in enumerate(names)]
    session = {**vlmcc(["lead", *joins], **parameters), "assist": assist}
    taken = {"kind": "udp", "source": "u", "destination": "v", "rate": f"{_TAKEN_BPS:g} bps", "packet": "1000 B"}
    return document(
        "vlmcc-assist",
        _SECONDS,
        nodes,
        links,
        session,
        [{**taken, "start": f"{_CONGESTED_S:g} s"}],
        simulation={"sample": "10 s", "trace": "50 ms"},
    )


def _label(count: int, series: str) -> str:
    return f"{count} {series}"


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(_label(count, series), crowd(count, assist, parameters), x=count, series=series)
        for series, (assist, parameters) in _SERIES.items()
        for count in (_QUICK_COUNTS if quick else _COUNTS)
    ]


def _measure(run: Finished) -> Mapping[str, float]:
    """Challenges that the sender heard from the congestion on, the most in any `_WINDOW_S`, and seconds until it has
    a leader among those that are congested."""
    heard = [(row["t"], row["challenges"]) for row in trace(run, 0, "sender") if "challenges" in row]
    before = max((count for at, count in heard if at <= _CONGESTED_S), default=0)
    after = [(at, count) for at, count in heard if at >= _CONGESTED_S]
    lead = receiver_address(run, "lead")
    led = [leader for at, leader in leaders(run) if at <= _CONGESTED_S]
    if not after or not led or led[-1] != lead:
        raise ValueError("`lead` did not lead before the congestion")
    successors = [at for at, leader in leaders(run) if at > _CONGESTED_S and leader not in (None, lead)]
    if not successors:
        raise ValueError("nobody took the lead")
    return {
        "challenges": after[-1][1] - before,
        "at once": max(count - min(other for at, other in after if at >= time - _WINDOW_S) for time, count in after),
        "reaction": successors[0] - _CONGESTED_S,
    }


ROWS: Final = (
    Row(
        "vlmcc-assist",
        "vlmcc",
        "sim",
        "10 to 1,000 followers that lose capacity at once: challenging at once, after random waits, and with switches",
        "not in the paper",
        f"waits and switches: at most {_HANDFUL:g} challenges in {_WINDOW_S:g} s; switches: no later than at once",
        {"at once": f"challenges in {_WINDOW_S:g} s", "reaction": "with switches / at once"},
        Experiment(
            _cases,
            _measure,
            Every(
                [
                    *(Only(EachBetween(0.0, _HANDFUL), "at once", series) for series in (_SWITCHES, _WAITING)),
                    *(
                        # a tenth, for it is measured in steps of 50 ms
                        Only(RatioBetween(_label(count, _SWITCHES), _label(count, _PAPER), 0.0, 1.1), "reaction")
                        for count in _QUICK_COUNTS
                    ),
                ]
            ),
            Figure(
                "followers",
                {"challenges": "challenges", "at once": f"challenges in {_WINDOW_S:g} s", "reaction": "reaction, s"},
                log_x=True,
                log_y=True,
            ),
        ),
    ),
)
