"""reduced.p4: each packet reads and writes a register once at most, and each is a pair of words."""

from tests.p4src.bench.both import reduced
from tests.p4src.bench.registers import accesses_of, arrays_of, fits


def test_a_chip_could_have_each_register() -> None:
    most, arrays = accesses_of(reduced()), arrays_of(reduced())
    assert {name for name, _ in most} == set(arrays)
    for name, (bits, _) in arrays.items():
        assert fits(bits, most[name, "register_read"], most[name, "register_write"]), name
