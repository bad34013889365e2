import pytest

from hosts import protocols
from hosts.programs.parameters import carries, parameters, title


@pytest.mark.parametrize("name", protocols.names())
def test_every_parameter_of_every_protocol_is_told_as_it_is(name: str) -> None:
    protocol = protocols.get(name)
    found = parameters(protocol)
    assert {row.name for row in found} == protocol.option_names
    assert protocol.parse_options({row.name: row.default for row in found}) == protocol.options()
    assert sum(bool(row.origin) for row in found) > len(found) / 2
    assert "(" in title(protocol)
    assert carries(protocol)


def test_units_and_origins_come_from_names_and_comments() -> None:
    found = {row.name: row for row in parameters(protocols.get("mtcp"))}
    assert found["ack_delay_s"].unit == "s"
    assert found["rate_limit_bps"].unit == "bit/s"
    assert found["ack_delay_s"].origin.startswith("3.1")
    assert "RFC 5681" in found["duplicate_nacks"].origin
