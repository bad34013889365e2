"""Runs a sweep's points on an existing Dask cluster. Needs the package `distributed` (`pip install canopy[dask]`)."""

import importlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from experiments.harness.runs import Programs, Run, RunError, execute
from experiments.sweep.sweep import Metrics, Point, RunAll, SweepError, metrics

_CONNECT_TIMEOUT_S = 20.0


def on_dask(address: str) -> RunAll:
    """Runs points on the cluster whose scheduler is at `address`. Its workers need this project, and the files that
    sessions send, at the same paths. SweepError when there is no such cluster."""
    try:
        # It has no types of its own, and need not be installed.
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise SweepError("--dask needs the package distributed: pip install 'canopy[dask]'") from None

    def run_all(points: Sequence[Point]) -> Generator[tuple[Point, Metrics | RunError], None, None]:
        try:
            client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SweepError(f"--dask {address}: {error or 'no scheduler answers'}") from None
        with client:
            futures = {
                client.submit(_run, dict(point.document), point.seed, key=f"canopy-{point.key}", pure=False): point
                for point in points
            }
            try:
                for future in distributed.as_completed(list(futures), loop=client.loop):
                    failure = future.exception()
                    if failure is None:
                        yield futures[future], future.result()
                    else:
                        yield futures[future], RunError(str(failure) or type(failure).__name__)
            finally:
                client.cancel(list(futures))

    return run_all


def _run(document: Mapping[str, Any], seed: int) -> Metrics:
    """One point, on a worker."""
    return execute(Run(document, seed), Programs(), metrics)
