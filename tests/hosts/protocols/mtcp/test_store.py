"""What an agent keeps, against a plain list."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.mtcp.store import PacketStore, StoredPacket


def put(store: PacketStore, seq: int, size: int = 10) -> None:
    """A packet of a stream of equal packets that starts at 0."""
    store.put(seq, StoredPacket(b"", seq * size, size))


def test_a_gap_is_filled_later() -> None:
    store = PacketStore(0, 0, 0)
    put(store, 0)
    put(store, 2)
    assert (store.end, store.end_offset, store.offset_of(1), store.offset_of(3)) == (3, 30, 10, 30)
    store.trim(3, 10)  # packet 1 has not come, and begins there
    assert (store.first, store.first_offset) == (1, 10)
    put(store, 1)
    assert store.first_offset == 10
    store.trim(3, 30)
    assert (store.first, store.first_offset, store.packets) == (3, 30, {})


@given(st.integers(0, 5), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 300)), max_size=40))
def test_against_a_list(history: int, steps: list[tuple[int, int, int]]) -> None:
    """Packets come in any order; `base` and `keep` only ever grow."""
    store = PacketStore(0, 0, history)
    arrived: set[int] = set()
    base = keep = 0
    for seq, more_base, more_keep in steps:
        if seq >= store.first and seq not in arrived:
            put(store, seq)
            arrived.add(seq)
        base, keep = max(base, min(more_base, store.end)), max(keep, more_keep)
        store.trim(base, keep)
        needed = {seq for seq in arrived if seq >= base or (seq + 1) * 10 > keep or seq >= store.end - history}
        assert needed <= set(store.packets)
        assert set(store.packets) <= arrived
        assert all(seq >= store.first for seq in store.packets)
        assert not [seq for seq in store.packets if seq < store.first]
        gone = arrived - set(store.packets)
        assert all(store.first > seq for seq in gone)
