"""docs/class.md: what its sheets let students do to topologies/class.yaml can be done. Nothing is run."""

import re
from pathlib import Path

import yaml

from topologies.scenario import load_scenario
from topologies.scenario.settings import combinations, parse_setting, with_settings

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/class.md").read_text("utf-8")
FILE = ROOT / "topologies/class.yaml"


def test_every_command_s_settings_fit_the_network() -> None:
    scenario = load_scenario(FILE, check_files=True, purpose="simulate")
    text = re.sub(r" \\\n +", " ", PAGE)
    commands = re.findall(r"^ +canopy (?:simulate|sweep) topologies/class\.yaml(.*)$", text, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        settings = re.findall(r"--set (\S+)", command)
        for chosen in combinations([parse_setting(setting) for setting in settings]):
            with_settings(scenario, [f"{path}={value}" for path, value in chosen.items()])


def test_half_the_class_can_send_to_the_other(tmp_path: Path) -> None:
    """The lines of lab 4 go to the file's end."""
    lines = re.search(r"^        traffic:\n(?:          .*\n)+", PAGE, re.MULTILINE)
    assert lines is not None
    copy = tmp_path / "class.yaml"
    copy.write_text(FILE.read_text("utf-8") + yaml.safe_dump(yaml.safe_load(lines[0])))
    assert len(load_scenario(copy, check_files=True, purpose="simulate").traffic) == 5
