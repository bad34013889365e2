from itertools import pairwise

from topologies.web.stream import Stream


def test_beyond_the_limit_every_second_row_goes_and_readers_are_told() -> None:
    stream = Stream(limit=20)
    for number in range(100):
        stream.add([number, 0])
    assert stream.generation > 0
    assert sum(map(len, stream.rows)) <= 20
    times = [row[0] for row in stream.rows]
    assert times[0] == 0
    assert times[-1] > 80
    assert len({later - earlier for earlier, later in pairwise(times)}) == 1


def test_a_list_counts_by_its_length() -> None:
    stream = Stream(limit=20)
    for number in range(4):
        stream.add([number, [0] * 9])
    assert len(stream.rows) < 4
