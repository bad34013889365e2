"""Which packets are lost, against a plain account of what was sent."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.webrc.losses import REORDERING, Losses

BASE = 9
PSNS = 1 << 16
BASE_PSNS = 90


def run(losses: Losses, arrivals: list[tuple[int, int]]) -> tuple[int, int]:
    """(New packets, lost packets)."""
    results = [losses.packet(*arrival) for arrival in arrivals]
    return sum(is_new for is_new, _ in results), sum(lost for _, lost in results)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.sets(st.integers(0, 199)), st.integers(0, 99))
def test_every_gap_is_found_after_three_more_packets(channels: list[int], gone: set[int], seed: int) -> None:
    first = {channel: PSNS - 1000 - Random(seed).randrange(100) for channel in range(4)}
    sent = []
    for channel in channels:
        sent.append((channel, first[channel]))
        first[channel] += 1
    arrivals = [packet for number, packet in enumerate(sent) if number not in gone]
    seen: dict[int, list[int]] = {}
    for channel, psn in arrivals:
        seen.setdefault(channel, []).append(psn)
    missing = sum(max(psns) - min(psns) + 1 - len(psns) for psns in seen.values())
    losses = Losses(PSNS, BASE, BASE_PSNS)
    new, lost = run(losses, arrivals)
    assert new == len(arrivals)
    assert lost <= missing
    settled = run(losses, [(BASE, psn) for psn in range(REORDERING + 1)])
    assert lost + settled[1] == missing


@given(st.integers(0, 1000), st.integers(20, 100))
def test_packets_out_of_order_by_three_are_not_lost(seed: int, count: int) -> None:
    rng = Random(seed)
    sent = [(rng.randrange(3), 0) for _ in range(count)]
    counts = [100, 100, 100]
    numbered = []
    for channel, _ in sent:
        numbered.append((channel, counts[channel]))
        counts[channel] += 1
    head = [(channel, 99) for channel in range(3)]
    delayed = sorted(range(count), key=lambda number: number + rng.randrange(3) * 0.99)
    losses = Losses(PSNS, BASE, BASE_PSNS)
    assert run(losses, head + [numbered[number] for number in delayed]) == (count + 3, 0)


def test_a_repeated_packet_is_not_new() -> None:
    losses = Losses(PSNS, BASE, BASE_PSNS)
    assert run(losses, [(0, 5), (0, 5), (0, 6), (0, 5)]) == (2, 0)


def test_the_base_channel_s_numbers_wrap() -> None:
    losses = Losses(PSNS, BASE, BASE_PSNS)
    assert run(losses, [(BASE, psn) for psn in (88, 89, 0, 1, 3, 4, 5, 6)]) == (8, 1)


def test_what_is_missing_at_a_wave_s_end_is_lost() -> None:
    losses = Losses(PSNS, BASE, BASE_PSNS)
    run(losses, [(0, PSNS - 5)])
    assert losses.leave(0) == 0
    assert run(losses, [(0, PSNS - 1), (BASE, 0), (BASE, 1), (BASE, 2)]) == (4, 3)
    assert losses.leave(1) == 0  # nothing of it had come


def test_a_gap_that_no_network_makes_is_not_remembered_packet_by_packet() -> None:
    losses = Losses(1 << 32, BASE, BASE_PSNS)
    run(losses, [(0, 0)])
    _, lost = losses.packet(0, 1 << 31)
    assert lost > 2_000_000_000


def test_lost_packets_were_due_evenly_between_those_around_the_gap() -> None:
    losses = Losses(PSNS, BASE, BASE_PSNS)
    losses.packet(0, 100, 1.0)
    losses.packet(0, 103, 4.0)
    assert losses.due_at == []
    for psn in range(REORDERING):
        _, lost = losses.packet(1, psn, 4.5)
    assert lost == 2
    assert sorted(losses.due_at) == [2.0, 3.0]
    losses.packet(1, REORDERING, 4.6)
    assert losses.due_at == []
