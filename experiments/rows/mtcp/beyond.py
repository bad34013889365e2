"""Beyond the MTCP paper: feedback that switches merge, and trees of a thousand receivers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.harness.measures import session_rate, trace
from experiments.harness.relations import EachBetween, Every, Only, Ordered, RatioBetween
from experiments.harness.row import Assisted, Case, Experiment, Figure, Judgement, Outcome, Row
from experiments.harness.runs import Finished
from experiments.rows.mtcp.base import PAPER, QUEUE, assisted
from experiments.rows.mtcp.scalability import multilevel, nodes_of_fig8

_RECEIVERS, _QUICK_RECEIVERS = (1, 3, 10, 30, 100), (1, 30)
_FEEDBACK_SECONDS = 40
_QUICK_FEEDBACK_SECONDS = 8
_MOST_WITH = 1.2
"""Feedback packets at the sender for each data packet."""
_WITH, _WITHOUT = "with assistance", "without"

_MANY, _QUICK_MANY = (10, 100, 1000), (10, 100)
_MOST_SWITCHES = 256
"""With more the row with switches takes hours."""
_WITH_A_SWITCH_EACH = tuple(count for count in _MANY if count < _MOST_SWITCHES)
"""The sender has one, too."""
_SCALE_SECONDS = 20
_QUICK_SCALE_SECONDS = 8
_START_UP_S = 5.0
_FLAT = 0.85
"""Of the throughput with the fewest receivers: a rate within 15 %."""


def _feedback_cases(quick: bool) -> Sequence[Case]:
    """One level over the physical tree of Fig. 8, both with P4 switches; the sender's processor is no limit here.

    The queues are the base setting's: with Fig. 9's, losses and their NACKs, which all pass, would be most of it."""
    seconds = _QUICK_FEEDBACK_SECONDS if quick else _FEEDBACK_SECONDS
    cases = []
    for series in (_WITHOUT, _WITH):
        for count in _QUICK_RECEIVERS if quick else _RECEIVERS:
            document = assisted(nodes_of_fig8(count, seconds, None, processing=None, queue=QUEUE))
            if series == _WITHOUT:
                document = {**document, "sessions": [{**one, "assist": "none"} for one in document["sessions"]]}
            cases.append(Case(f"{count} {series}", document, x=count, series=series))
    return cases


def _feedback_measure(run: Finished) -> Mapping[str, float]:
    packets = [row["data_packets"] for row in trace(run, 0, "sender") if row.get("data_packets")]
    if not packets:
        raise ValueError("the sender sent nothing")
    feedback = run.summary["sessions"][0]["feedback_packets"]
    return {"feedback": feedback / packets[-1], "throughput": session_rate(run) / 8e3}


def _scale_cases(quick: bool) -> Sequence[Case]:
    seconds = _QUICK_SCALE_SECONDS if quick else _SCALE_SECONDS
    counts = _QUICK_MANY if quick else _MANY
    return [Case(f"{count} receivers", nodes_of_fig8(count, seconds, multilevel(count)), x=count) for count in counts]


def _scale_measure(run: Finished) -> Mapping[str, float]:
    begin = run.summary["sessions"][0]["sending_from"] or 0.0
    return {"throughput": session_rate(run, since=begin + _START_UP_S) / 8e3}


@dataclass(frozen=True, slots=True)
class _Flat:
    """Every case has at least `_FLAT` of what the one with the fewest receivers has."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError without two cases."""
        fewest, *others = [one.case.label for one in sorted(outcomes, key=lambda one: one.case.x)]
        return Every([RatioBetween(label, fewest, _FLAT) for label in others]).judge(outcomes)


ROWS = (
    Row(
        "mtcp-feedback",
        PAPER,
        "sim",
        "one-level logical tree over the physical tree of Fig. 8, 1 to 100 receivers, with and without assistance",
        "not in the paper",
        f"with assistance below {_MOST_WITH:g} feedback packets a data packet, without growing with n",
        "feedback packets at the sender for each data packet",
        Experiment(
            _feedback_cases,
            _feedback_measure,
            Every(
                [
                    Only(EachBetween(most=_MOST_WITH), quantity="feedback", series=_WITH),
                    Only(Ordered(rises=True), quantity="feedback", series=_WITHOUT),
                ]
            ),
            Figure(
                "receivers",
                {"feedback": "feedback packets / data packet", "throughput": "throughput, KB/s"},
                log_x=True,
                log_y=True,
            ),
        ),
    ),
    Row(
        "mtcp-scale",
        PAPER,
        "sim",
        "multilevel tree of Fig. 9 with 10 to 1,000 receivers",
        "not in the paper",
        f"each at least {_FLAT:.0%} of 10 receivers' throughput",
        "of 10 receivers'",
        Experiment(
            _scale_cases,
            _scale_measure,
            _Flat(),
            Figure("receivers", {"throughput": "throughput, KB/s"}, log_x=True),
            assisted=Assisted(
                assisted,
                _Flat(),
                f"each at least {_FLAT:.0%} of 10 receivers' throughput; no more than {_MOST_SWITCHES} switches",
                can_help=lambda case: case.x in _WITH_A_SWITCH_EACH,
            ),
        ),
    ),
)
