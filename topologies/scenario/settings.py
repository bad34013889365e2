"""Settings of a scenario from a command line: `links.core.loss=0.001,0.01` names a field, and values for it."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel

from topologies.scenario import Scenario, ScenarioError, parse_scenario
from topologies.scenario.load import parse_document
from topologies.scenario.names import did_you_mean
from topologies.scenario.network import Direction, Link

_OPEN: Mapping[str, Any] = {"toward": Direction(), "ports": None, "parameters": None}
"""Mappings that take keys which the scenario does not have yet, and what such a key has before it is set."""


class SettingError(ValueError):
    """A setting that cannot be made; the message says what could be."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A field, by its path, and its values."""

    path: str
    values: tuple[Any, ...]


def parse_setting(text: str) -> Setting:
    """`PATH=VALUE,...`; values are written as in a scenario's file. SettingError."""
    path, equals, values = text.partition("=")
    path = path.strip()
    if not path or not equals or not values.strip():
        raise SettingError(f"`{text}` is not PATH=VALUE,... (as in links.core.loss=0.001,0.01)")
    try:
        found = parse_document(f"values: [{values}]", "--set").data["values"]
    except ScenarioError:
        raise SettingError(f"`{values}` cannot be read as values of a scenario") from None
    return Setting(path, tuple(found))


def combinations(settings: Sequence[Setting]) -> Iterator[dict[str, Any]]:
    """Path -> value, for every combination; one empty combination without settings."""
    for values in itertools.product(*(setting.values for setting in settings)):
        yield dict(zip((setting.path for setting in settings), values, strict=True))


def apply(scenario: Scenario, document: dict[str, Any], path: str, value: Any) -> None:
    """Set a field of the scenario's `document` (its own JSON). SettingError names what exists when the path does not.

    Lists are gone into by an element's name, id, number from 0, or, for links, ends (`s1-s2`)."""
    parts = path.split(".")
    model: Any = scenario
    target: Any = document
    for depth, part in enumerate(parts):
        here = ".".join(parts[:depth])
        key = _key(model, target, part, here)
        is_new = isinstance(model, Mapping) and key not in model
        model = _OPEN[parts[depth - 1]] if is_new else _child(model, key)
        if depth == len(parts) - 1:
            target[key] = value
            return
        if isinstance(target, dict) and key not in target:
            if model is None:
                raise SettingError(f"{'.'.join(parts[: depth + 1])} is not set in the scenario; set it as a whole")
            target[key] = {}
        target = target[key]


def _key(model: Any, target: Any, part: str, here: str) -> str | int:
    """The key or index that a part of a path stands for."""
    if isinstance(model, BaseModel):
        known = list(type(model).model_fields)
        if part in known:
            return part
    elif isinstance(model, Mapping):
        known = [str(key) for key in model]
        if part in known or here.rpartition(".")[2] in _OPEN:
            return part
    elif isinstance(model, list):
        names = [_names(number, element) for number, element in enumerate(model)]
        for number, aliases in enumerate(names):
            if part in aliases:
                return number
        known = [aliases[0] for aliases in names]
    else:
        raise SettingError(f"{here} is a value; it has no `{part}`")
    what = f"{here} has" if here else "a scenario has"
    near = did_you_mean(part, known)
    raise SettingError(f"{what} no `{part}`{near or ''} (there {_exist(known)})")


def _exist(known: Sequence[str]) -> str:
    return f"is {', '.join(known)}" if known else "is nothing"


def _names(number: int, element: Any) -> list[str]:
    """What an element of a list is called, the best name first."""
    names = []
    if isinstance(element, Link):
        one, other = element.between
        names = [f"{one}-{other}", f"{other}-{one}"]
        if element.name is not None:
            names.insert(0, element.name)
    elif hasattr(element, "id"):
        return [str(element.id)]
    elif hasattr(element, "host"):
        names = [element.host]
    return [*names, str(number)]


def _child(model: Any, key: str | int) -> Any:
    return getattr(model, str(key)) if isinstance(model, BaseModel) else model[key]


def with_settings(scenario: Scenario, texts: Sequence[str]) -> Scenario:
    """The scenario with fields set, each `PATH=VALUE`. SettingError; ScenarioError says what the values make wrong."""
    document = scenario.model_dump(mode="json", exclude_none=True)
    for text in texts:
        setting = parse_setting(text)
        if len(setting.values) != 1:
            raise SettingError(f"`{text}`: one value; canopy sweep takes several")
        apply(scenario, document, setting.path, setting.values[0])
    return parse_scenario(yaml.safe_dump(document, sort_keys=False), "scenario with --set")
