"""The example as a user runs it, with the simplest program; and a switch that cannot be had."""

import pytest

from topologies.mininet import CanopySwitch
from topologies.mininet.example import PROGRAMS, main

pytestmark = pytest.mark.emulation


def test_the_example_says_what_came(capsys: pytest.CaptureFixture[str]) -> None:
    main("basic")
    assert capsys.readouterr().out == "5 of 5 datagrams came, with a TTL of 62\n"


def test_missing_files_are_told_before_anything_starts() -> None:
    for wrong in ({"program": "none.json"}, {"program": PROGRAMS / "basic.json", "entries": "none.json"}):
        with pytest.raises(ValueError, match=r"s1: .*none\.json: no such file"):
            CanopySwitch("s1", **wrong)
