"""What `canopy simulate` prints, and its exit status."""

import json
import sys

from canopy_engine import SimError
from rich.console import Console

from controller.program import ProgramError
from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED, SIGNALLED
from engine.command.signals import Interrupted
from hosts.wire.manifest import FileError
from topologies.plan.sources import SourceError
from topologies.results.printing import print_note, print_summary
from topologies.results.run_folder import RunFolderError
from topologies.scenario import Scenario
from topologies.simulation.progress import make_view
from topologies.simulation.runner import SimulationOptions, simulate_scenario


def simulate(scenario: Scenario, options: SimulationOptions, *, as_json: bool) -> int:
    """Simulate the scenario and print its course and result; the exit status."""
    console = Console(stderr=as_json)
    try:
        summary = simulate_scenario(scenario, options, lambda: make_view(console, quiet=as_json))
    except (RunFolderError, SourceError, ProgramError) as error:
        print(f"canopy: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (SimError, FileError) as error:
        print(f"canopy: the simulation failed: {error}", file=sys.stderr)
        return EXIT_FAILED
    except Interrupted as interrupt:
        print("canopy: interrupted before the simulation began", file=sys.stderr)
        return SIGNALLED + interrupt.number
    if as_json:
        sys.stdout.write(json.dumps(summary.as_json(), indent=2) + "\n")
    else:
        print_summary(console, summary)
        for note in summary.notes:
            print_note(console, note)
    if summary.outcome == "interrupted":
        return EXIT_INTERRUPTED
    return 0 if summary.ok else EXIT_FAILED
