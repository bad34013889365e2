"""What WEBRC's rows are held against: the paper's own numbers for its equations."""

import math

import pytest
import yaml

from experiments.rows.webrc.alone import FIG5, FIG8
from experiments.rows.webrc.base import PACKET_BYTES, POLITENESS, SYMBOL_BYTES, captioned, loss_event_rate, predicted
from experiments.rows.webrc.joins import JOINS
from experiments.rows.webrc.many import MANY
from experiments.rows.webrc.together import FIG10, FIG11
from hosts.parts.throughput import packets_per_rtt
from hosts.protocols.webrc.packets import payload_bytes
from topologies.plan import make_plan, network_description
from topologies.scenario import parse_scenario


def test_the_prediction_of_5_1_1() -> None:
    assert pytest.approx(0.869, abs=5e-4) == POLITENESS
    assert loss_event_rate(0.01) == pytest.approx(0.0089, abs=5e-5)
    assert packets_per_rtt(0.0089) / 0.2 == pytest.approx(60.1, abs=0.2)
    assert predicted(0.01, 0.2) == pytest.approx(428, rel=0.01)


def test_packets_have_the_paper_s_size() -> None:
    assert payload_bytes(PACKET_BYTES, is_long=False) == SYMBOL_BYTES


def test_fig_5_leaves_out_the_two_lowest_rates() -> None:
    labels = [case.label for case in FIG5.cases(False)]
    assert "1 %, 0.2 s" in labels
    assert not {"10 %, 0.8 s", "10 %, 0.4 s"} & set(labels)
    assert len(labels) == 26


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


def test_fig_11_s_receivers_come_at_times_of_their_own() -> None:
    """As 5.1.1 has it; they would be as one otherwise."""
    receivers = FIG11.cases(False)[-1].document["sessions"][0]["receivers"]
    joins = {receiver["join"] for receiver in receivers}
    assert len(joins) == len(receivers) == 20
    assert all(0 <= float(join.split()[0]) <= 10 for join in joins)


def test_many_receivers_are_limited_over_two_orders_of_magnitude() -> None:
    (case,) = MANY.cases(False)
    receivers = case.document["sessions"][0]["receivers"]
    tails = {link["between"][1]: link for link in case.document["links"] if link["between"][0] == "edge"}
    assert len(receivers) == len(tails) == 200
    rates = [float(link["rate"].split()[0]) for link in tails.values() if "rate" in link]
    assert (min(rates), max(rates), len(rates)) == (100e3, 10e6, 100)
    for host, link in tails.items():
        if "toward" in link:
            loss, rtt = link["toward"][host]["loss"], 2 * float(link["delay"].split()[0]) / 1e3
            assert loss <= 0.1
            assert 0.199e3 <= predicted(loss, rtt) <= 4.01e3


def test_joins_differ_in_who_answers_and_when_leaves_take_effect() -> None:
    documents = {case.label: case.document for case in JOINS.cases(False)}
    announced = {label: document["sessions"][0]["announced"] for label, document in documents.items()}
    assert [label for label, known in announced.items() if not known] == ["controller, 5 ms", "controller, 50 ms"]
    assert documents["leaves after 260 s"]["nodes"]["r1"]["leave_latency"] == "260 s"
    assert documents["switch"]["nodes"]["r1"]["leave_latency"] == "0 s"


def test_groups_of_the_sessions_do_not_overlap() -> None:
    for case in FIG10.cases(False):
        scenario = parse_scenario(yaml.safe_dump(dict(case.document), sort_keys=False))
        sessions = network_description(scenario, make_plan(scenario)).sessions
        groups = [group for session in sessions for group in session.all_groups()]
        assert len(set(groups)) == len(groups)


def test_the_caption_s_reference_is_the_paper_s_own_number() -> None:
    assert captioned(0.01, 0.2) == pytest.approx(403, rel=0.01)


def test_fig_5_s_session_rates_are_powers_of_two_that_leave_the_receiver_room() -> None:
    for case in FIG5.cases(False):
        mbps = case.document["sessions"][0]["parameters"]["session_rate_bps"] / 1e6
        assert mbps == 1 or 2 <= mbps * 1e3 / case.references["throughput"] < 4
        assert math.log2(mbps).is_integer()
