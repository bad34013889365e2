"""What `canopy emulate` prints, and its exit status."""

import json
import sys

from rich.console import Console

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED, SIGNALLED
from engine.command.signals import Interrupted
from topologies.emulation.child import ChildError
from topologies.emulation.live_view import make_live_view
from topologies.emulation.nodes import NodeError
from topologies.emulation.requirements import RequirementError
from topologies.emulation.runner import RunOptions, run_scenario
from topologies.emulation.state import StateError
from topologies.plan.sources import SourceError
from topologies.results.printing import print_note, print_summary
from topologies.results.results import Summary
from topologies.results.run_folder import RunFolderError
from topologies.scenario import Scenario


def emulate_scenario(scenario: Scenario, options: RunOptions, *, as_json: bool) -> int:
    """Run the scenario and print its course and result; the exit status."""
    console = Console(stderr=as_json)

    def show(summary: Summary) -> None:
        if as_json:
            sys.stdout.write(json.dumps(summary.as_json(), indent=2) + "\n")
            sys.stdout.flush()
        else:
            print_summary(console, summary)
        if options.hold and summary.sessions and summary.outcome != "interrupted":
            print_note(console, "the network stays up until Ctrl-C")

    try:
        summary = run_scenario(scenario, options, lambda: make_live_view(console, quiet=as_json), show)
    except (RequirementError, RunFolderError, SourceError, StateError) as error:
        print(f"canopy: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (NodeError, ChildError) as error:
        print(f"canopy: the emulation failed: {error}", file=sys.stderr)
        return EXIT_FAILED
    except Interrupted as interrupt:
        print("canopy: interrupted before the network was up", file=sys.stderr)
        return SIGNALLED + interrupt.number
    if summary.outcome == "interrupted":
        return EXIT_INTERRUPTED
    return 0 if summary.ok else EXIT_FAILED
