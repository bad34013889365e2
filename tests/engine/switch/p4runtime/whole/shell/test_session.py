"""The server as p4runtime-shell sees it, the P4Runtime API's own client, in an environment of its own."""

import subprocess
import sys
import threading
from pathlib import Path

from tests.engine.entities import DATA, program_file
from tests.engine.served import Served

SESSION = Path(__file__).with_name("session.py")
INTERPRETER = Path(sys.prefix) / "p4runtime-shell" / "bin" / "python"
LIMIT_S = 60


def test_the_shell_is_installed() -> None:
    assert INTERPRETER.exists(), f"no p4runtime-shell in {INTERPRETER.parents[1]}: `make test-python` installs it"


def test_a_session_of_p4runtime_shell() -> None:
    """See session.py for what it does; it asks this test for what arrives at the switch."""
    with Served() as served:
        files = (DATA / "entities.p4info.txtpb", program_file())
        command = [str(INTERPRETER), str(SESSION), served.address, *map(str, files)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            watchdog = threading.Timer(LIMIT_S, process.kill)
            watchdog.start()
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stdout:
                match line.split():
                    case ["frame", port, data]:
                        served.path.process(int(port), bytes.fromhex(data))
                    case ["advance", microseconds]:
                        served.path.now_us += int(microseconds)
            errors = process.stderr.read()
            watchdog.cancel()
        assert process.returncode == 0, errors
