import pytest

from tests.topologies.scenarios import TEXT
from topologies.scenario import ScenarioError, parse_scenario
from topologies.scenario.congestion import CLASSIC, MODERN, tcp_headers


def scenario(congestion_control: str, more: str = "") -> str:
    return TEXT.replace("congestion_control: cubic", f"congestion_control: {congestion_control}{more}")


@pytest.mark.parametrize("name", [*MODERN, *CLASSIC])
def test_each_is_a_congestion_control(name: str) -> None:
    assert parse_scenario(scenario(name)).traffic[0].congestion_control == name  # type: ignore[union-attr]


def test_a_full_modern_packet_has_1448_bytes_of_payload() -> None:
    assert (1514 - tcp_headers("cubic"), 1000 - tcp_headers("newreno")) == (1448, 946)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        (
            "cubic",
            "simulated: {limited_transmit: false}",
            "limited_transmit: only the papers' TCP has this field: reno-",
        ),
        ("sack", "simulated: {ecn: classic}", "ecn: the papers' `sack` knows nothing of marks"),
        ("vegas", "pacing: true", "pacing: the papers' `vegas` does not pace"),
        ("cubic", "simulated: {packet: 66 B}", "packet: a packet of TCP has 67 to 65549 bytes, not 66"),
        ("sack", "simulated: {packet: 54 B}", "packet: a packet of TCP has 55 to 65549 bytes, not 54"),
    ],
)
def test_what_does_not_go_with_one_is_said(name: str, more: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(scenario(name, ", " + more))
    assert message in str(caught.value)
