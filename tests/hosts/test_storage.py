"""Room in memory: as a file has it that is written anywhere."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.storage import MemorySpace


@given(st.lists(st.tuples(st.integers(0, 20_000), st.binary(max_size=9_000))), st.integers(0, 30_000))
def test_what_was_written_is_read_with_zeros_between(writes: list[tuple[int, bytes]], at: int) -> None:
    space, model = MemorySpace(), bytearray()
    for begin, data in writes:
        space.write(begin, data)
        if data:
            model.extend(bytes(max(0, begin + len(data) - len(model))))
            model[begin : begin + len(data)] = data
    assert space.read(0, 40_000) == model
    assert space.read(at, 5_000) == model[at : at + 5_000]


def test_far_from_the_beginning_it_takes_what_is_written_and_no_more() -> None:
    space = MemorySpace()
    space.write(1 << 40, b"far")
    assert space.read(1 << 40, 9) == b"far"
    assert len(space._pages) == 1
