"""The schedule against the fluid model, followed over whole cycles with a plain account of every channel."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.protocols.webrc.schedule import Schedule
from hosts.protocols.webrc.waves import Waves

RATES = st.floats(4, 60)


@given(RATES, st.sampled_from([0.5, 0.75, 0.9]), st.sampled_from([3.0, 10.0]))
@settings(max_examples=15, deadline=None)
def test_every_channel_stays_within_one_packet_of_its_fluid(rate: float, p: float, slot_s: float) -> None:
    waves = Waves(rate, p=p, slot_s=slot_s, quiescence_s=30.0)
    schedule = Schedule(waves)
    ticks = waves.slot_packets
    x = [tick / ticks for tick in range(1, ticks + 1)]
    volumes = {age: np.array([waves.wave_volume(age, end) for end in x]) for age in range(waves.n)}
    base = np.array([waves.base_volume(end) for end in x])
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
