"""The format's JSON schema, for editors: what a file may say, ranges and generated networks included."""

from typing import Any

from topologies.scenario.expand import GeneratedNetwork
from topologies.scenario.network import NODE_NAME
from topologies.scenario.scenario import Scenario

_RANGE = r"\[[0-9, -]+\][a-z0-9_]*"


def json_schema() -> dict[str, Any]:
    """Of a scenario's file."""
    schema: dict[str, Any] = _with_ranges(Scenario.model_json_schema(by_alias=True))
    generated: dict[str, Any] = GeneratedNetwork.model_json_schema(by_alias=True)
    schema["$defs"] |= generated.pop("$defs")
    schema["$defs"]["GeneratedNetwork"] = generated
    schema["properties"]["network"] = {"$ref": "#/$defs/GeneratedNetwork"}
    schema["required"] = [name for name in schema["required"] if name not in ("nodes", "links")]
    receivers = schema["$defs"]["Session"]["properties"]["receivers"]
    schema["$defs"]["Session"]["properties"]["receivers"] = {"anyOf": [receivers, _RANGE_NAME]}
    return schema


_RANGE_NAME = {"type": "string", "pattern": NODE_NAME.removesuffix("$") + f"({_RANGE})?$"}


def _with_ranges(part: Any) -> Any:
    """The schema with ranges wherever a node's name may be."""
    if isinstance(part, dict):
        if part.get("pattern") == NODE_NAME:
            return _RANGE_NAME
        return {
            key: _named(value) if key == "patternProperties" else _with_ranges(value) for key, value in part.items()
        }
    return [_with_ranges(each) for each in part] if isinstance(part, list) else part


def _named(patterns: dict[str, Any]) -> dict[str, Any]:
    renamed = {NODE_NAME: _RANGE_NAME["pattern"]}
    return {renamed.get(pattern, pattern): _with_ranges(below) for pattern, below in patterns.items()}
