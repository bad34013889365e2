from hosts.wire.units import to_units, to_us


def test_quantities_are_cut_to_what_fits() -> None:
    assert [to_units(value) for value in (-1.0, 0.0, 0.0004, 1.5, 12.3456, 1e12)] == [0, 0, 0, 1500, 12_346, 2**32 - 1]
    assert [to_us(value) for value in (-1.0, 0.25, 1e9)] == [0, 250_000, 2**32 - 1]


def test_a_field_that_must_not_be_0_has_at_least_1() -> None:
    assert [to_units(value, 1) for value in (0.0, 0.0004, 1.5)] == [1, 1, 1500]
    assert [to_us(value, 1) for value in (0.0, 1e-6, 1e9)] == [1, 1, 2**32 - 1]
