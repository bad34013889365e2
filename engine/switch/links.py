"""The file behind `canopy switch --links`: each port's emulated links, as JSON.

    {"1": {"tx": {"rate_bps": 1e7, "delay_us": 5000, "loss": 0.01, "queue": "red", "limit_packets": 100}, "rx": {...}}}

`tx` is what leaves the switch at the port, `rx` what arrives; the keys are those of `canopy_engine.LinkSpec`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

# What each key takes. The data plane has the last word, once it knows a link's keys together.
POSITIVE_NUMBERS = frozenset(
    {
        "rate_bps",
        "red_min",
        "red_max",
        "red_weight",
        "target_us",
        "interval_us",
        "update_us",
        "alpha",
        "coupling",
        "step_us",
    }
)
NUMBERS = frozenset({"delay_us", "beta", "max_burst_us", "ramp_us", "reorder_delay_us"})
PROBABILITIES = frozenset({"loss", "red_max_p", "reorder", "duplicate"})
POSITIVE_INTEGERS = frozenset({"limit_packets", "limit_bytes", "red_mean_packet_bytes", "flows", "quantum", "mtu"})
INTEGERS = frozenset({"overhead_bytes", "seed"})
FLAGS = frozenset({"red_gentle", "red_wait", "red_ecn", "ecn"})
QUEUES = ("droptail", "red", "codel", "fq_codel", "pie", "dualpi2")
# The probabilities of a two-state loss process.
GILBERT_ELLIOTT_LENGTH = 4


class LinkSpecError(ValueError):
    """The file cannot be used; the message names the file and the place in it."""


def load_links(path: Path) -> dict[int, dict[str, LinkSpec]]:
    """Port -> {"tx": spec, "rx": spec}, each of which may be absent. Raises LinkSpecError."""
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LinkSpecError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise LinkSpecError(f"{path}: not JSON: {error}") from None
    if not isinstance(root, dict):
        raise LinkSpecError(f"{path}: not an object of ports")
    return {_port(path, key): _directions(path, key, value) for key, value in root.items()}


def _port(path: Path, key: str) -> int:
    if not key.isdecimal():
        raise LinkSpecError(f"{path}: `{key}` is not a port number")
    return int(key)


def _directions(path: Path, port: str, value: Any) -> dict[str, LinkSpec]:
    if not isinstance(value, dict) or not value.keys() <= {"tx", "rx"}:
        raise LinkSpecError(f"{path}: port {port}: not an object with `tx` and `rx`")
    return {direction: _spec(f"{path}: port {port}: {direction}", spec) for direction, spec in value.items()}


def _spec(place: str, spec: Any) -> LinkSpec:
    if not isinstance(spec, dict):
        raise LinkSpecError(f"{place}: not an object")
    return cast("LinkSpec", {key: _value(place, key, value) for key, value in spec.items()})


def _value(place: str, key: str, value: Any) -> object:
    wrong = LinkSpecError(f"{place}: `{key}` cannot be {value!r}")
    if key == "queue":
        if value not in QUEUES:
            raise wrong
        return value
    if key in FLAGS:
        if not isinstance(value, bool):
            raise wrong
        return value
    if key == "gilbert_elliott":
        if not isinstance(value, list) or len(value) != GILBERT_ELLIOTT_LENGTH or not all(map(_is_probability, value)):
            raise wrong
        return tuple(value)
    if key not in POSITIVE_NUMBERS | NUMBERS | PROBABILITIES | POSITIVE_INTEGERS | INTEGERS:
        raise LinkSpecError(f"{place}: there is no `{key}`")
    if not _is_number(value) or value < 0:
        raise wrong
    if (key in POSITIVE_NUMBERS | POSITIVE_INTEGERS and value == 0) or (key in PROBABILITIES and value > 1):
        raise wrong
    if key in POSITIVE_INTEGERS | INTEGERS:
        if value != int(value):
            raise wrong
        return int(value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_probability(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1
