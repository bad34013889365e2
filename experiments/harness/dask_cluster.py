"""Runs jobs on an existing Dask cluster. Needs the package `distributed` (`pip install canopy[dask]`)."""

import importlib
from collections.abc import Generator, Sequence
from typing import Any

from experiments.harness.jobs import Job, JobsError, Metrics, RunAll
from experiments.harness.runs import Programs, RunError, execute

_CONNECT_TIMEOUT_S = 20.0


def on_dask(address: str) -> RunAll:
    """Runs jobs on the cluster whose scheduler is at `address`. Its workers need this project, and the files that
    sessions send, at the same paths. JobsError when there is no such cluster."""
    try:
        # It has no types of its own, and need not be installed.
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise JobsError("--dask needs the package distributed: pip install 'canopy[dask]'") from None

    def run_all(jobs: Sequence[Job]) -> Generator[tuple[Job, Metrics | RunError], None, None]:
        try:
            client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise JobsError(f"--dask {address}: {error or 'no scheduler answers'}") from None
        with client:
            futures = {client.submit(_run, job, key=f"canopy-{job.key}", pure=False): job for job in jobs}
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


def _run(job: Job) -> Metrics:
    """One job, on a worker."""
    return execute(job.run, Programs(), job.measure)
