import dataclasses
import math
import re
from typing import Any

import pytest

from hosts import protocols
from hosts.parts import bounds
from hosts.parts.bounds import LEAST_PERIOD_S, LEAST_TIME_S


@dataclasses.dataclass
class Options:
    wait_s: float = bounds.seconds(1.0)
    margin_s: float = bounds.seconds(0.0, or_zero=True)
    long_s: float = bounds.seconds(1.0, below=1e12)
    count: int = bounds.within(4, 1, 9)
    many: int = bounds.at_least(10, 2)
    rate: float = bounds.at_least(1.0, 0.5, below=10, unit="packets/s")
    gain: float = bounds.share(0.1)
    part: float = bounds.share(0.0, or_zero=True)
    factor: float = bounds.positive(2.0, below=100)
    limit: float = bounds.not_negative(0.0)
    rules: str = bounds.one_of("paper", "rfc")
    free: float = 0.0


@pytest.mark.parametrize("value", [1e-300, 0.9e-9, 1e6, math.inf, math.nan, 0.0, -1.0])
def test_a_time_out_of_bounds_is_named(value: float) -> None:
    with pytest.raises(ValueError, match="parameter 'wait_s' must be"):
        bounds.check(Options(wait_s=value))


def test_what_is_within_bounds_passes() -> None:
    bounds.check(Options())
    bounds.check(Options(LEAST_TIME_S, 0.0, 1e6, 1, 2, 0.5, 1.0, 1.0, 99, 1e11, "rfc", -1.0))


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("wait_s", (0.0, -1.0), "be positive"),
        ("wait_s", (1e-10, 1e6), "be at least 1e-09 s and less than 1e+06 s"),
        ("margin_s", (-1.0, math.nan), "not be negative"),
        ("margin_s", (1e-10,), "be 0 or at least 1e-09 s and less than 1e+06 s"),
        ("count", (0, 10), "be in 1..9"),
        ("many", (1,), "be at least 2"),
        ("rate", (0.4, 10, math.nan), "be at least 0.5 packets/s"),
        ("gain", (0, 1.1, math.nan), "be in (0, 1]"),
        ("part", (-0.1, 1.1), "be in [0, 1]"),
        ("factor", (0, 100, math.inf), "be positive"),
        ("limit", (-1, 1e12), "not be negative"),
        ("rules", ("", "none"), "be paper or rfc"),
    ],
)
def test_what_is_wrong_is_said(name: str, values: tuple[Any, ...], message: str) -> None:
    for value in values:
        with pytest.raises(ValueError, match=f"^parameter '{name}' must {re.escape(message)}$"):
            bounds.check(dataclasses.replace(Options(), **{name: value}))


@pytest.mark.parametrize(
    ("protocol", "option"),
    [
        ("mtcp", "probe_interval_s"),
        ("mtcp", "window_update_s"),
        ("mtcp", "announce_s"),
        ("rla", "heartbeat_s"),
        ("rla", "announce_s"),
        ("tfmcc", "longest_gap_s"),
        ("vlmcc", "initial_rtt_s"),
        ("vlmcc", "start_interval_s"),
        ("webrc", "epoch_s"),
    ],
)
def test_what_comes_again_by_itself_comes_a_thousand_times_a_second_at_most(protocol: str, option: str) -> None:
    one = protocols.get(protocol)
    one.parse_options({option: LEAST_PERIOD_S})
    with pytest.raises(ValueError, match=f"parameter '{option}' must be at least 0.001 s"):
        one.parse_options({option: 1e-300})


def test_a_wave_leaves_something_of_itself() -> None:
    for parameters in ({"p": 1e-300}, {"base_rate": 1e-300}):
        with pytest.raises(ValueError, match="must be at least"):
            protocols.get("webrc").parse_options(parameters)
