"""An example of each command, which its `--help` ends with; of those whose text has one already, none."""

from collections.abc import Mapping
from typing import Final

import typer

EXAMPLES: Final[Mapping[str, str]] = {
    "emulate": "topologies/quickstart.yaml --file video.mp4",
    "simulate": "topologies/quickstart.yaml --seed 7 --json",
    "compare": "runs/quickstart-1 runs/quickstart-2",
    "exec": "r3 -- ip route",
    "scenario schema": "> scenario.schema.json",
    "scenario check": "topologies/quickstart.yaml",
    "scenario show": "topologies/fairness.yaml",
    "attack": "topologies/quickstart.yaml --only join",
    "broadcast": "films/ --group 232.1.1.1 --port 5000",
    "protocols": "mtcp",
    "keys new": "lecture",
    "keys enroll": "lecture ada --output ada.ticket",
    "keys own": "my.key",
    "keys accept": "my.key canopy://... --output lecture.ticket",
    "keys revoke": "lecture ada",
    "keys members": "lecture",
    "keys serve": "lecture",
    "keys ca": "certificates 10.0.0.11 10.0.0.12",
    "keys roll": "lecture.keys",
    "stream send": "film.ts --group 239.1.1.1 --port 5000",
    "stream recv": "--group 239.1.1.1 --port 5000 | mpv -",
    "doctor": "--for emulation",
    "wireshark install": "",
    "wireshark print": "> canopy.lua",
    "ctl switches": "",
    "ctl groups": "--json",
    "ctl members": "--wide",
    "ctl trees": "",
    "ctl links": "",
    "ctl link": "s1-s2 down",
    "ctl sessions": "--json",
    "ctl watch": "--history 20",
    "controller": "network.json --state-dir /run/canopy/mine",
    "switch run": "program.json -i 1@eth1 -i 2@eth2",
    "switch stf": "program.json tests.stf",
    "switch stf-suite": "p4c/testdata/p4_16_samples",
    "reproduce": "mtcp-fig7 --quick",
    "sweep": "topologies/fairness.yaml --seeds 8 --set links.s1-s2.rate='5 Mbps,10 Mbps'",
    "survey": "mtcp tfmcc --cells 20 --seed 1",
    "compare-peers": "--fast --receivers 4",
    "compare-joins": "--seconds 60",
    "bench switch": "--json",
    "bench sim": "--json",
    "bench control": "--json",
    "bench p4runtime": "--json",
    "bench seal": "--packets 100000",
    "bench soak": "--minutes 30",
    "bench broadcast": "--json",
    "bench packet": "--megabytes 100",
}
"""Command -> arguments."""


def add_examples(app: typer.Typer, above: str = "") -> None:
    """To all commands of an application whose names begin with these words."""
    for command in app.registered_commands:
        function = command.callback
        name = command.name or (function.__name__.replace("_", "-") if function is not None else "")
        words = f"{above} {name}".strip()
        if words in EXAMPLES:
            command.epilog = f"Example: canopy {words} {EXAMPLES[words]}".rstrip()
    for group in app.registered_groups:
        if group.typer_instance is not None and group.name is not None:
            add_examples(group.typer_instance, f"{above} {group.name}".strip())
