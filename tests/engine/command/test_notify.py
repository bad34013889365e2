"""sd_notify(3)."""

import socket

import pytest

from engine.command.notify import notify, watchdog_interval_s


def test_nobody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("", "relative", "/nowhere/at/all"):
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        notify("READY=1")


def test_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0canopy-test-notify")
        monkeypatch.setenv("NOTIFY_SOCKET", "@canopy-test-notify")
        notify("READY=1")
        assert listener.recv(100) == b"READY=1"


@pytest.mark.parametrize(("text", "interval"), [("", None), ("0", None), ("x", None), ("30000000", 15.0)])
def test_how_often_the_watchdog_barks(text: str, interval: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", text)
    assert watchdog_interval_s() == interval
