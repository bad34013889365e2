from pathlib import Path

import pytest

from hosts import protocols
from tests.topologies.simulation.runs import simulate

RATE_BPS = 5e6
NETWORK = """\
name: small
seed: 3
duration: 16 s
nodes:
  s1: {kind: router}
  sender: {kind: host}
  r1: {kind: host}
links:
  - {between: [sender, s1], rate: 20 Mbps}
  - {between: [s1, r1], rate: 5 Mbps, delay: 10 ms}
sessions:
"""
SIZES = ("500 B", "3 kB", "20 kB", "1 MB")
"""One packet, a few, less than a block of a code, several."""


def files(protocol: str) -> str:
    """A file of each size, one after the other; of a carousel, which does not end, the longest."""
    sizes = SIZES if protocols.get(protocol).knows_receivers else SIZES[-1:]
    return NETWORK + "".join(
        f"  - {{id: {number}, protocol: {protocol}, sender: sender, group: 232.1.{number}.1, port: {5000 + number},\n"
        f"     size: {size}, start: {3 * number} s, receivers: [r1]}}\n"
        for number, size in enumerate(sizes)
    )


@pytest.mark.parametrize(
    "protocol", [name for name in protocols.names() if protocols.get(name).carries_files], ids=str.upper
)
def test_no_file_comes_faster_than_the_link_brings_it(tmp_path: Path, protocol: str) -> None:
    """Whatever a protocol hands over only when much of it has come."""
    summary = simulate(tmp_path / "run", files(protocol)).summary
    assert all(session.receivers[0].complete for session in summary.sessions)
    rates = [session.receivers[0].goodput_bps for session in summary.sessions]
    assert all(rate is None or rate < RATE_BPS for rate in rates), rates
    assert rates[-1] is not None
    assert rates[-1] > RATE_BPS / 10
