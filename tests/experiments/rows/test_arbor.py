"""The rows of Arbor."""

import pytest

from experiments.rows.arbor.rows import ROWS

SHARE, SEVERAL, CALL, MANY, REPAIRS, CROWD, HALVED, LAYERS = ROWS


def test_each_kind_of_tcp_is_beside_it_behind_each_queue() -> None:
    assert SHARE.experiment is not None
    cases = SHARE.experiment.cases(False)
    kinds = {(str(case.document["links"][0]["queue"]["kind"]), case.series) for case in cases}
    assert len(kinds) == len(cases) == 4 * 4


def test_sessions_have_a_sender_a_group_and_a_receiver_each() -> None:
    assert SEVERAL.experiment is not None
    cases = SEVERAL.experiment.cases(False)
    assert len(cases) == 2 * 4
    for case in cases:
        sessions = case.document["sessions"]
        assert str(len(sessions)) == case.series
        for key in ("id", "sender", "group"):
            assert len({one[key] for one in sessions}) == len(sessions)


def test_a_call_is_beside_either_behind_each_queue() -> None:
    assert CALL.experiment is not None
    cases = CALL.experiment.cases(False)
    assert len(cases) == 2 * 4
    for case in cases:
        kinds = [flow["kind"] for flow in case.document["traffic"]]
        sessions = case.document["sessions"]
        assert (kinds, len(sessions)) == ((["udp"], 1) if case.series == "arbor" else (["udp", "tcp"], 0))


@pytest.mark.parametrize("quick", [False, True])
def test_receivers_lose_on_links_of_their_own(*, quick: bool) -> None:
    assert MANY.experiment is not None
    for case in MANY.experiment.cases(quick):
        lossy = [link for link in case.document["links"] if "toward" in link]
        assert len(lossy) == case.x == len(case.document["sessions"][0]["receivers"])


def test_a_file_s_receivers_lose_on_links_of_their_own_and_a_quick_run_has_fewer() -> None:
    assert REPAIRS.experiment is not None
    full, quick = (REPAIRS.experiment.cases(short) for short in (False, True))
    assert [case.x for case in full] == [1, 10, 100, 1000]
    assert len(quick) == 3
    for case in quick:
        assert sum("toward" in link for link in case.document["links"]) == case.x
        assert "realtime" not in case.document["sessions"][0]


@pytest.mark.parametrize(("quick", "count"), [(True, 1000), (False, 10_000)])
def test_a_crowd_is_behind_routers_switches_and_both(*, quick: bool, count: int) -> None:
    assert CROWD.experiment is not None
    cases = CROWD.experiment.cases(quick)
    assert [case.series for case in cases] == ["file", "", "switches", "mixed"]
    for case in cases:
        nodes = case.document["nodes"].values()
        kinds = {(str(node["kind"]), node.get("assist", True)) for node in nodes if node["kind"] != "host"}
        helps = {"switches": {("p4", True)}, "mixed": {("p4", True), ("p4", False)}}
        assert kinds == helps.get(case.series, {("router", True)})
        assert len(case.document["sessions"][0]["receivers"]) == case.x
        assert case.x == {"one": 1, "some": 1000}.get(case.label.split()[0], count)
        assert ("assist" in case.document["sessions"][0]) == (case.series in helps)


def test_the_link_is_halved_behind_each_queue() -> None:
    assert HALVED.experiment is not None
    for case in HALVED.experiment.cases(False):
        (fault,) = case.document["faults"]
        assert fault["rate"] == "1e+07 bps"
        assert fault["link"] == case.document["links"][0]["between"]
        assert (case.document["nodes"]["left"]["kind"] == "p4") == (case.series == "switches")


def test_each_receiver_has_a_link_of_its_own_rate() -> None:
    assert LAYERS.experiment is not None
    for case in LAYERS.experiment.cases(True):
        rates = [str(link["rate"]) for link in case.document["links"] if str(link["between"][1]).startswith("r")]
        assert len(set(rates)) >= 6
        assert case.document["sessions"][0]["parameters"]["rungs"] > 1
