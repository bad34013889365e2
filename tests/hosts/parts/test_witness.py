"""What switches say of members against what these say themselves."""

import pytest

from hosts.endpoint import Address
from hosts.parts.witness import Said, Witness

UNLIMITED = 2**32 - 1


def said(cumulative: int, sack: int = 0, min_cwnd: int = UNLIMITED, max_twnd: int = 0, end: int | None = None) -> Said:
    return Said(cumulative, sack, end, min_cwnd, max_twnd)


class World:
    """A witness and two members whose feedback is merged."""

    def __init__(self, **options: float) -> None:
        self.witness = Witness(**options)
        self.members = [Address(f"10.0.0.{number}", 5000) for number in (1, 2)]
        for one in self.members:
            self.witness.joined(one, 0, 0.0)

    def claim(self, at: float, cumulative: int, sack: int = 0, **more: int) -> bool:
        return self.witness.claimed(self.members, said(cumulative, sack, **more), at)

    def sample(self, at: float, who: int, cumulative: int, sack: int = 0, **more: int) -> bool:
        return self.witness.sampled(self.members[who], said(cumulative, sack, **more), at)


@pytest.mark.parametrize(
    ("claim", "sample", "expected"),
    [
        ((5, 0), (5, 0), False),
        ((5, 0), (9, 0), False),
        ((6, 0), (5, 0), True),
        ((5, 0b10), (5, 0b10), False),
        ((5, 0b10), (5, 0b01), True),
        ((5, 0b10), (6, 0b1), False),  # packet 7, in both
        ((5, 0b01), (6, 0), True),  # packet 6, which the other lacks
        ((5, 0b10), (8, 0), False),
    ],
)
def test_what_one_has_more_than_the_other(claim: tuple[int, int], sample: tuple[int, int], expected: bool) -> None:
    one, other = (Said(*both, None, UNLIMITED, 0) for both in (claim, sample))
    assert one.has_more_than(other) == expected


@pytest.mark.parametrize(
    ("claimed", "own"),
    [
        ({"cumulative": 50}, {"cumulative": 40}),
        ({"cumulative": 40, "sack": 0b11}, {"cumulative": 40, "sack": 0b10}),
        ({"cumulative": 40, "min_cwnd": 50_000}, {"cumulative": 40, "min_cwnd": 10_000}),
        ({"cumulative": 40, "end": 9_000}, {"cumulative": 41, "end": 8_000}),
    ],
)
def test_who_says_more_than_a_child_for_long_is_found(claimed: dict[str, int], own: dict[str, int]) -> None:
    world = World()
    for tenth in range(40):
        at = tenth / 10
        assert not world.claim(at, **claimed)
        if tenth % 10 == 0 and world.sample(at, 1, **own):
            break
    else:
        pytest.fail("it was not found")
    assert at <= 2.0
    assert world.witness.misquoted == [world.members[1]]


def test_what_overtakes_is_no_lie() -> None:
    world = World()
    for tenth in range(60):
        at = tenth / 10
        assert not world.claim(at, 10 * tenth)
        if tenth % 10 == 5:  # a sample that summaries of 0.3 s have overtaken
            assert not world.sample(at, 0, 10 * tenth - 30)
            assert not world.sample(at, 1, 10 * tenth - 30)
    assert world.witness.misquoted == []


def test_one_contradiction_is_none() -> None:
    world = World()
    for second in range(6):
        world.claim(second, 50)
        assert not world.sample(second + 0.9, 0, 40 if second % 2 else 60)


@pytest.mark.parametrize(
    "less", [{"cumulative": 30}, {"cumulative": 40, "min_cwnd": 100}, {"cumulative": 40, "max_twnd": 9}]
)
def test_who_says_less_than_all_for_long_is_found(less: dict[str, int]) -> None:
    world = World()
    found_at = None
    for tenth in range(40):
        at = tenth / 10
        if tenth % 10 == 0:
            assert not any(world.sample(at, who, 40) for who in (0, 1))
        if world.claim(at, **less):
            found_at = at
            break
    assert found_at is not None
    assert found_at <= 2.5
    assert set(world.witness.misquoted) == set(world.members)


def test_who_is_spoken_for_and_not_heard_is_misquoted() -> None:
    world = World(unheard_s=4.0)
    for tenth in range(60):
        at = tenth / 10
        if tenth % 10 == 0:
            world.sample(at, 0, 40)
        if world.claim(at, 40):
            break
    assert 4.0 < at < 4.2
    assert set(world.witness.misquoted) == set(world.members)


def test_packets_are_kept_until_each_child_has_said_that_it_has_them() -> None:
    world = World()
    witness = world.witness
    world.claim(0.0, 90)
    assert witness.kept == 0
    world.sample(0.1, 0, 50)
    world.sample(0.1, 1, 40)
    assert witness.kept == 40
    witness.expect(world.members)
    for one in world.members:
        witness.forget(one)
    assert witness.kept == 40, "until they have joined again"
    witness.returned(world.members[1])
    assert witness.kept == 50
    witness.returned(world.members[0])
    assert witness.kept is None


def test_who_speaks_of_what_was_never_sent_is_found_at_the_second_time() -> None:
    world = World()
    assert not world.witness.impossible(world.members, 1.0)
    assert not world.witness.impossible(world.members, 1.4)
    assert world.witness.impossible(world.members, 1.6)
    assert world.witness.misquoted == world.members
