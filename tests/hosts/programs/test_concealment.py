import subprocess
import sys

from hosts.programs.concealment import conceal

SHOW = """
import sys
from pathlib import Path
from hosts.programs.concealment import conceal
print(conceal(sys.argv[1].partition("#")[2]), sys.argv[1], Path("/proc/self/cmdline").read_bytes())
"""


def test_a_secret_is_no_longer_shown_among_the_arguments() -> None:
    line = "canopy://239.1.1.1:5000#1.mj0dv6QJ"
    done = subprocess.run([sys.executable, "-c", SHOW, line], capture_output=True, text=True, check=True)
    found, given, shown = done.stdout.strip().split(" ", 2)
    assert (found, given) == ("True", line), "the program has it as before"
    assert shown.endswith(r"\x00canopy://239.1.1.1:5000#**********\x00'")


def test_what_is_not_there_changes_nothing() -> None:
    assert not conceal("no argument of this process is called so")
    assert not conceal("")
