"""The script that docs/mininet.md shows runs as it stands there, in any working folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]

pytestmark = pytest.mark.emulation


def test_the_script_of_the_page(tmp_path: Path) -> None:
    script = re.search(
        r"^```python\n(.*?)^```", (ROOT / "docs/mininet.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert script is not None
    path = tmp_path / "my_network.py"
    path.write_text(script[1].replace("/path/to/canopy", str(ROOT)))
    ran = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    rates = re.findall(r"([\d.]+) Mbits/sec", ran.stdout)
    assert rates
    assert 1 < float(rates[-1]) < 10  # bw=10, loss=1
