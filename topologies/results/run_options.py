"""What the command line says about a run, in either world."""

from dataclasses import dataclass
from pathlib import Path

from topologies.results.page import Page


@dataclass(frozen=True, slots=True)
class RunOptions:
    """See the module."""

    scenario_file: Path
    file: Path | None = None
    """Sent instead of the scenario's."""
    out: Path | None = None
    keep_files: bool = False
    """Keep what receivers received, and what was made to be sent."""
    report: bool = True
    """Draw the report."""
    text: str | None = None
    """The scenario as it is run, where that is not what its file says."""
    quiet: bool = False
    """Show nothing while it runs."""
    page: Page | None = None
    """Shows the run while it goes on."""
