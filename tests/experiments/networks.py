"""A small scenario for the tests of this folder."""

from typing import Any

from experiments.rows.networks import dumbbell


def small(rate: str = "1 Mbps", loss: float = 0.0) -> dict[str, Any]:
    """One UDP stream over a link for two seconds."""
    return dumbbell(
        [{"kind": "udp", "rate": rate}],
        name="small",
        duration="2 s",
        bottleneck={"rate": "2 Mbps", "toward": {"right": {"loss": loss}}},
        access={},
    )
