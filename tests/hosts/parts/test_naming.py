from hosts.endpoint import Address
from hosts.parts.naming import receiver_names


def test_a_port_is_named_only_where_an_address_is_not_enough() -> None:
    alone, one, other = Address("10.0.0.1", 5), Address("10.0.0.2", 5), Address("10.0.0.2", 6)
    assert receiver_names([alone, one, other]) == {alone: "10.0.0.1", one: "10.0.0.2:5", other: "10.0.0.2:6"}
    assert receiver_names([]) == {}
