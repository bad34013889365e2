"""Programs of p4c's own samples for which both switches may differ, each with its reason."""


def expected_differences() -> dict[str, str]:
    return {}
