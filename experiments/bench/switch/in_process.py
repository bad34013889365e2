"""The data path alone, on one core: parse, match, replicate and deparse, without a socket or a clock."""

from collections.abc import Sequence

import canopy_engine

from engine.switch.backend import Backend
from experiments.bench.figure import BenchError
from experiments.bench.switch.workload import Workload, joined_switch
from experiments.figures.bench import Figure

CALIBRATION_PACKETS = 2_000
REPETITIONS = 5
"""The best of so many parts counts: what disturbs a part is the machine's other work."""


def best_rate(switch: canopy_engine.Switch, port: int, packets: Sequence[bytes], copies: int, seconds: float) -> float:
    """Packets in a second; `copies` should come out of each."""
    count = max(CALIBRATION_PACKETS, len(packets))
    calibration = canopy_engine.bench(switch, port, packets, count)
    expected = copies * count
    if calibration["packets_out"] != expected:
        raise BenchError(f"the switch made {calibration['packets_out']:.0f} copies instead of {expected}")
    part = max(1, round(count * seconds / REPETITIONS / calibration["seconds"]))
    results = [canopy_engine.bench(switch, port, packets, part) for _ in range(REPETITIONS)]
    return max(result["packets_in"] / result["seconds"] for result in results)


def in_process(workload: Workload, target: float | None, seconds: float, backend: Backend = "native") -> Figure:
    """Output packets per second."""
    copies = len(workload.output_ports)
    rate = best_rate(joined_switch(workload, backend), workload.input_port, [workload.frame], copies, seconds)
    how = "interpreted" if backend == "interpreter" else "in process"
    return Figure(f"{workload.title}, {how}", rate * copies, "packets/s", target=target)
