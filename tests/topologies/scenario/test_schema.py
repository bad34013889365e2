"""The JSON schema for editors."""

import json
import re

from topologies.scenario.schema import json_schema


def test_it_takes_ranges_and_generated_networks() -> None:
    schema = json_schema()
    assert "network" in schema["properties"]
    assert "nodes" not in schema["required"]
    assert {"Tree", "FatTree", "TransitStub", "Graph"} <= set(schema["$defs"])
    (pattern,) = schema["properties"]["nodes"]["patternProperties"]
    assert re.search(pattern, "r[1-30]")
    assert re.search(pattern, "r1")
    assert not re.search(pattern, "r[1-30")
    json.dumps(schema)
