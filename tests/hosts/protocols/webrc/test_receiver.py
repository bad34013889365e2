"""The receiver's channels: which it joins and leaves when, and what it makes of strange packets."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, Datagram, JoinGroup, LeaveGroup, SessionEnded
from hosts.parts.groups import channel_group, session_groups
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import Alc, encode
from hosts.protocols.webrc.receiver import WebrcReceiver
from tests.hosts.protocols.webrc.memory import FAST, GROUP, SENDER, session

OPTIONS = WebrcOptions(**FAST)
WAVES = OPTIONS.waves()
T = WAVES.t


class Hand:
    """A receiver fed by hand."""

    def __init__(self, **fields: object) -> None:
        self.endpoint = WebrcReceiver(session(realtime=True, deliver=False, **fields), OPTIONS, Random(1))
        self.now = 0.0
        self.effects = list(self.endpoint.start(now=0.0))
        self.psns: dict[int, int] = {}

    def packet(self, channel: int, slot: int, psn: int | None = None, **fields: object) -> list[object]:
        if psn is None:
            psn = self.psns.get(channel, -1) + 1
        self.psns[channel] = psn
        data = encode(Alc(7, slot, channel, psn, symbol=bytes(8), **fields))  # type: ignore[arg-type]
        return self.bytes(data, channel_group(GROUP, channel, T))

    def bytes(self, data: bytes, group: Address, source: Address = SENDER) -> list[object]:
        found = list(self.endpoint.receive(Datagram(data, source, group), now=self.now))
        self.effects += found
        return list(found)

    def epoch(self, seconds: float = 0.1) -> list[object]:
        self.now += seconds
        found = list(self.endpoint.handle_timer(now=self.now))
        self.effects += found
        return list(found)

    def first_wave(self, slot: int) -> int:
        """Base packets until a wave is joined."""
        for _ in range(50):
            self.packet(T, slot)
            for effect in self.epoch():
                if isinstance(effect, JoinGroup):
                    return self.endpoint.channels.waves[-1]
        pytest.fail("no wave was joined")


def test_groups_follow_the_session_s_own() -> None:
    assert channel_group(GROUP, T, T) == GROUP
    assert channel_group(GROUP, 0, T).host == "232.6.0.1"
    assert channel_group(GROUP, 255, 300).host == "232.6.1.0"
    assert len(set(session_groups(GROUP, T))) == T + 1
    with pytest.raises(ValueError, match="room"):
        channel_group(Address("239.255.255.250", 1), 6, 47)


def test_only_the_base_channel_before_anything_was_heard() -> None:
    hand = Hand()
    assert hand.effects == [JoinGroup(GROUP, SENDER.host)]
    for _ in range(20):
        hand.epoch()
    assert len(hand.effects) == 1


def test_waves_are_joined_from_the_one_that_ends_next() -> None:
    hand = Hand()
    assert hand.first_wave(slot=3) == 3
    hand.packet(3, 3, psn=100)
    while len(hand.endpoint.channels.waves) < 3:
        for channel in (T, *hand.endpoint.channels.waves):
            for _ in range(2):
                hand.packet(channel, 3)
        hand.epoch()
    assert hand.endpoint.channels.waves == [3, 4, 5]


def test_a_wave_is_left_when_its_slot_is_over() -> None:
    hand = Hand()
    hand.first_wave(slot=3)
    hand.packet(3, 3, psn=65_530)
    effects = hand.packet(T, 4)
    assert [type(effect) for effect in effects] == [LeaveGroup]
    assert effects == [(channel_group(GROUP, 3, T), SENDER.host)]
    assert hand.endpoint.channels.waves == []
    for _ in range(4):
        hand.packet(T, 4)
    assert hand.endpoint.lost_packets == 5  # 65531 to 65535


def test_an_old_packet_does_not_turn_the_slots_back() -> None:
    hand = Hand()
    hand.first_wave(slot=5)
    hand.packet(5, 5)
    assert hand.packet(T, 4, psn=0) == []
    assert hand.endpoint.slot_index == 5
    assert hand.endpoint.channels.waves == [5]


def test_several_slots_may_pass_at_once() -> None:
    hand = Hand()
    hand.first_wave(slot=5)
    hand.packet(T, 8)
    assert hand.endpoint.slot_index == 8
    assert hand.endpoint.channels.waves == []
    assert hand.endpoint.control.rates.waves_joined == 0


def test_a_failed_join_is_left_and_tried_again() -> None:
    hand = Hand()
    channel = hand.first_wave(slot=3)
    group = channel_group(GROUP, channel, T)
    tries = 0
    for _ in range(150):
        hand.packet(T, 3)
        tries += sum(isinstance(effect, LeaveGroup) for effect in hand.epoch(0.1))
    assert hand.endpoint.counters["failed_joins"] == tries
    joins = [effect.group for effect in hand.effects if isinstance(effect, JoinGroup)]
    assert joins[1:] == [group] * (len(joins) - 1)
    assert len(joins) - 1 >= tries >= 2


def test_exceptional_silence_ends_the_session() -> None:
    hand = Hand()
    hand.packet(T, 3)
    assert not any(isinstance(effect, SessionEnded) for effect in hand.epoch(9.9))
    assert hand.epoch(0.3)[-1] == SessionEnded(False, "the sender was silent for 10 s")


def test_a_slot_that_does_not_end_ends_the_session() -> None:
    hand = Hand()
    ended: list[object] = []
    while not ended and hand.now < 30:
        hand.packet(T, 3)
        ended = [effect for effect in hand.epoch(0.2) if isinstance(effect, SessionEnded)]
    assert hand.now == pytest.approx(20.2, abs=0.3)


def test_what_is_joined_is_left_at_the_end() -> None:
    hand = Hand()
    hand.first_wave(slot=3)
    hand.effects += hand.endpoint.close(now=hand.now, reason="enough")
    joined = [effect.group for effect in hand.effects if isinstance(effect, JoinGroup)]
    left = [effect.group for effect in hand.effects if isinstance(effect, LeaveGroup)]
    assert sorted(joined) == sorted(left)
    assert hand.effects[-1] == SessionEnded(False, "enough")
    assert hand.packet(T, 3) == []
    assert hand.endpoint.wake_at is None


def test_strangers_change_nothing() -> None:
    hand = Hand()
    hand.packet(T, 3)
    data = encode(Alc(7, 9, T, 3, symbol=b"x"))
    base = channel_group(GROUP, T, T)
    assert hand.bytes(data, base, source=Address("10.0.0.9", 40000)) == []
    assert hand.bytes(data, base, source=Address(SENDER.host, 40001)) == []
    assert hand.bytes(encode(Alc(8, 9, T, 3, symbol=b"x")), base) == []
    assert hand.bytes(data, channel_group(GROUP, 2, T)) == []
    assert hand.bytes(encode(Alc(7, 9, 4, 3, symbol=b"x")), channel_group(GROUP, 4, T)) == []
    assert hand.bytes(b"", base) == []
    counters = hand.endpoint.counters
    assert (counters["drop_stranger"], counters["drop_other_session"], counters["drop_wrong_channel"]) == (2, 1, 1)
    assert (counters["drop_not_joined"], counters["drop_short"]) == (1, 1)
    assert hand.endpoint.slot_index == 3


HOSTILE = st.lists(
    st.tuples(
        st.integers(0, 255),  # slot
        st.sampled_from([T, 0, 1, 2, T - 1, T + 1, 255]),
        st.integers(0, 65535),
        st.floats(0, 3),
        st.booleans(),
    ),
    max_size=60,
)


@given(HOSTILE)
def test_a_sender_out_of_its_mind_breaks_nothing(steps: list[tuple[int, int, int, float, bool]]) -> None:
    hand = Hand()
    for slot, channel, psn, seconds, wakes in steps:
        if wakes:
            hand.epoch(seconds)
        hand.packet(channel, slot, psn=psn) if channel <= T else hand.bytes(
            encode(Alc(7, slot, channel, psn)), channel_group(GROUP, T, T)
        )
        joined = sum(isinstance(effect, JoinGroup) for effect in hand.effects)
        left = sum(isinstance(effect, LeaveGroup) for effect in hand.effects)
        assert joined - left == (0 if hand.endpoint.closed else 1 + len(hand.endpoint.channels.waves))
        assert hand.endpoint.control.rates.waves_joined == len(hand.endpoint.channels.waves) or hand.endpoint.closed
