"""Two bridges and a shaped link between namespaces. Needs root."""

import json
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


def test_a_group_that_nobody_has_joined_does_not_cross_the_link() -> None:
    """A session of WEBRC has a hundred groups, of which receivers join some."""
    talk = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("{}"))
for _ in range({}):
    s.sendto(bytes(1000), ("239.9.9.9", 7000))
    time.sleep(0.01)
"""
    listen = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("239.9.9.9", 7000))
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.9.9.9") + socket.inet_aton("{}"))
print("joined", flush=True)
s.settimeout(30)
print(len(s.recv(2000)), flush=True)
"""
    with Lan(LanScenario.model_validate(DOCUMENT)) as lan:

        def crossed() -> int:
            command = lan.command("bridges", "ip", "-s", "-j", "link", "show", "to-near")
            shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            return int(json.loads(shown)[0]["stats64"]["rx"]["bytes"])

        def say(times: int) -> None:
            command = lan.command(SENDER, "python3", "-c", talk.format(lan.addresses[SENDER], times))
            subprocess.run(command, check=True)

        before = crossed()
        say(50)
        assert crossed() - before < 10_000  # routers' questions and answers
        command = lan.command("r1", "python3", "-c", listen.format(lan.addresses["r1"]))
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as member:
            assert member.stdout is not None
            assert member.stdout.readline() == "joined\n"
            say(100)
            assert member.stdout.readline() == "1000\n"
