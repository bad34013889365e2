from typing import Any

import pytest
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.harness.runs import scenario_text
from experiments.survey.distribution import Back, Change, Losses, Queue, QueueKind, Tcp, draw
from experiments.survey.references import candidates
from experiments.survey.scenario import describe, reference_document, session_document, window_s
from hosts import protocols
from tests.experiments.survey.cells import FAR, NEAR, small
from topologies.scenario import parse_scenario
from topologies.scenario.checks import check_ability

CELLS = 300


def trunk(document: dict[str, Any]) -> dict[str, Any]:
    return next(link for link in document["links"] if link.get("name") == "bottleneck")


def test_every_drawn_scenario_can_be_simulated() -> None:
    names = protocols.names()
    for number in range(CELLS):
        cell = draw(5, number)
        documents = [session_document(cell, names[number % len(names)])]
        documents.append(reference_document(cell, candidates(cell)[0]))
        for document in documents:
            scenario = parse_scenario(scenario_text(document))
            assert list(check_ability(scenario, "simulate")) == []
            assert not scenario.switches


def test_scenario_check_takes_a_file(tmp_path: Any) -> None:
    paths = []
    for number, protocol in enumerate(protocols.names()):
        paths.append(tmp_path / f"{protocol}.yaml")
        paths[-1].write_text(scenario_text(session_document(draw(1, number), protocol)))
    result = CliRunner().invoke(build(["scenario"]), ["scenario", "check", *map(str, paths)])
    assert result.exit_code == 0, result.output


def test_a_file_is_the_same_to_the_byte() -> None:
    for number in range(20):
        once, again = (scenario_text(session_document(draw(9, number), "mtcp")) for _ in range(2))
        assert once == again
        assert once != scenario_text(session_document(draw(10, number), "mtcp"))


def test_the_network_is_the_same_for_all_protocols() -> None:
    cell = draw(1, 3)
    documents = [session_document(cell, protocol) for protocol in protocols.names()]
    documents.append(reference_document(cell, candidates(cell)[0]))
    for name in ("nodes", "links", "seed", "duration", "simulation"):
        assert len({repr(document[name]) for document in documents}) == 1


def test_protocols_have_their_defaults_and_sessions_without_end() -> None:
    found = {protocol: session_document(small(), protocol)["sessions"][0] for protocol in protocols.names()}
    assert all("parameters" not in session for session in found.values())
    assert {protocol for protocol, session in found.items() if session.get("endless")} == {"mtcp", "rla"}
    assert found["tfmcc"]["realtime"]
    assert found["mtcp"]["tree"] == "automatic"
    with pytest.raises(ValueError, match="unknown protocol"):
        session_document(small(), "smtp")


def test_a_reference_is_one_cubic_tcp_in_the_sessions_place() -> None:
    cell = small(tcps=(Tcp("reno", 0.005, 1.0),), dying=(NEAR, 5.0))
    session, reference = session_document(cell, "mtcp"), reference_document(cell, FAR)
    assert "sessions" not in reference
    assert reference["traffic"][0] == {"kind": "tcp", "source": "s", "destination": FAR, "congestion_control": "cubic"}
    assert reference["traffic"][1:] == session["traffic"]
    assert session["faults"] == [{"kind": "receiver-dies", "at": "5 s", "session": 1, "host": NEAR}]
    assert reference["faults"] == []


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("droptail", {}),
        ("red", {"min_threshold": 8.25, "max_threshold": 24.75, "mean_packet": "1514 B", "ecn": True}),
        ("codel", {"ecn": True}),
        ("fq_codel", {"ecn": True}),
        ("pie", {"ecn": True}),
        ("dualpi2", {}),
    ],
)
def test_a_queues_limit_is_in_bandwidth_delay_products(kind: QueueKind, more: dict[str, Any]) -> None:
    # 2 Mbit/s for 100 ms are 16.5 frames.
    document = session_document(small(queue=Queue(kind, 2.0, True)), "mtcp")
    assert trunk(document)["queue"] == {"kind": kind, "packets": 33, **more}
    tiny = session_document(small(queue=Queue(kind, 0.01, True)), "mtcp")
    assert trunk(tiny)["queue"]["packets"] == 4


def test_losses_are_on_the_bottleneck_or_on_their_own_links() -> None:
    shared = session_document(small(losses=Losses("independent", 0.01, True, (0.0, 0.0), 2.0)), "mtcp")
    assert trunk(shared)["toward"] == {"g1": {"loss": 0.01}}
    own = session_document(small(losses=Losses("bursts", 0.01, False, (0.01, 0.0), 4.0)), "mtcp")
    assert "toward" not in trunk(own)
    links = {link["between"][1]: link for link in own["links"]}
    assert "toward" not in links[FAR]
    loss = links[NEAR]["toward"][NEAR]["loss"]
    bad = loss["good_to_bad"] / (loss["good_to_bad"] + loss["bad_to_good"])
    assert bad * loss["bad"] == pytest.approx(0.01, rel=1e-3)
    assert loss["bad_to_good"] == 0.25


def test_what_happens_is_in_the_scenario() -> None:
    rate = session_document(small(change=Change("rate", 5e5)), "mtcp")
    assert rate["faults"] == [{"kind": "link-rate", "at": "10 s", "link": ["g0", "g1"], "rate": "500 kbps"}]
    delay = reference_document(small(change=Change("delay", 0.04)), FAR)
    assert delay["faults"] == [{"kind": "link-delay", "at": "10 s", "link": ["g0", "g1"], "delay": "40 ms"}]
    members = session_document(small(late={NEAR: 4.0}, slow=(FAR, 5e5)), "mtcp")["sessions"][0]["receivers"]
    assert members == [{"host": NEAR, "join": "4 s"}, {"host": FAR, "read_rate": "500 kbps"}]
    udp = session_document(small(back=Back("udp", 0.5)), "mtcp")["traffic"][0]
    assert (udp["source"], udp["destination"], udp["rate"], udp["gaps"]) == ("y", "z", "1 Mbps", "exponential")
    slower = session_document(small(back=Back("udp", 0.5), change=Change("rate", 1e6)), "mtcp")["traffic"][0]
    assert slower["rate"] == "500 kbps", "the way back is not overloaded when it gets slower"
    assert session_document(small(back=Back("tcp", 0.5)), "mtcp")["traffic"][0]["kind"] == "tcp"


def test_rates_are_taken_over_round_trips() -> None:
    assert window_s(small()) == 0.4
    assert window_s(small(rtt_s=0.01)) == 0.2
    assert window_s(small(change=Change("delay", 0.06))) == 0.8


def test_a_cell_is_described() -> None:
    cell = small(
        losses=Losses("bursts", 0.01, True, (0.0, 0.0), 4.0),
        tcps=(Tcp("bbr", 0.0, 0.0),),
        back=Back("tcp", 0.5),
        change=Change("rate", 5e5),
        late={NEAR: 3.0},
        slow=(FAR, 5e5),
    )
    assert describe(cell) == (
        "2 Mbps, 100 ms; droptail of 2 BDP; 2 receivers; bursts loss of 1.00% on the bottleneck; beside bbr; "
        "way back full of TCP; rate becomes 500 kbps; 1 join late; one reads 500 kbps"
    )
    assert "one dies" in describe(small(dying=(NEAR, 3.0)))
    assert "way back 50% full" in describe(small(back=Back("udp", 0.5)))
