"""`python -m experiments.lan.program`: a document of a run on the LAN, run; what `canopy emulate` is to a scenario."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import yaml
from pydantic import ValidationError

from engine.command.exits import EXIT_FAILED
from engine.command.lines import complain
from engine.command.signals import Interrupted, interruptible
from experiments.lan.namespaces import BedError
from experiments.lan.run import LanError, run
from experiments.lan.scenario import LanScenario
from topologies.results.run_folder import RunFolder


def main() -> int:
    """Exit status 0 when the run came about; else 1 with a line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m experiments.lan.program")
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options, _ = parser.parse_known_args()  # `--seed` and `--json` of the other worlds: there is nothing to draw or say
    folder = RunFolder(options.out)
    epoch = time.time()
    try:
        scenario = LanScenario.model_validate(yaml.safe_load(options.file.read_text(encoding="utf-8")))
        with interruptible(), tempfile.TemporaryDirectory(prefix="canopy-lan-") as scratch:
            run(scenario, folder, epoch, Path(scratch) / "payload.bin")
    except (OSError, ValidationError, yaml.YAMLError, BedError, LanError, Interrupted) as error:
        complain(error)
        return EXIT_FAILED
    summary = {"epoch": epoch, "sessions": [{"id": session.id} for session in scenario.sessions]}
    folder.summary.write_text(json.dumps(summary), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
