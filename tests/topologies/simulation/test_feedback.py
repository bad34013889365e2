"""What the time that feedback takes does to a session."""

from pathlib import Path

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
