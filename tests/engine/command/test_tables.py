import pytest
from rich.console import Console
from rich.table import Table

from engine.command.tables import print_table


def lines(console: Console, *, wide: bool) -> int:
    table = Table("group", box=None)
    table.add_row("(10.0.0.1, 232.1.0.1)")
    with console.capture() as capture:
        print_table(table, console=console, wide=wide)
    assert console.width == 20, "what is printed after it is as it was"
    return len(capture.get().splitlines())


@pytest.mark.parametrize(("wide", "expected"), [(False, 3), (True, 2)])
def test_a_table_fits_the_terminal_or_keeps_its_lines(wide: bool, expected: int) -> None:
    assert lines(Console(force_terminal=True, width=20, color_system=None), wide=wide) == expected


def test_where_there_is_no_terminal_nothing_has_to_fit() -> None:
    assert lines(Console(force_terminal=False, width=20), wide=False) == 2
