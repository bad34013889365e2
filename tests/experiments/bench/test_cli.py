import json

import pytest
from typer.testing import CliRunner

from experiments.bench import networks as bench_networks
from experiments.bench import receivers as bench_receivers
from experiments.bench.cli import app, packet_hops_per_second
from experiments.figures.bench import Figure

RUNNER = CliRunner()


def test_every_packet_of_a_chain_makes_all_of_its_hops() -> None:
    plain, switched = bench_networks.chains(1, 10), bench_networks.p4_chain(9)
    assert packet_hops_per_second(plain, 0.1) > 0
    assert packet_hops_per_second(switched, 0.1) > 0
    # 11,250 packets a second; those of the last 10 ms are still under way.
    assert plain.packet_hops == pytest.approx(10 * 11_250 * 0.095, rel=0.1)
    assert switched.packet_hops == pytest.approx(plain.packet_hops, rel=0.1)


def test_a_recorded_session_is_a_session_for_the_receiver_again() -> None:
    assert bench_receivers.deliveries_per_second("mtcp", 300_000) > 0


def test_receivers_take_memory() -> None:
    few, many = (bench_receivers.memory_of_receivers("mtcp", count) for count in (10, 600))
    assert many > few
    with pytest.raises(RuntimeError, match="memory of 1 receivers"):
        bench_receivers.memory_of_receivers("mtpc", 1)


def test_figures_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.bench.cli.measure", lambda repeat: [Figure("memory", 34.0, "MB", 100.0, True)])
    result = RUNNER.invoke(app, ["sim", "--json"])
    (figure,) = json.loads(result.stdout)["figures"]
    assert {"name", "value", "unit", "peer", "peer_value"} <= figure.keys()
    assert Figure("memory", 34.0, "MB", 100.0, True).is_met
    assert not Figure("speed", 34.0, "hops", 100.0).is_met
