import json
import re
from collections.abc import Mapping
from functools import cache

import pytest

from experiments.harness.row import SUFFIX, Row, with_assistance
from experiments.rows import PAPERS, ROWS, select
from experiments.rows.tcp_validation.equations import cubic_goodput, padhye_goodput
from experiments.rows.tcp_validation.queues import md1_wait, mm1k
from topologies.scenario.checks import Purpose, check_ability, check_scenario
from topologies.scenario.expand import may_be_short
from topologies.scenario.names import UnknownNameError
from topologies.scenario.scenario import Scenario

TARGETS = re.findall(
    r"\S+",
    """
mtcp-fig6 mtcp-fig7 mtcp-fig9 mtcp-fig10 mtcp-fig11 mtcp-fig12 mtcp-fig13 mtcp-fig14 mtcp-table1 mtcp-starts
mtcp-fig18 mtcp-fig19 mtcp-queue mtcp-feedback mtcp-scale
tfmcc-fig1 tfmcc-fig2 tfmcc-fig3 tfmcc-fig4 tfmcc-fig5 tfmcc-fig6 tfmcc-fig7 tfmcc-fig9 tfmcc-fig10 tfmcc-fig11
tfmcc-fig12 tfmcc-fig13 tfmcc-fig14 tfmcc-fig15 tfmcc-fig16 tfmcc-fig17 tfmcc-fig18 tfmcc-fig19 tfmcc-fig20 tfmcc-fig21
tfmcc-many tfmcc-assist-round tfmcc-assist
webrc-fig4 webrc-fig5 webrc-fig6 webrc-fig7 webrc-fig8 webrc-fig9 webrc-fig10 webrc-fig11 webrc-many
webrc-joins webrc-users
rla-fig4 rla-fig5 rla-fig7 rla-fig8 rla-fig9 rla-two rla-fig10 rla-drift rla-theorems rla-assist
vlmcc-fig4 vlmcc-fig6 vlmcc-fig8 vlmcc-loss vlmcc-sweep vlmcc-self vlmcc-queue vlmcc-assist
arbor-share arbor-several arbor-call arbor-many arbor-repairs arbor-crowd arbor-halved arbor-layers
compare-tcp compare-heterogeneous compare-loss compare-congestion compare-churn
compare-fq-20 compare-bdp-20 compare-fq-100 compare-bdp-100
tcp-kernel tcp-pairs tcp-loss tcp-window tcp-share tcp-padhye tcp-cubic queue-md1 queue-mm1k
lan
security
""",
)

PURPOSES: Mapping[str, Purpose] = {"sim": "simulate", "emu": "emulate"}


def test_every_row_is_listed() -> None:
    assert list(ROWS) == TARGETS
    assert PAPERS == ("mtcp", "tfmcc", "webrc", "rla", "vlmcc", "arbor", "compare", "tcp-validation", "lan", "security")


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_a_row_says_what_it_is_held_against_and_whether_it_is_built(row: Row) -> None:
    assert row.title
    assert row.value
    assert row.counts
    assert (row.experiment is None) == bool(row.missing)
    assert row.id.startswith(row.paper) or row.paper == "tcp-validation"


@cache
def mistakes(document: str, purpose: Purpose) -> list[str]:
    """Of a scenario, each of which is looked at once: quick runs are often of the same."""
    data = json.loads(document)
    assert not may_be_short(document, data), "then it is to go through YAML here as well"
    scenario = Scenario.model_validate(data)
    return [str(mistake) for mistake in (*check_scenario(scenario), *check_ability(scenario, purpose))]


@pytest.mark.parametrize("row", with_assistance(list(ROWS.values())), ids=lambda row: row.id)
def test_a_rows_scenarios_can_be_run(row: Row) -> None:
    """But for those of thousands of nodes, which differ from smaller ones in numbers only."""
    cases = [] if row.experiment is None else [*row.experiment.cases(True), *row.experiment.cases(False)]
    looked_at = [case for case in cases if case.world in PURPOSES and len(case.document["nodes"]) < 5000]
    found = {case.label: mistakes(json.dumps(case.document), PURPOSES[case.world]) for case in looked_at}
    assert {label: said for label, said in found.items() if said} == {}


def test_cases_of_a_row_have_names_of_their_own() -> None:
    for row in ROWS.values():
        if row.experiment is not None:
            for quick in (True, False):
                labels = [case.label for case in row.experiment.cases(quick)]
                assert len(set(labels)) == len(labels)


def test_a_paper_stands_for_its_rows_and_each_comes_once() -> None:
    papers = TARGETS[TARGETS.index("vlmcc-fig4") :][:4]
    assert [row.id for row in select(["vlmcc", "vlmcc-fig4"])] == [
        *papers,
        "vlmcc-sweep",
        "vlmcc-self",
        "vlmcc-queue",
        "vlmcc-assist",
    ]


@pytest.mark.parametrize(
    ("name", "near"),
    [("mtpc", "`mtcp`"), ("tfmcc-fig22", "`tfmcc-fig2"), ("tcp-pad", "`tcp-padhye`"), ("vlmcc-fig5", "`vlmcc-fig")],
)
def test_an_unknown_name_is_told_with_what_comes_near(name: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f"no paper or row is called `{name}`; did you mean .*{near}"):
        select(["mtcp", name])


def test_a_name_like_no_other_is_told_where_all_are() -> None:
    with pytest.raises(UnknownNameError, match=r"called `zzzz`; --list shows all$"):
        select(["zzzz"])


def test_a_row_with_assistance_has_a_name() -> None:
    (alone,) = select(["mtcp-fig7-assist"])
    assert alone.id == "mtcp-fig7-assist"
    assert [row.id for row in select(["mtcp-fig7-assist", "mtcp-fig7"])] == ["mtcp-fig7", "mtcp-fig7-assist"]
    both = with_assistance(select(["mtcp-fig7-assist", "mtcp-fig7"]))
    assert [row.id for row in both] == ["mtcp-fig7", "mtcp-fig7-assist"]
    assert all(not row.id.startswith("mtcp-") or not row.id.endswith(SUFFIX) for row in select(["mtcp"]))
    with pytest.raises(UnknownNameError, match="`tcp-share-assist`; did you mean"):
        select(["tcp-share-assist"])  # no switch can help there


def test_assistance_adds_each_row_that_it_can_help_behind_itself() -> None:
    rows = with_assistance([ROWS["mtcp-fig9"], ROWS["mtcp-feedback"], ROWS["tcp-share"]])
    assert [row.id for row in rows] == ["mtcp-fig9", f"mtcp-fig9{SUFFIX}", "mtcp-feedback", "tcp-share"]
    plain, helped = (row.experiment.cases(True)[0] for row in rows[:2] if row.experiment is not None)
    assert [node["kind"] for node in plain.document["nodes"].values()] == ["router", "host"] * 2
    assert [node["kind"] for node in helped.document["nodes"].values()] == ["p4", "host"] * 2
    assert [session.get("assist") for session in plain.document["sessions"]] == [None]
    assert [session["assist"] for session in helped.document["sessions"]] == ["switch"]
    assert plain.label == helped.label
    assert rows[1].counts != rows[0].counts


def test_no_network_has_more_switches_than_a_controller_looks_after() -> None:
    plain, helped = (row.experiment for row in with_assistance([ROWS["mtcp-scale"]]))
    assert plain is not None
    assert helped is not None
    assert [case.x for case in plain.cases(False)] == [10, 100, 1000]
    assert [case.x for case in helped.cases(False)] == [10, 100]


def test_padhye_at_known_points() -> None:
    # By hand: 8 * 1000 / (0.1 * (sqrt(0.02 / 3) + 12 * sqrt(0.03 / 8) * 0.01 * 1.0032))
    assert padhye_goodput(1000, 0.1, 0.01) == pytest.approx(898_658, rel=1e-5)
    assert padhye_goodput(1000, 0.1, 0.01) == pytest.approx(2 * padhye_goodput(1000, 0.2, 0.01))
    rates = [padhye_goodput(1000, 0.1, loss) for loss in (0.001, 0.01, 0.1)]
    assert rates == sorted(rates, reverse=True)


def test_cubics_response_function_at_known_points() -> None:
    # By hand: 1.054 * (0.1 / 1e-4)^(3/4) = 187.4 packets.
    assert cubic_goodput(1000, 0.1, 1e-4) == pytest.approx(1.15 * 187.4 * 8000 / 0.1, rel=1e-3)
    assert cubic_goodput(1000, 0.1, 1e-4) == pytest.approx(cubic_goodput(1000, 0.1, 1.6e-3) * 8)


def test_queueing_theory_at_known_points() -> None:
    assert md1_wait(0.5, 2.0) == pytest.approx(1.0)
    # One place beside the one in service, load 1/2: 4/7, 2/7, 1/7 for 0, 1, 2 in the system.
    loss, wait = mm1k(0.5, 1, 1.0)
    assert loss == pytest.approx(1 / 7)
    assert wait == pytest.approx((1 / 7) / (0.5 * 6 / 7))
    # With many places nothing is lost, and the wait is an M/M/1's.
    loss, wait = mm1k(0.5, 200, 1.0)
    assert loss < 1e-12
    assert wait == pytest.approx(1.0)
