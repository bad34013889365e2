"""Two bridges and a shaped link between namespaces. Needs root."""

import subprocess

import pytest

from experiments.lan.network import CLIENT, SENDER, Lan
from experiments.lan.scenario import LanScenario
from tests.experiments.lan.test_scenario import DOCUMENT

pytestmark = pytest.mark.root


def test_hosts_on_both_sides_reach_each_other_over_a_link_with_a_rate() -> None:
    with Lan(LanScenario.model_validate(DOCUMENT)) as lan:

        def ask(place: str, *words: str) -> str:
            return subprocess.run(lan.command(place, *words), check=True, capture_output=True, text=True).stdout

        assert "rate 5Mbit" in ask("bridges", "tc", "qdisc", "show", "dev", "to-far")
        assert "tbf" not in ask("bridges", "tc", "qdisc", "show", "dev", "to-near")
        for name in (CLIENT, "r1", "r2"):
            assert f"inet {lan.addresses[name]}/24" in ask(name, "ip", "-4", "address")
        answer = "import socket; s = socket.create_server(('', 5)); print(s.accept()[0].recv(9))"
        server = subprocess.Popen(lan.command("r2", "python3", "-c", answer), stdout=subprocess.PIPE, text=True)
        speak = f"""
import socket, time
for _ in range(500):
    try:
        socket.create_connection(("{lan.addresses["r2"]}", 5), 9).send(b"over")
        break
    except OSError:
        time.sleep(0.02)
"""
        ask(SENDER, "python3", "-c", speak)
        assert server.communicate(timeout=9)[0].strip() == "b'over'"
