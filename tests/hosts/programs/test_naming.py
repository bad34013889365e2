"""What a user is told of a folder that no file can come into."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hosts.programs.naming import check_folder
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason

READ_ONLY = """
ip link set lo up
mount -t tmpfs tmpfs "$1" && mkdir "$1/in" && mount -o remount,ro "$1"
for words in "in" "new" "in --daemon" "in --protocol webrc"; do
    "$2" -m hosts.programs.cli recv --group 239.9.9.1 --port 5000 --interface lo --out "$1"/$words
    echo "status $?"
done
"""
"""A file system that is mounted read-only says so of root, too."""


def why(folder: Path) -> str:
    with pytest.raises(FileError) as caught:
        check_folder(folder)
    assert caught.value.reason is Reason.CANNOT_WRITE
    return str(caught.value)


def test_no_folder_to_write_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_folder(tmp_path)
    (tmp_path / "file").touch()
    assert why(tmp_path / "file") == f"{tmp_path}/file: no folder, but a file"
    assert why(tmp_path / "nosuch").endswith("/nosuch: No such file or directory")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert f"user {os.geteuid()} may not write there: change its owner or mode" in why(tmp_path)


@pytest.mark.root
def test_a_read_only_file_system(tmp_path: Path) -> None:
    command = ["unshare", "--net", "--mount", "sh", "-c", READ_ONLY, "sh", str(tmp_path), sys.executable]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.split("\n")[:4] == ["status 2"] * 4
    lines = answer.stderr.splitlines()
    assert len(lines) == 4
    assert all("its file system is read-only: mount it for writing, or name another" in line for line in lines)
