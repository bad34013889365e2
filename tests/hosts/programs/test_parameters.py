import re
from typing import Final

import pytest

from hosts import protocols
from hosts.programs.parameters import carries, parameters, title

SOURCE: Final = re.compile(
    r"\bours\b|(^|[( ])\d\.\d(\.\d)?[),:;]|section \d|Appendix|Table \d|RFC \d{4}|the paper's|Linux'|ns-2's|Vegas'"
)
"""Where a value is from: us, a part of the paper or the whole of it, an RFC, or a TCP."""


@pytest.mark.parametrize("name", protocols.names())
def test_every_parameter_of_every_protocol_is_told_as_it_is(name: str) -> None:
    protocol = protocols.get(name)
    found = parameters(protocol)
    assert {row.name for row in found} == protocol.option_names
    assert protocol.parse_options({row.name: row.default for row in found}) == protocol.options()
    assert [row.name for row in found if not SOURCE.search(row.origin)] == []
    numbers = [row for row in found if not isinstance(row.default, bool | str)]
    assert [row.name for row in numbers if not row.unit] == []
    assert "(" in title(protocol)
    assert carries(protocol)


def test_units_and_origins_come_from_names_and_comments() -> None:
    found = {row.name: row for row in parameters(protocols.get("mtcp"))}
    assert found["ack_delay_s"].unit == "s"
    assert found["rate_limit_bps"].unit == "bit/s"
    assert found["fan_out"].unit == "children"
    assert found["parent"].unit == found["agent"].unit == ""
    assert found["ack_delay_s"].origin.startswith("3.1")
    assert "RFC 5681" in found["duplicate_nacks"].origin
