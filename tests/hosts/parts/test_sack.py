"""Received sets and scoreboards against plain Python sets."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.sack import ReceivedSet, Scoreboard, bits, trailing_ones


@given(st.sets(st.integers(0, 200)))
def test_bits_lists_what_is_set(numbers: set[int]) -> None:
    assert list(bits(sum(1 << number for number in numbers), 7)) == sorted(number + 7 for number in numbers)


@given(st.integers(0, 2**80))
def test_trailing_ones(bitmap: int) -> None:
    assert trailing_ones(bitmap) == len(bin(bitmap)[2:]) - len(bin(bitmap)[2:].rstrip("1"))


@given(st.lists(st.integers(0, 60), max_size=80), st.integers(0, 3))
def test_a_received_set_is_a_set(arrivals: list[int], start: int) -> None:
    received = ReceivedSet(start)
    model: set[int] = set(range(start))
    for seq in arrivals:
        assert received.add(seq) == (seq not in model)
        model.add(seq)
        first_missing = next(number for number in range(100) if number not in model)
        assert received.cumulative == first_missing
        assert received.end == max(max(model, default=-1) + 1, first_missing)
        assert set(bits(received.sack, first_missing + 1)) == {number for number in model if number > first_missing}
        assert received.has_gap == any(number > first_missing for number in model)
        assert all((number in received) == (number in model) for number in range(70))


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=30))
def test_a_run_arrives_as_its_numbers_or_not_at_all(runs: list[tuple[int, int]]) -> None:
    received, one_by_one = ReceivedSet(), ReceivedSet()
    for first, count in runs:
        numbers = range(first, first + count)
        is_new = not any(number in one_by_one for number in numbers)
        assert received.add_run(first, count) == is_new
        if is_new:
            assert all(one_by_one.add(number) for number in numbers)
        assert (received.cumulative, received.sack) == (one_by_one.cumulative, one_by_one.sack)


@given(st.integers(0, 30), st.integers(0, 2**20 - 1), st.integers(0, 40), st.integers(1, 9))
def test_what_is_new_is_nobodys(cumulative: int, sack: int, first: int, count: int) -> None:
    """So that `sent` would complete nothing."""
    board = Scoreboard(5)
    board.add_child(0)
    board.acknowledge(0, cumulative, sack, 20)
    board.advance()
    told = set(range(cumulative)) | set(bits(sack, cumulative + 1))
    if first < board.base:
        assert not board.is_new(first, count)
    else:
        assert board.is_new(first, count) == (not told & set(range(first, first + count)))


class Model:
    """A scoreboard as plain sets."""

    def __init__(self, children: int) -> None:
        self.has: dict[int, set[int]] = {child: set() for child in range(children)}
        self.complete: set[int] = set()

    def settle(self, end: int) -> set[int]:
        fresh = {seq for seq in range(end) if all(seq in has for has in self.has.values())} - self.complete
        self.complete |= fresh
        return fresh


@given(st.data())
def test_a_scoreboard_is_an_intersection(data: st.DataObject) -> None:
    children = data.draw(st.integers(1, 4))
    end = 40
    board = Scoreboard()
    for child in range(children):
        board.add_child(child)
    arrived = [ReceivedSet() for _ in range(children)]
    reports: list[tuple[int, int, int]] = []
    model = Model(children)
    for _ in range(data.draw(st.integers(0, 30))):
        child = data.draw(st.sampled_from(sorted(model.has)))
        stale: bool = data.draw(st.booleans())
        if reports and stale:
            child, cumulative, sack = data.draw(st.sampled_from(reports))  # an old report, out of order
            if child not in model.has:
                continue
        else:
            for seq in data.draw(st.lists(st.integers(0, end - 1), max_size=12)):
                arrived[child].add(seq)
            cumulative, sack = arrived[child].cumulative, arrived[child].sack
            reports.append((child, cumulative, sack))
        said = set(range(cumulative)) | set(bits(sack, cumulative + 1))
        base = board.base
        assert set(bits(board.news(child, cumulative, sack), base)) == said - model.has[child]
        model.has[child] |= said
        fresh = board.acknowledge(child, cumulative, sack, end)
        assert set(bits(fresh, base)) == model.settle(end)
        board.advance()
        _compare(board, model, end)
        if len(model.has) > 1 and data.draw(st.integers(0, 9)) == 0:
            del model.has[child]
            base = board.base
            assert set(bits(board.remove_child(child, end), base)) == model.settle(end)
            board.advance()
            _compare(board, model, end)


def _compare(board: Scoreboard, model: Model, end: int) -> None:
    assert board.base == next(seq for seq in range(end + 1) if seq not in model.complete)
    for child, has in model.has.items():
        highest = max(has, default=-1)
        missing = {seq for seq in range(highest) if seq not in has}
        assert set(bits(board.missing(child), board.base)) == missing
        assert set(bits(board.missing(child, end), board.base)) == set(range(end)) - has
        assert all(board.has(child, seq) == (seq in has) for seq in range(end))
        assert board.acknowledged(child) == next(seq for seq in range(end + 1) if seq not in has)


def test_without_children_everything_is_complete() -> None:
    board = Scoreboard()
    board.add_child(0)
    assert board.acknowledge(0, 0, 0, 5) == 0
    assert board.remove_child(0, 5) == 0b11111
    assert board.advance() == 5
    assert board.base == 5


@given(st.data())
def test_many_children_at_once_are_as_one_after_the_other(data: st.DataObject) -> None:
    """Over several shifts of the bitmaps, and with packets that were acknowledged before they were sent."""
    count = data.draw(st.integers(1, 6))
    together, apart = Scoreboard(), Scoreboard()
    for child in range(count):
        together.add_child(child)
        apart.add_child(child)
    end = 0
    for _ in range(data.draw(st.integers(1, 40))):
        end += data.draw(st.integers(0, 120))
        children = sorted(data.draw(st.sets(st.integers(0, count - 1))))
        cumulative = data.draw(st.integers(max(0, together.base - 5), max(end, together.base) + 2))
        sack = data.draw(st.integers(0, 255))
        base = apart.base
        fresh = together.acknowledge_all(children, cumulative, sack, end)
        singly = 0
        for child in children:
            singly |= apart.acknowledge(child, cumulative, sack, end)
        assert fresh == singly
        assert together.advance() == apart.advance() == apart.base - base
        for child in range(count):
            assert together.missing(child) == apart.missing(child)
            assert together.acknowledged(child) == apart.acknowledged(child)
        for seq in range(base, end + 3):
            assert together.lacking(seq) == apart.lacking(seq)
            assert together.is_complete(seq) == apart.is_complete(seq)


@given(st.lists(st.integers(0, 30), max_size=12))
def test_who_comes_late_lacks_all_from_its_first_packet_on(firsts: list[int]) -> None:
    board = Scoreboard(20)
    board.add_child(100)
    board.acknowledge(100, 25, 0, 25)
    board.advance()
    expected = {100: 25}
    for child, first in enumerate(firsts):
        board.add_child(child, first)
        expected[child] = first
        assert board.base == min(expected.values())
        assert {child: board.acknowledged(child) for child in expected} == expected
        assert board.lacking(board.base) == sum(first == board.base for first in expected.values())


def test_what_a_child_has_can_be_told_to_another_board() -> None:
    board = Scoreboard(10)
    board.add_child(3, 12)
    board.acknowledge(3, 14, 0b101, 20)
    assert board.said(3) == (14, 0b101)
    other = Scoreboard(14)
    other.add_child(3, 14)
    other.acknowledge(3, *board.said(3), 20)
    assert [seq for seq in range(10, 20) if not other.has(3, seq)] == [14, 16, 18, 19]
