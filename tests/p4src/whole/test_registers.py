"""What docs/hardware.md says of the program's registers: how wide they are, and how often a packet needs them."""

import re
from typing import Final

import pytest

from tests.p4src.bench.program import FOLDER, program
from tests.p4src.bench.registers import Accesses, accesses_of, arrays_of, fits

PAGE: Final = (FOLDER.parent / "docs/hardware.md").read_text()


@pytest.fixture(scope="module")
def most() -> Accesses:
    return accesses_of(program())


def test_which_registers_a_chip_could_have(most: Accesses) -> None:
    fit = [
        name
        for name, (bits, _) in arrays_of(program()).items()
        if fits(bits, most[name, "register_read"], most[name, "register_write"])
    ]
    sentence = PAGE.partition("by any packet: ")[2].partition(".")[0]
    assert fit == re.findall(r"`(\w+)`", sentence)


def test_how_often_others_are_read(most: Accesses) -> None:
    reads = {name: times for (name, access), times in most.items() if access == "register_read" and times > 1}
    cells = [name for name, times in reads.items() if times == 17]
    assert (len(reads), len(cells)) == (9, 6), sorted(reads)
    assert "Nine are read more than once by some packet, six of them 17 times" in PAGE


def test_how_many_there_are() -> None:
    arrays = arrays_of(program()).values()
    mebibytes = sum(bits * size for bits, size in arrays) / 8 / 2**20
    assert f"has {len(arrays)} registers with {mebibytes:.1f} MiB" in PAGE
