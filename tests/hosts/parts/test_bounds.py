import dataclasses
import math

import pytest

from hosts import protocols
from hosts.parts.bounds import LEAST_PERIOD_S, LEAST_TIME_S, check_times


@dataclasses.dataclass
class Options:
    wait_s: float


@pytest.mark.parametrize("value", [1e-300, 0.9e-9, 1e6, math.inf, math.nan, 0.0, -1.0])
def test_a_time_out_of_bounds_is_named(value: float) -> None:
    with pytest.raises(ValueError, match="parameter 'wait_s' must be"):
        check_times(Options(value), ("wait_s",))


def test_what_is_within_bounds_passes() -> None:
    check_times(Options(LEAST_TIME_S), ("wait_s",))
    check_times(Options(0.0), ("wait_s",), or_zero=True)
    check_times(Options(1e6), ("wait_s",), below=1e12)


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
