"""What a person sees."""

import io

from rich.console import Console

from hosts.programs.progress import Display


def display(*, quiet: bool = False, terminal: bool = False, width: int = 120) -> tuple[Display, io.StringIO]:
    output = io.StringIO()
    shown = Display(quiet=quiet)
    shown._lines = output
    console = Console(file=output, force_terminal=True, width=width, highlight=False, soft_wrap=True)
    shown._console = console if terminal else None
    return shown, output


def test_quiet_says_only_what_failed() -> None:
    shown, output = display(quiet=True, terminal=True)
    shown.say("hello")
    shown.begin("file", 100)
    shown.update(50, {})
    shown.end()
    shown.fail("it broke [really]")
    assert output.getvalue() == "canopy: it broke [really]\n"


def test_no_bar_without_a_terminal() -> None:
    shown, output = display()
    shown.begin("file", 100)
    assert not shown.shows_progress
    shown.update(50, {"rate_bps": 1e6})
    shown.end()
    shown.say("[bold]done[/]")
    assert output.getvalue() == "[bold]done[/]\n"


def test_a_bar_with_the_rate_and_who_limits_it() -> None:
    shown, output = display(terminal=True)
    shown.begin("file.bin", 1000)
    shown.begin("again", 1000)
    assert shown.shows_progress
    limiting = {"receiver": "10.0.0.5", "reason": "cwnd"}
    shown.update(500, {"rate_bps": 7.5e6, "limiting": limiting})
    shown.end()
    text = output.getvalue()
    for part in ("file.bin", "0.5/1.0 kB", "7.50 Mbps", "limited by 10.0.0.5 (cwnd)"):
        assert part in text
    assert "again" not in text


def test_a_bar_is_one_line_in_80_columns_with_size_rate_and_who_limits_it() -> None:
    shown, output = display(terminal=True, width=80)
    shown.begin("a-film-with-a-rather-long-name.iso", 2_000_000_000)
    shown.update(999_900_000, {"rate_bps": 1.2345e9, "limiting": {"receiver": "10.77.0.200", "reason": "cwnd"}})
    shown.end()
    text = output.getvalue()
    assert text.count("\n") == 1, "the line's end, when it is over"
    for part in ("a-film-with-a-rathe…", "1.0/2.0 GB", "1234.50 Mbps", "limited by 10.77"):
        assert part in text


def test_a_carousel_says_how_often_it_has_sent_all() -> None:
    shown, output = display(terminal=True)
    shown.begin("file.bin", 1000)
    shown.update(2500, {})
    shown.end()
    assert "1.0/1.0 kB" in output.getvalue()
    assert "sent 2.5 times" in output.getvalue()


def test_names_cannot_move_the_cursor_or_style_the_bar() -> None:
    hostile = "a\x1b[2J\r\u202egpj.[red]\n"
    for terminal in (False, True):
        shown, output = display(terminal=terminal)
        shown.say(hostile)
        shown.fail(hostile)
        shown.begin(hostile, 1000)
        shown.name(hostile)
        shown.update(500, {"limiting": {"receiver": hostile, "reason": "cwnd"}})
        shown.end()
        text = output.getvalue()
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
        assert text.count("a\\x1b[2J\\r\\u202egpj.[red]\\n") >= (4 if terminal else 2)
        if not terminal:
            assert "\r" not in text


def test_a_line_in_passing_is_gone_when_another_comes() -> None:
    shown, output = display(terminal=True)
    shown.stream("received 2.9 MB, 16.18 Mbps")
    shown.say("f.bin: 3000000 bytes")
    shown.stream("x" * 200)
    shown.fail("it broke")
    shown.stream("y")
    shown.end()
    shown.say("done")
    erase = "\x1b[2K"
    assert output.getvalue() == (
        f"received 2.9 MB, 16.18 Mbps\r{erase}f.bin: 3000000 bytes\n{'x' * 119}\r{erase}canopy: it broke\n"
        f"y\r{erase}done\n"
    )


def test_a_line_in_passing_is_not_written_where_nobody_watches() -> None:
    for quiet, terminal in ((True, True), (False, False)):
        shown, output = display(quiet=quiet, terminal=terminal)
        shown.stream("received 2.9 MB")
        shown.end()
        assert output.getvalue() == ""
