"""What the time that feedback takes does to a session."""

from pathlib import Path

import pytest

from tests.topologies.simulation.runs import session, simulate, tree


def test_a_sender_that_is_slow_with_feedback_sends_slowly(tmp_path: Path) -> None:
    """Four receivers, an acknowledgment every other packet, 10 ms each: 50 packets a second, 0.6 Mbit/s."""
    text = tree() + session("300 kB")
    fast = simulate(tmp_path / "fast", text)
    slow = simulate(
        tmp_path / "slow", text.replace("sender: {kind: host}", "sender: {kind: host, feedback: {time: 10 ms}}")
    )
    assert fast.summary.ok
    assert slow.summary.ok
    assert fast.summary.sessions[0].cpu_s is None
    session_of = slow.summary.sessions[0]
    assert session_of.feedback_packets is not None
    assert session_of.cpu_s is not None
    # What came from receivers that were through already took its time, too.
    assert session_of.cpu_s >= 0.01 * session_of.feedback_packets > 0
    rates = [min(receiver.goodput_bps or 0.0 for receiver in run.summary.sessions[0].receivers) for run in (fast, slow)]
    assert rates[1] < 0.5 * rates[0]


def test_a_slow_application_holds_the_sender_back(tmp_path: Path) -> None:
    """A buffer of 20 kB and 800 kbit/s: the file takes the reader's time, and everybody gets it."""
    text = tree() + session("300 kB").replace("{host: r2, ", "{host: r2, read_rate: 800 kbps, ")
    run = simulate(tmp_path / "run", text.replace("    start", "    parameters: {buffer_bytes: 20000}\n    start"))
    assert run.summary.ok
    assert run.summary.duration_s > 300_000 * 8 / 800e3
    assert any(row.get("limiting_reason") == "advertised_window" for row in run.series("sessions"))


FEEDBACK_S = 0.0001
"""Little, so that hardly any waits until its receiver is through, when it does not count any more."""
REALTIME = """\
sessions:
  - {id: 1, protocol: %s, sender: sender, group: 232.1.0.0, port: 5001, realtime: true, receivers: [r1, r2, r3, r4]}
"""


@pytest.mark.parametrize(
    "sort", ["mtcp file", "rla file", "tfmcc file", "arbor file", "tfmcc realtime", "vlmcc realtime", "arbor realtime"]
)
def test_each_packet_of_feedback_takes_its_time(tmp_path: Path, sort: str) -> None:
    """What the sender counts as feedback is what its processor works at, and nothing else. With its report: here is
    each protocol's trace to draw."""
    protocol, kind = sort.split()
    session_text = REALTIME % protocol if kind == "realtime" else session("300 kB").replace("mtcp", protocol)
    text = tree().replace("sender: {kind: host}", f"sender: {{kind: host, feedback: {{time: {FEEDBACK_S} s}}}}")
    found = simulate(tmp_path / "run", text.replace("duration: 60 s", "duration: 8 s") + session_text, report=True)
    (result,) = found.summary.sessions
    assert result.feedback_packets
    assert result.cpu_s == pytest.approx(FEEDBACK_S * result.feedback_packets, rel=0.05)


def test_a_sender_that_hears_of_no_reception_needs_no_time_for_it(tmp_path: Path) -> None:
    text = tree().replace("sender: {kind: host}", "sender: {kind: host, feedback: {time: 1 s}}")
    text = text.replace("duration: 60 s", "duration: 5 s")
    found = simulate(tmp_path / "run", text + REALTIME % "webrc", report=True)
    assert found.summary.sessions[0].cpu_s == 0
    assert all(receiver.goodput_bps for receiver in found.summary.sessions[0].receivers)
