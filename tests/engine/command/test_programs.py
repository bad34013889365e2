import subprocess
from pathlib import Path

import pytest

from engine.command.programs import module_command


@pytest.mark.parametrize("theirs", ["random.py", "yaml.py", "hosts/__init__.py"])
def test_what_lies_in_the_working_folder_is_not_imported(tmp_path: Path, theirs: str) -> None:
    file = tmp_path / theirs
    file.parent.mkdir(exist_ok=True)
    file.write_text("raise SystemExit('not ours')")
    done = subprocess.run(
        module_command("topologies.cli", "simulate", "--help"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
