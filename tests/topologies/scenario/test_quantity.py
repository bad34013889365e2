from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from topologies.scenario.quantity import (
    Duration,
    Rate,
    Size,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_fraction,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("10 Mbps", 10e6),
        ("10Mbps", 10e6),
        ("1.5 Gbit/s", 1.5e9),
        ("64 kbps", 64e3),
        ("9600 bps", 9600.0),
        ("1e3 kbps", 1e6),
    ],
)
def test_rates_are_bits_per_second(text: str, bps: float) -> None:
    assert parse_rate(text) == pytest.approx(bps)


@pytest.mark.parametrize(("text", "seconds"), [("5 ms", 0.005), ("250us", 0.00025), ("2 min", 120.0), ("0 s", 0.0)])
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "octets"), [("64 kB", 64_000), ("1 KiB", 1024), ("1.009 kB", 1009), ("9000 B", 9000)])
def test_sizes_are_bytes(text: str, octets: int) -> None:
    assert parse_size(text) == octets


@pytest.mark.parametrize(("value", "fraction"), [("1 %", 0.01), ("0.5%", 0.005), (0.25, 0.25), (0, 0.0), (1, 1.0)])
def test_fractions_are_percentages_or_bare_numbers(value: object, fraction: float) -> None:
    assert parse_fraction(value) == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (10, "has no unit"),
        ("10", "has no unit"),
        ("10 mbps", "`mbps` is not a unit of a rate"),
        ("10 MBps", "`MBps` is not a unit of a rate"),
        ("-1 Mbps", "is not a rate"),
        ("fast", "is not a rate"),
        ("0 Mbps", "must be above zero"),
        ("1e999 bps", "must be finite"),
        (None, "must be a rate such as `10 Mbps`"),
        (True, "must be a rate"),
        (["10 Mbps"], "must be a rate"),
    ],
)
def test_what_is_not_a_rate_is_refused(value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_rate(value)


@pytest.mark.parametrize(("value", "reason"), [("0 B", "above zero"), ("1.5 B", "whole number"), ("1 b", "not a unit")])
def test_what_is_not_a_size_is_refused(value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_size(value)


@pytest.mark.parametrize("value", ["101 %", 1.5, -0.1, float("nan"), "0.5", 10**400])
def test_what_is_not_a_fraction_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1|has no unit"):
        parse_fraction(value)


@given(st.text())
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    for parse in (parse_rate, parse_duration, parse_size, parse_fraction):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert str(error)  # noqa: PT017


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_what_is_formatted_reads_back(value: float) -> None:
    assert parse_duration(format_duration(value)) == pytest.approx(value, rel=1e-3)
    assert parse_rate(format_rate(value)) == pytest.approx(value, rel=1e-3)


def test_sizes_are_formatted_with_decimal_prefixes() -> None:
    assert [format_size(value) for value in (12, 6_831_736, 1.5e9)] == ["12 B", "6.832 MB", "1.5 GB"]


def test_what_is_written_out_is_as_a_person_writes_it_and_the_same_value() -> None:
    def written(kind: Any, value: float) -> object:
        return TypeAdapter(kind).dump_python(value, mode="json")

    assert [written(Rate, bps) for bps in (1e7, 1234567.0)] == ["10 Mbps", "1234567.0 bps"]
    assert [written(Duration, seconds) for seconds in (0.005, 0.0, 1 / 3)] == ["5 ms", "0 s", "0.3333333333333333 s"]
    assert [written(Size, octets) for octets in (2_000_000, 1009, 1234567)] == ["2 MB", "1.009 kB", "1234567 B"]


def test_a_duration_is_nothing_or_what_virtual_time_can_tell_apart() -> None:
    assert parse_duration("0.001 us") == pytest.approx(1e-9)
    with pytest.raises(ValueError, match=r"must be 0 s or at least 0.001 us, not `1e-300 s`"):
        parse_duration("1e-300 s")
