"""Before `main` is entered nobody catches Ctrl-C."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILT_IN = {"errno"}
OF_PYTHON = {"os", "stat", "posixpath", "genericpath", "_collections_abc", "_stat", "os.path"}
"""What every Python has loaded that has looked for its site-packages."""


def test_nothing_is_imported_before_somebody_catches_an_interrupt() -> None:
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); before = set(sys.modules); import engine.command.entry\n"
        "print(*set(sys.modules) - before)"
    )
    told = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)
    ours = {"engine", "engine.command", "engine.command.entry"}
    assert ours <= set(told.stdout.split()) <= ours | BUILT_IN | OF_PYTHON
