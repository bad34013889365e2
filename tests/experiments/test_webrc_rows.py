"""What WEBRC's rows are held against: the paper's own numbers for its equations."""

import pytest
import yaml

from experiments.rows.webrc_alone import FIG5, FIG8
from experiments.rows.webrc_base import POLITENESS, SYMBOL_BYTES, loss_event_rate, predicted
from experiments.rows.webrc_together import FIG10, FIG11
from hosts.throughput import packets_per_rtt
from hosts.webrc.options import WebrcOptions
from hosts.webrc.packets import payload_bytes
from topologies.run.plan import make_plan, network_description
from topologies.scenario import parse_scenario


def test_the_prediction_of_5_1_1() -> None:
    assert pytest.approx(0.869, abs=5e-4) == POLITENESS
    assert loss_event_rate(0.01) == pytest.approx(0.0089, abs=5e-5)
    assert packets_per_rtt(0.0089) / 0.2 == pytest.approx(60.1, abs=0.2)
    assert predicted(0.01, 0.2) == pytest.approx(428, rel=0.01)


def test_packets_have_the_paper_s_size() -> None:
    assert payload_bytes(WebrcOptions().packet_bytes, is_long=False) == SYMBOL_BYTES


def test_fig_5_leaves_out_what_is_too_slow_or_near_the_session_s_own_rate() -> None:
    labels = [case.label for case in FIG5.cases(False)]
    assert "1 %, 0.2 s" in labels
    assert "10 %, 0.8 s" not in labels  # below three base channel rates
    assert "0.01 %, 0.0125 s" not in labels  # 70 Mbit/s
    assert len(labels) >= 15


def test_fig_8_s_competitor_has_its_rates_on_the_link() -> None:
    traffic = FIG8.cases(False)[0].document["traffic"]
    assert [flow["rate"] for flow in traffic] == [f"{rate * 982 / 1024:.0f} bps" for rate in (500e3, 250e3)]


def test_fig_10_s_mrtts() -> None:
    together, apart = FIG10.cases(False)
    assert together.references["ARTT of A"] == pytest.approx(0.175)
    assert together.references["ARTT of A, alone"] == pytest.approx(0.25)
    assert len(apart.document["sessions"]) == 2


def test_fig_11_s_curve_starts_at_the_receiver_alone() -> None:
    cases = FIG11.cases(False)
    assert cases[0].references["throughput"] == pytest.approx(predicted(0.02, 0.2))
    assert cases[-1].references["throughput"] == pytest.approx(predicted(0.02, 0.2) * 20 / 1.19)


def test_groups_of_the_sessions_do_not_overlap() -> None:
    for case in FIG10.cases(False):
        scenario = parse_scenario(yaml.safe_dump(dict(case.document), sort_keys=False))
        sessions = network_description(scenario, make_plan(scenario)).sessions
        groups = [group for session in sessions for group in session.all_groups()]
        assert len(set(groups)) == len(groups)
