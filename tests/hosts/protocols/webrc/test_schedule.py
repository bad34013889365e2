"""The schedule against the fluid model, followed over whole cycles with a plain account of every channel."""

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.protocols.webrc.schedule import Schedule
from hosts.protocols.webrc.waves import Waves

Fluids = Sequence[tuple[Sequence[float], float]]
RATES = st.floats(4, 60)


def base_volume(waves: Waves, x: float) -> float:
    """Packets of the base channel, from a slot's beginning to `x`."""
    return waves._decayed(waves._base, 0.0, x)


@given(RATES, st.sampled_from([0.5, 0.75, 0.9]), st.sampled_from([3.0, 10.0]))
@settings(max_examples=15, deadline=None)
def test_every_channel_stays_within_one_packet_of_its_fluid(rate: float, p: float, slot_s: float) -> None:
    waves = Waves(rate, p=p, slot_s=slot_s, quiescence_s=30.0)
    schedule = Schedule(waves)
    ticks = waves.slot_packets
    x = [tick / ticks for tick in range(1, ticks + 1)]
    volumes = {age: np.array([waves.wave_volume(age, end) for end in x]) for age in range(waves.n)}
    base = np.array([base_volume(waves, end) for end in x])
    sent: dict[int, int] = defaultdict(int)
    fluid: dict[int, float] = defaultdict(float)  # at the slot's beginning
    for slot in range(waves.n + 2):
        channels = np.array([schedule.packet(slot * ticks + tick).channel for tick in range(ticks)])
        flows = {waves.channel(slot, age): volumes[age] for age in range(waves.n)} | {waves.t: base}
        for channel, volume in flows.items():
            counts = sent[channel] + np.cumsum(channels == channel)
            sent[channel] = int(counts[-1])
            if slot >= waves.n - 1:  # every wave was followed from its first slot on
                assert np.abs(counts - fluid[channel] - volume).max() <= 1 + 1e-6
        for age in range(waves.n):
            fluid[waves.channel(slot, age)] += float(volumes[age][-1])
        fluid[waves.t] += float(base[-1])
        if slot < waves.n - 1:  # channels whose wave had begun before: not followed
            sent[waves.channel(slot, waves.n - 1)] = 0
            fluid[waves.channel(slot, waves.n - 1)] = 0.0


@given(RATES)
@settings(max_examples=5, deadline=None)
def test_a_packet_every_tick_and_numbers_that_count(rate: float) -> None:
    waves = Waves(rate, quiescence_s=20.0)
    schedule = Schedule(waves)
    last: dict[int, int] = {}
    ended: dict[int, int] = {}
    gap = waves.slot_s / waves.slot_packets
    for number in range((waves.t + 2) * waves.slot_packets):
        packet = schedule.packet(number)
        slot = number // waves.slot_packets
        assert packet.at == pytest.approx((number + 1) * gap)
        assert packet.slot_index == slot % waves.t
        channel = packet.channel
        if channel == waves.t:
            assert packet.psn == (last.get(channel, -1) + 1) % waves.base_psns
            if number % waves.slot_packets == 0:
                assert packet.psn % waves.base_packets == 0
        else:
            # i-N+1 .. i are channel i's active slots (RFC 3738, 3.1.2).
            assert (channel - slot) % waves.t < waves.n
            if last.get(channel) == waves.psns - 1:
                assert slot - ended[channel] > waves.q
                assert packet.psn == waves.psns - waves.wave_packets
            elif channel in last:
                assert packet.psn == last[channel] + 1
            if packet.psn == waves.psns - 1:
                assert slot % waves.t == channel
                ended[channel] = slot
        last[channel] = packet.psn
    assert len(ended) == waves.t


def test_the_last_packet_before_quiescence_is_number_65535() -> None:
    waves = Waves(390.625)
    schedule = Schedule(waves)
    ends = [schedule.packet(number) for number in range(waves.slot_packets, 2 * waves.slot_packets)]
    assert [packet.channel for packet in ends if packet.psn == 65535] == [1]


def ticks(slots: Fluids, volumes: Sequence[float], place: Callable[..., int]) -> Iterator[int]:
    """In which a channel's fluid reaches these volumes, from its first slot on."""
    slot = at = 0
    before = 0.0
    fluid, scale = slots[0]
    for volume in volumes:
        while volume - before > fluid[-1] * scale and slot + 1 < len(slots):
            before += fluid[-1] * scale
            slot, at = slot + 1, 0
            fluid, scale = slots[slot]
        at = place(fluid, (volume - before) / scale, at)
        yield slot * len(fluid) + at


def order(waves: Waves) -> list[tuple[int, int]]:
    """Age (-1: the base channel) and number of what each tick sends, the earliest deadline first: plainly."""
    ring, waved = waves.slot_packets, waves.wave_packets
    ends = [tick / ring for tick in range(1, ring + 1)]
    base = [base_volume(waves, end) for end in ends]
    fallen = [1.0 - waves.p**end for end in ends]
    lower = [(fallen, waves._scale(waves.base_rate * waves.p ** -(waves.n - age))) for age in range(2, waves.n)]
    wave: Fluids = [*(([waves.wave_volume(age, end) for end in ends], 1.0) for age in (0, 1)), *lower]
    releases: list[int] = []
    deadlines: list[int] = []
    for slots, packets in ((wave, waved), ([(base, 1.0)], waves.base_packets)):
        whole = packets / sum(fluid[-1] * scale for fluid, scale in slots)
        slack = 1e-9 * packets
        releases.extend(ticks(slots, [(number + slack) / whole for number in range(packets)], bisect_right))
        deadlines.extend(ticks(slots, [(number + 1 - slack) / whole for number in range(packets)], bisect_left))
    queue: list[tuple[int, int, int]] = []
    found: list[tuple[int, int]] = []
    for tick in range(4 * ring):
        for job in (job for job, release in enumerate(releases) if release % ring == tick % ring):
            heapq.heappush(queue, (tick + deadlines[job] - releases[job], job, tick))
        if queue:
            _, job, since = heapq.heappop(queue)
            age = (releases[job] + tick - since) // ring if job < waved else -1
            found.append((age, job if job < waved else job - waved))
    return found[-ring:]


@pytest.mark.parametrize(
    ("rate", "p", "slot_s"), [(4.0, 0.75, 3.0), (60.0, 0.5, 10.0), (333.3, 0.75, 2.0), (30.0, 0.9, 5.0)]
)
def test_the_earliest_deadline_goes_first(rate: float, p: float, slot_s: float) -> None:
    waves = Waves(rate, p=p, slot_s=slot_s, quiescence_s=30.0)
    slot = 2 * waves.t + 3
    expected = []
    for age, number in order(waves):
        if age < 0:
            expected.append((waves.t, 3, (slot * waves.base_packets + number) % waves.base_psns))
        else:
            expected.append((waves.channel(slot, age), 3, waves.psns - waves.wave_packets + number))
    assert Schedule(waves).places(slot * waves.slot_packets, waves.slot_packets) == expected
