import pytest
import typer

from engine.command.exits import EXIT_BAD_INPUT, EXIT_FAILED
from engine.command.fail import fail


@pytest.mark.parametrize("status", [EXIT_BAD_INPUT, EXIT_FAILED])
def test_a_command_that_gives_up_says_why_on_standard_error(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        fail("no such thing", status)
    assert ended.value.exit_code == status
    out, err = capsys.readouterr()
    assert (out, err) == ("", "canopy: no such thing\n")
