from math import inf
from random import Random

from hosts.parts.fec.pieces import Piece
from hosts.protocols.arbor.lacking import ANSWERED_RTTS, LEAST_TURN_S, WORDS_PER_RTT, Lacking, turn_s


def repair(coming: int, block: int = 0) -> Piece:
    return Piece(block, 1000, False, 1, b"symbol", coming)


def test_the_only_receiver_says_at_once_what_it_lacks_and_again_when_no_answer_comes() -> None:
    lacking = Lacking(Random(1), 6.0)
    assert lacking.at == inf
    lacking.begin(1, 0.1, 5.0)
    assert lacking.at == 5.0
    assert lacking.due([(0, 3)], 1, 0.1, 5.0)
    assert lacking.at == 5.0 + ANSWERED_RTTS * 0.1
    lacking.begin(1, 0.1, 5.1)  # it waits already
    assert lacking.due([(0, 3)], 1, 0.1, lacking.at)
    assert not lacking.due([], 1, 0.1, 6.0)
    assert lacking.at == inf


def test_who_lacks_no_more_than_what_follows_is_silent_for_as_long_as_it_may_come() -> None:
    lacking = Lacking(Random(1), 6.0)
    lacking.begin(1, 0.1, 5.0)
    lacking.came(repair(4), 1, 0.1, 5.0)
    assert not lacking.due([(0, 4)], 1, 0.1, 5.0)
    assert lacking.due([(0, 4), (1, 1)], 1, 0.1, 5.01)
    assert lacking.due([(0, 5)], 1, 0.1, 5.02)
    assert lacking.due([(0, 4)], 1, 0.1, 5.0 + ANSWERED_RTTS * 0.1)


def test_source_symbols_of_a_block_that_is_under_way_promise_nothing() -> None:
    lacking = Lacking(Random(1), 6.0)
    lacking.came(repair(4, block=1), 1, 0.1, 5.0)
    assert lacking.due([(1, 4)], 1, 0.1, 5.0)


def test_of_a_thousand_a_few_speak_in_the_first_round_trip() -> None:
    def first(seed: int) -> float:
        lacking = Lacking(Random(seed), 6.0)
        lacking.begin(1000, 0.1, 0.0)
        return lacking.at

    times = [first(seed) for seed in range(1000)]
    assert 0 < sum(at <= 0.1 for at in times) < 20
    assert max(times) < 0.4


def test_all_together_say_no_more_than_so_many_words_a_round_trip() -> None:
    assert turn_s(2, 0.1) == LEAST_TURN_S
    assert 10_000 / turn_s(10_000, 0.1) * 0.1 == WORDS_PER_RTT
