import os
import shutil
from pathlib import Path

import pytest

from controller.program import BLOB_NAME, CONSTANTS_NAME, P4INFO_NAME, ProgramError, default_directory
from topologies.simulation.switch import program_in


def test_runs_share_a_program_until_its_files_are_others(tmp_path: Path) -> None:
    for name in (P4INFO_NAME, BLOB_NAME, CONSTANTS_NAME):
        shutil.copy(default_directory() / name, tmp_path)
    one = program_in(tmp_path)
    assert program_in(tmp_path) is one
    os.utime(tmp_path / BLOB_NAME, ns=(0, 0))
    other = program_in(tmp_path)
    assert other is not one
    assert other.blob_path == one.blob_path
    (tmp_path / P4INFO_NAME).unlink()
    with pytest.raises(ProgramError, match=P4INFO_NAME):
        program_in(tmp_path)
