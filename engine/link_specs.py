"""The file behind `canopy switch --links`: each port's emulated links, as JSON.

    {"1": {"tx": {"rate_bps": 1e7, "delay_us": 5000, "loss": 0.01, "queue": "red", "limit_packets": 100}, "rx": {...}}}

`tx` is what leaves the switch at the port, `rx` what arrives; the keys are those of `canopy_engine.LinkSpec`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

NUMBER_KEYS = frozenset({"rate_bps", "delay_us", "loss", "red_min", "red_max", "red_weight", "red_max_p"})
INTEGER_KEYS = frozenset({"limit_packets", "limit_bytes", "red_mean_packet_bytes", "seed"})
BOOLEAN_KEYS = frozenset({"red_gentle", "red_wait", "red_ecn"})
QUEUES = ("droptail", "red")


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
    for key, value in spec.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if key in NUMBER_KEYS and is_number and value >= 0:
            continue
        if key in INTEGER_KEYS and is_number and value == int(value) and value >= 0:
            continue
        if (key == "queue" and value in QUEUES) or (key in BOOLEAN_KEYS and isinstance(value, bool)):
            continue
        if key == "gilbert_elliott" and _is_four_probabilities(value):
            continue
        known = key in NUMBER_KEYS | INTEGER_KEYS | BOOLEAN_KEYS | {"queue", "gilbert_elliott"}
        raise LinkSpecError(f"{place}: {f'`{key}` cannot be {value!r}' if known else f'there is no `{key}`'}")
    if not 0 <= spec.get("loss", 0) <= 1:
        raise LinkSpecError(f"{place}: `loss` is a probability, not {spec['loss']}")
    return cast("LinkSpec", {key: _converted(key, value) for key, value in spec.items()})


def _is_four_probabilities(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 4
        and all(isinstance(item, int | float) and not isinstance(item, bool) and 0 <= item <= 1 for item in value)
    )


def _converted(key: str, value: Any) -> Any:
    if key in INTEGER_KEYS:
        return int(value)
    return tuple(value) if key == "gilbert_elliott" else value
