import errno

import pytest

from hosts.programs.progress import Display
from hosts.programs.report import bad_input
from hosts.runtime.sockets import SocketError


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
        (OSError(errno.ENOSPC, "No space left on device", "a\nb"), r"a\nb: No space left on device"),
        (SocketError("no such interface"), "no such interface"),
        (ValueError("--group: none"), "--group: none"),
    ],
)
def test_an_error_is_told_in_words(error: Exception, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bad_input(Display(quiet=True), error).exit_code == 2
    assert capsys.readouterr().err == f"canopy: {words}\n"
